import { asJson, type JsonObject } from "../../json/json.ts";
import type { Question } from "../../model/input.ts";
import { metaKeys, metaOf, withMeta } from "../../model/meta.ts";
import { methodRow } from "../../model/methods.ts";
import type { Implementation } from "../../model/peer.ts";
import { unreachable } from "../../std/unreachable.ts";
import type { Decoded, ServerCodec } from "../codec.ts";
import { inOrder } from "./change.ts";
import type { Dialect } from "./dialect.ts";
import type { Draft } from "./draft.ts";
import { createResultWriter } from "./encode-result.ts";
import { createTaskWriter, encodeQuestions, type WriteQuestion } from "./encode-task.ts";
import { createMemory } from "./memory.ts";
import { refuse } from "./refuse.ts";

/** How a stateless dialect says the end of a call: complete, asking for input, or as a task to follow. */
export function createOutcomeWriter(dialect: Dialect, writeQuestion: WriteQuestion): ServerCodec["encodeOutcome"] {
  const resultChange = createResultWriter(dialect);
  const writeTask = createTaskWriter(dialect, writeQuestion);
  const briefTask = inOrder(dialect.task, dialect.result);
  const remember = createMemory();
  const encode = (method: string, result: JsonObject, server: Implementation | undefined): JsonObject =>
    complete(method, resultChange(method)(result), server);

  const writeDetails = (task: JsonObject, server: Implementation | undefined): Decoded<JsonObject> => {
    const said = writeTask(task);
    return said.ok ? { ok: true, value: complete("tasks/get", dialect.result(said.value), server) } : said;
  };

  return (method, outcome, server) => {
    switch (outcome.kind) {
      case "complete": {
        const result = asJson(outcome.result);
        if (method === "tasks/get") return writeDetails(result, server);
        return { ok: true, value: remember(method, result, server, encode) };
      }
      case "input-required": {
        const problem = askingProblem(method, outcome);
        if (problem !== undefined) return refuse("internal", `${method} ${problem}`);
        const inputRequests = encodeQuestions(outcome.questions, writeQuestion);
        if (!inputRequests.ok) return inputRequests;
        return { ok: true, value: signed(inputRequired(inputRequests.value, outcome.state), server) };
      }
      case "task":
        if (method !== "tools/call") return refuse("internal", `${method} must not end with a task`);
        return { ok: true, value: signed({ resultType: "task", ...briefTask(asJson(outcome.task)) }, server) };
      case "failed":
        return { ok: false, failure: outcome.failure };
      default:
        return unreachable(outcome);
    }
  };
}

/** One new object, whatever is added to it: every call passes here. */
function complete(method: string, result: JsonObject, server: Implementation | undefined): JsonObject {
  if (method === "server/discover") return discovered(result, server);
  const wire: Draft = { resultType: "complete", ...result };
  wire.resultType = "complete"; // also over one that was passed on
  if (methodRow(method).cacheable === true) addCacheFields(wire);
  if (server !== undefined) wire._meta = { ...metaOf(result), [metaKeys.serverInfo]: asJson(server) };
  return wire;
}

/** The model has the server in a place of its own; on the wire it signs like everywhere. */
function discovered({ serverInfo, ...result }: JsonObject, server: Implementation | undefined): JsonObject {
  const wire: Draft = { ...result, resultType: "complete" };
  addCacheFields(wire);
  const signer = server === undefined ? serverInfo : asJson(server);
  return signer === undefined ? wire : withMeta(wire, metaKeys.serverInfo, signer);
}

/** By default nobody keeps a result. Time is in whole milliseconds. */
function addCacheFields(wire: Draft): void {
  const { ttlMs, cacheScope } = wire;
  wire.ttlMs = typeof ttlMs === "number" && ttlMs > 0 ? Math.min(Math.trunc(ttlMs), Number.MAX_SAFE_INTEGER) : 0;
  wire.cacheScope = cacheScope === "public" ? "public" : "private";
}

function inputRequired(inputRequests: JsonObject, state: string | undefined): JsonObject {
  return {
    resultType: "input_required",
    ...(Object.keys(inputRequests).length > 0 && { inputRequests }),
    ...(state !== undefined && { requestState: state }),
  };
}

/** Why a call cannot end by asking, if it cannot. */
function askingProblem(method: string, { questions, state }: Asking): string | undefined {
  if (methodRow(method).asks !== true) return "must not ask for input";
  const empty = Object.keys(questions).length === 0 && state === undefined;
  return empty ? "asks for input without a question or a state" : undefined;
}

interface Asking {
  readonly questions: Readonly<Record<string, Question>>;
  readonly state?: string;
}

function signed(wire: JsonObject, server: Implementation | undefined): JsonObject {
  return server === undefined ? wire : withMeta(wire, metaKeys.serverInfo, asJson(server));
}
