import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import type { Question } from "../../model/input.ts";
import { metaKeys, metaOf } from "../../model/meta.ts";
import { type Method, methodRow } from "../../model/methods.ts";
import type { Outcome } from "../../model/service.ts";
import type { Decoded } from "../codec.ts";
import { type Change, inOrder, without, withoutMeta } from "./change.ts";
import { decodeQuestion } from "./decode-question.ts";
import { nobody, readImplementation, readServerCapabilities } from "./peer.ts";
import { refuse } from "./refuse.ts";
import { mendResult, resultProblem } from "./results.ts";
import { asResult } from "./unchecked.ts";

/** Reads a result that is the whole answer. Of the wrong shape it is an `invalid-response`. */
export function decodeComplete<M extends Method>(method: M, result: JsonObject): Outcome<M> {
  const mended = mendResult(method, result);
  const problem = resultProblem(method, mended);
  return problem === undefined ? { kind: "complete", result: asResult<M>(mended) } : invalid(problem);
}

/** Reads a result that says how the call ended. One that does not say it is complete. */
export function decodeModernResult<M extends Method>(method: M, result: JsonObject): Outcome<M> {
  const { resultType = "complete" } = result;
  switch (resultType) {
    case "complete":
      return decodeComplete(method, method === "server/discover" ? discovered(result) : plain(result));
    case "input_required":
      return decodeInputRequired(method, result);
    case "task":
      return method === "tools/call"
        ? { kind: "task", task: plain(result) }
        : invalid(`${method} result.resultType must not be task`);
    default:
      return invalid(`${method} result.resultType ${abridged(resultType)} is unknown`);
  }
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
    serverInfo: asJson(serverInfo),
  };
}

function decodeInputRequired<M extends Method>(method: M, result: JsonObject): Outcome<M> {
  const { inputRequests = {}, requestState } = result;
  const where = `${method} result`;
  if (methodRow(method).asks !== true) return invalid(`${where}.resultType must not be input_required`);
  if (!isObject(inputRequests)) return invalid(`${where}.inputRequests must be an object`);
  if (requestState !== undefined && typeof requestState !== "string") {
    return invalid(`${where}.requestState must be a string`);
  }
  const entries: [string, Question][] = [];
  for (const [key, request] of Object.entries(inputRequests)) {
    const question = decodeInputRequest(request);
    if (!question.ok) return invalid(`${where}.inputRequests.${key}: ${question.failure.message}`);
    entries.push([key, question.value]);
  }
  if (entries.length === 0 && requestState === undefined)
    return invalid(`${where} asks nothing and has no requestState`);
  const questions = Object.fromEntries(entries);
  return { kind: "input-required", questions, ...(requestState !== undefined && { state: requestState }) };
}

function decodeInputRequest(request: Json | undefined): Decoded<Question> {
  if (!isObject(request)) return refuse("invalid-params", "must be an object");
  const { method, params = {} } = request;
  if (typeof method !== "string") return refuse("invalid-params", "method must be a string");
  if (!isObject(params)) return refuse("invalid-params", "params must be an object");
  return decodeQuestion(method, params);
}

function invalid(message: string): Extract<Outcome, { kind: "failed" }> {
  return { kind: "failed", failure: { code: "invalid-response", message } };
}

/** A foreign value in a message of ours, at a length that fits there. */
function abridged(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
