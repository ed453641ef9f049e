import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import { cacheText } from "../../json/text.ts";
import type { Question, QuestionMethod } from "../input.ts";
import { metaKeys, metaOf, withMeta } from "../meta.ts";
import { methodRow, type WireMethod } from "../methods.ts";
import type { Implementation } from "../peer.ts";
import type { Decoded, ServerCodec } from "./codec.ts";
import { asFailure, refuse } from "./codec.ts";
import {
  type Attempt,
  always,
  type Change,
  type Dialect,
  dropMeta,
  inEach,
  inMember,
  inOrder,
  keeping,
  ofType,
  same,
  without,
  withoutMeta,
} from "./dialect.ts";
import { type Draft, ownMeta } from "./envelope.ts";
import { encodeFailure } from "./errors.ts";

/** How a stateless dialect says the end of a call: complete, asking for input, or as a task to follow. */
export function createOutcomeWriter(
  dialect: Dialect,
  writeQuestion: WriteQuestion,
  writeTask: TaskWriter,
): ServerCodec["encodeOutcome"] {
  const resultChange = createResultWriter(dialect);
  const briefTask = inOrder(dialect.task, dialect.result);
  const remember = createMemory();
  const encode = (method: string, result: JsonObject, server: Implementation | undefined): JsonObject =>
    complete(method, resultChange(method)(result), server);

  const writeDetails = (task: JsonObject, server: Implementation | undefined): Decoded<JsonObject> => {
    const written = writeTask(task);
    return written.ok ? { ok: true, value: complete("tasks/get", dialect.result(written.value), server) } : written;
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
        throw new TypeError(`unexpected outcome: ${JSON.stringify(outcome satisfies never)}`);
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

/** In the model the server is a member of its own; on the wire it is in `_meta` as everywhere. */
function discovered({ serverInfo, ...result }: JsonObject, server: Implementation | undefined): JsonObject {
  const wire: Draft = { ...result, resultType: "complete" };
  addCacheFields(wire);
  const signer = server === undefined ? serverInfo : asJson(server);
  return signer === undefined ? wire : withMeta(wire, metaKeys.serverInfo, signer);
}

/** By default results are not cached. Times are in whole milliseconds. */
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

/**
 * How a dialect encodes the result of each method.
 *
 * Created once for a dialect, so that unchanged parts are not traversed. Results of methods without a rule are encoded
 * unchanged.
 */
export function createResultWriter(dialect: Dialect): (method: string) => Change {
  const changes = new Map<string, Change>(
    Object.entries(resultChanges(dialect)).map(([method, change]) => [method, inOrder(change, dialect.result)]),
  );
  return (method) => changes.get(method) ?? same;
}

function resultChanges(dialect: Dialect): { readonly [M in WireMethod]: Change } {
  const block = blockChange(dialect);
  return {
    "server/discover": inMember("capabilities", dialect.serverCapabilities),
    "tools/list": inEach("tools", dialect.tool),
    "tools/call": toolResultChange(dialect),
    "resources/list": inEach("resources", dialect.resource),
    "resources/templates/list": inEach("resourceTemplates", dialect.resource),
    "resources/read": inEach("contents", dialect.contents),
    "prompts/list": inEach("prompts", dialect.prompt),
    "prompts/get": inEach("messages", inMember("content", block)),
    "completion/complete": same,
    "subscriptions/listen": same,
    "tasks/get": dialect.task,
    "tasks/update": keeping("_meta"),
    "tasks/cancel": dialect.cancelled,
    "tasks/list": inEach("tasks", inOrder(dialect.task, dropMeta)),
    "tasks/result": toolResultChange(dialect),
  };
}

/** How a dialect says what a tool returned. */
function toolResultChange(dialect: Dialect): Change {
  return inOrder(dialect.toolResult, inEach("content", blockChange(dialect)));
}

/** How a dialect says a block of content, with the resource in it. */
function blockChange(dialect: Dialect): Change {
  return inOrder(
    dialect.block,
    ofType("resource_link", dialect.resource),
    ofType("resource", inMember("resource", dialect.contents)),
  );
}

/** Encodes a result, or finds what it encoded before. */
type Remember = (
  method: string,
  result: JsonObject,
  server: Implementation | undefined,
  encode: (method: string, result: JsonObject, server: Implementation | undefined) => JsonObject,
) => JsonObject;

/**
 * Caches the encoded lists of a server, and their text.
 *
 * A list is cached when it cannot change: the server froze it, and no code of the author creates it. The cache entry is
 * dropped with the list.
 */
export function createMemory(): Remember {
  const known = new WeakMap<JsonObject, Encoded>();

  return (method, result, server, encode) => {
    // What handlers make is not frozen, mostly: this is the quickest to find out.
    if (!(Object.isFrozen(result) && isLasting(method))) return encode(method, result, server);
    const before = known.get(result);
    if (before !== undefined && before.method === method && before.server === server) return before.encoded;
    const encoded = cacheText(encode(method, result, server));
    known.set(result, { method, server, encoded });
    return encoded;
  };
}

interface Encoded {
  readonly method: string;
  readonly server: Implementation | undefined;
  readonly encoded: JsonObject;
}

function isLasting(method: string): boolean {
  const { cacheable, runs } = methodRow(method);
  return cacheable === true && runs !== true;
}

type WriteQuestion = (question: Question) => Decoded<JsonObject>;
export type TaskWriter = (task: JsonObject) => Decoded<JsonObject>;

/** A task in the format of the extension, without the members of its status. */
export const plainTask: Change = (task) => {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs, _meta } = task;
  const pause = wholeMs(pollIntervalMs);
  return {
    taskId,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt,
    lastUpdatedAt,
    ttlMs: wholeMs(ttlMs) ?? null,
    ...(pause !== undefined && { pollIntervalMs: pause }),
    ...(_meta !== undefined && { _meta }),
  };
};

/** Time is in whole milliseconds. */
function wholeMs(value: Json | undefined): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? Math.max(0, Math.trunc(value)) : undefined;
}

/**
 * How a stateless dialect says a task with what its status brings.
 *
 * The result is what the call would have brought, but for the signature. Fails
 * when a question cannot be put, or when what the task came to is not known.
 */
export function createTaskWriter(dialect: Dialect, writeQuestion: WriteQuestion): TaskWriter {
  const result = inOrder(toolResultChange(dialect), dialect.result, withoutMeta(metaKeys.serverInfo));

  return (task) => {
    const written = dialect.task(task);
    const { status, taskId } = task;
    switch (status) {
      case "input_required": {
        const inputRequests = encodeQuestions(isObject(task.questions) ? task.questions : {}, writeQuestion);
        return inputRequests.ok
          ? { ok: true, value: { ...written, inputRequests: inputRequests.value } }
          : inputRequests;
      }
      case "completed":
        if (!isObject(task.result)) return refuse("internal", `task ${taskId} has no result`);
        return { ok: true, value: { ...written, result: { ...result(task.result), resultType: "complete" } } };
      case "failed":
        if (!isObject(task.failure)) return refuse("internal", `task ${taskId} does not say why it failed`);
        return {
          ok: true,
          value: { ...written, error: asJson(encodeFailure(dialect.errors, asFailure(task.failure))) },
        };
      default:
        return { ok: true, value: written };
    }
  };
}

/** How a stateless dialect says questions: each is an entry of `inputRequests`. */
function encodeQuestions(questions: object, write: WriteQuestion): Decoded<JsonObject> {
  const requests: [string, JsonObject][] = [];
  for (const [key, question] of Object.entries(questions)) {
    const request = write(question);
    if (!request.ok) return request;
    requests.push([key, request.value]);
  }
  return { ok: true, value: Object.fromEntries(requests) };
}

/** How a dialect puts the params of a question. Fails when the client cannot be asked that at all. */
export function createQuestionWriter(dialect: Dialect): (question: Question) => Decoded<JsonObject> {
  const attempts = questionAttempts(dialect);
  return ({ method, params }) => attempts[method](dropHop(asJson(params)));
}

function questionAttempts(dialect: Dialect): { readonly [Q in QuestionMethod]: Attempt } {
  const sampled = inOrder(inEach("tools", dialect.tool), inEach("messages", messageChange(dialect)));
  return {
    "elicitation/create": dialect.elicitation,
    "sampling/createMessage": (params) => {
      const written = dialect.sampling(params);
      return written.ok ? { ok: true, value: sampled(written.value) } : written;
    },
    "roots/list": always(same),
  };
}

/** What belonged to the request that a passed-on question came with. */
const dropHop: Change = inOrder(without("task"), inMember("_meta", ownMeta));

/** How a dialect says a sampling message, whose content is one block or an array of them. */
export function messageChange(dialect: Dialect): Change {
  const block = inOrder(blockChange(dialect), ofType("tool_result", toolResultChange(dialect)));
  return inOrder(inMember("content", block), inEach("content", block));
}
