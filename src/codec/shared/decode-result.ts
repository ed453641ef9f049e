import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import { metaKeys, metaOf } from "../../model/meta.ts";
import { type Method, methodRow } from "../../model/methods.ts";
import type { Outcome, OutcomeOf } from "../../model/service.ts";
import type { Task } from "../../model/task.ts";
import type { Decoded } from "../codec.ts";
import { decodeQuestions } from "./decode-question.ts";
import { readDetails, readTask } from "./decode-task.ts";
import { type Change, inOrder, without, withoutMeta } from "./dialect.ts";
import { nobody, readImplementation } from "./envelope.ts";
import { mendResult, resultProblem, safeIcons } from "./results.ts";
import { readServerCapabilities } from "./server-capabilities.ts";
import { asResult } from "./unchecked.ts";

/** Reads a result that is the whole answer. Of the wrong shape it is an `invalid-response`. */
export function decodeComplete<M extends Method>(method: M, result: JsonObject): OutcomeOf<M> {
  const mended = mendResult(method, result);
  const problem = resultProblem(method, mended);
  return problem === undefined ? { kind: "complete", result: asResult<M>(mended) } : invalid(problem);
}

/** Reads a result that says how the call ended. One that does not say it is complete. */
export function decodeModernResult<M extends Method>(method: M, result: JsonObject): OutcomeOf<M> {
  const { resultType = "complete" } = result;
  switch (resultType) {
    case "complete":
      if (method === "tasks/get") return decodeRead(method, readDetails(plain(result)));
      return decodeComplete(method, method === "server/discover" ? discovered(result) : plain(result));
    case "input_required":
      return decodeInputRequired(method, result);
    case "task":
      if (method !== "tools/call") return invalid(`${method} result.resultType must not be task`);
      return decodeTask(method, readTask(plain(result)));
    default:
      return invalid(`${method} result.resultType ${abridged(resultType)} is unknown`);
  }
}

/** A task to follow. */
export function decodeTask<M extends Method>(method: M, task: Decoded<Task>): OutcomeOf<M> {
  return task.ok ? { kind: "task", task: task.value } : invalid(`${method} result${task.failure.message}`);
}

/** A task that is the whole answer. */
export function decodeRead<M extends Method>(method: M, task: Decoded<Task>): OutcomeOf<M> {
  if (!task.ok) return invalid(`${method} result${task.failure.message}`);
  return { kind: "complete", result: asResult<M>(asJson(task.value)) };
}

/** Without what only the wire needs: how the call ended, and who says so. */
const plain: Change = inOrder(without("resultType"), withoutMeta(metaKeys.serverInfo));

/** The model has the server in a place of its own; on the wire it signs like everywhere. */
function discovered(result: JsonObject): JsonObject {
  const signer = metaOf(result)[metaKeys.serverInfo];
  const serverInfo = readImplementation(signer) ?? readImplementation(result.serverInfo) ?? nobody;
  const { capabilities } = result;
  return {
    ...plain(result),
    ...(isObject(capabilities) && { capabilities: asJson(readServerCapabilities(capabilities)) }),
    serverInfo: safeIcons(asJson(serverInfo)),
  };
}

function decodeInputRequired<M extends Method>(method: M, result: JsonObject): OutcomeOf<M> {
  const { inputRequests = {}, requestState } = result;
  const where = `${method} result`;
  if (methodRow(method).asks !== true) return invalid(`${where}.resultType must not be input_required`);
  if (requestState !== undefined && typeof requestState !== "string") {
    return invalid(`${where}.requestState must be a string`);
  }
  const read = decodeQuestions(inputRequests);
  if (!read.ok) return invalid(`${where}${read.failure.message}`);
  const questions = read.value;
  if (Object.keys(questions).length === 0 && requestState === undefined)
    return invalid(`${where} asks nothing and has no requestState`);
  return { kind: "input-required", questions, ...(requestState !== undefined && { state: requestState }) };
}

function invalid(message: string): Extract<Outcome, { kind: "failed" }> {
  return { kind: "failed", failure: { code: "invalid-response", message } };
}

/** A foreign value in a message of ours, at a length that fits there. */
function abridged(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
