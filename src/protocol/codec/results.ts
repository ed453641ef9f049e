import {
  aListOf,
  aNumber,
  anObject,
  anything,
  aString,
  type Check,
  type Members,
  oneOf,
  optional,
  type Problem,
} from "../../json/check.ts";
import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import { metaKeys, metaOf } from "../meta.ts";
import { type Method, methodRow, type Result, type WireMethod } from "../methods.ts";
import type { Outcome, OutcomeOf } from "../service.ts";
import type { DetailedTask, Task } from "../task.ts";
import { asDetails, asErrorObject, asResult, asTask, type Decoded, type DecodeFailure, refuse } from "./codec.ts";
import { decodeFailure } from "./decode-failure.ts";
import { type Change, inEach, inMember, inOrder, without, withoutMeta } from "./dialect.ts";
import { readImplementation, readServerCapabilities, unknownProgram } from "./envelope.ts";
import { decodeQuestions } from "./questions.ts";

/** Reads a result that is the whole answer. Of the wrong shape it is an `invalid-response`. */
export function decodeComplete<M extends Method>(method: M, result: JsonObject): OutcomeOf<M> {
  const repaired = repairResult(method, result);
  const problem = resultProblem(method, repaired);
  return problem === undefined ? { kind: "complete", result: asResult<M>(repaired) } : invalid(problem);
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

/** Without members that only the wire needs: the kind of the result, and the server. */
const plain: Change = inOrder(without("resultType"), withoutMeta(metaKeys.serverInfo));

/** In the model the server is a member of its own; on the wire it is in `_meta` as everywhere. */
function discovered(result: JsonObject): JsonObject {
  const signer = metaOf(result)[metaKeys.serverInfo];
  const serverInfo = readImplementation(signer) ?? readImplementation(result.serverInfo) ?? unknownProgram;
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

/**
 * Removes icons that are unsafe to open: all but https and images in `data:` URIs. Plain http is allowed for this
 * machine only. The rest of the value is unchanged.
 */
export const safeIcons: Change = (value) => {
  const { icons } = value;
  if (icons === undefined) return value;
  const safe = Array.isArray(icons) ? icons.filter(isSafe) : [];
  if (Array.isArray(icons) && safe.length === icons.length) return value;
  const { icons: _, ...rest } = value;
  return safe.length === 0 ? rest : { ...rest, icons: safe };
};

/** Resource links among the blocks of a result have icons of their own. */
const safeIconsInContent: Change = inEach("content", safeIcons);

/** Messages of a prompt have one block each. */
const safeIconsInMessages: Change = inEach("messages", inMember("content", safeIcons));

function isSafe(icon: Json): boolean {
  if (!isObject(icon) || typeof icon.src !== "string" || !URL.canParse(icon.src)) return false;
  const { protocol, hostname, pathname } = new URL(icon.src);
  if (protocol === "data:") return /^image\//i.test(pathname);
  return protocol === "https:" || (protocol === "http:" && isThisMachine.test(hostname));
}

const isThisMachine = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/**
 * The problem with a result, naming the member, or undefined.
 *
 * Only what every reader relies on is checked: that lists are lists and that blocks have a type. Entries of lists are
 * checked by their readers, so that one invalid entry does not fail the whole list. Results of unknown methods are not
 * checked.
 */
export function resultProblem(method: string, result: JsonObject): Problem {
  const problem = checks.get(method)?.(result);
  return problem === undefined ? undefined : `${method} result${problem}`;
}

/** A result with the slips of sloppy servers put right, so that {@link resultProblem} finds only what cannot be. */
export function repairResult(method: string, result: JsonObject): JsonObject {
  return repairs.get(method)?.(result) ?? result;
}

const contents: Check = (value) => withUri(value) ?? textOrBlob(value);
const withUri = anObject({ uri: aString });
const withText = anObject({ text: aString });
const withBlob = anObject({ blob: aString });
const textOrBlob: Check = (value) => withText(value) && withBlob(value) && " must have a text or a blob";

const page = { nextCursor: optional(aString) };
const aList = aListOf(anything);

const members: { readonly [M in WireMethod]: Partial<Members<Result<M>>> } = {
  "server/discover": { supportedVersions: aListOf(aString), capabilities: anObject() },
  "tools/list": { ...page, tools: aList },
  "tools/call": { content: aListOf(anObject({ type: aString })) },
  "resources/list": { ...page, resources: aList },
  "resources/templates/list": { ...page, resourceTemplates: aList },
  "resources/read": { contents: aListOf(contents) },
  "prompts/list": { ...page, prompts: aList },
  "prompts/get": { messages: aListOf(anObject({ role: aString, content: anObject({ type: aString }) })) },
  "completion/complete": { completion: anObject({ values: aListOf(aString) }) },
  "subscriptions/listen": {},
  "tasks/get": { taskId: aString },
  "tasks/update": {},
  "tasks/cancel": {},
  "tasks/list": { ...page, tasks: aList },
  "tasks/result": { content: aListOf(anObject({ type: aString })) },
};

const checks = new Map(Object.entries(members).map(([method, row]) => [method, anObject({ ...row })]));

/** `null` where a cursor should be absent: asking for that page again would never end. */
const cursor: Change = (result) => (result.nextCursor === null ? without("nextCursor")(result) : result);

/** Invalid cache hints count as absent. */
const cache: Change = (result) => {
  const { ttlMs, cacheScope } = result;
  const hinted =
    (ttlMs === undefined || typeof ttlMs === "number") && (cacheScope === undefined || isScope(cacheScope));
  return hinted ? result : without("ttlMs", "cacheScope")(result);
};

function isScope(value: unknown): boolean {
  return value === "public" || value === "private";
}

/** A tool that says nothing at all says an empty list. */
const content: Change = (result) => (result.content === undefined ? { ...result, content: [] } : result);

/** Some write `null` for what an entry does not have. */
const entry: Change = inOrder(
  safeIcons,
  withoutNull("title", "description", "annotations", "_meta"),
  withoutNull("outputSchema", "execution", "mimeType", "size", "arguments"),
);

function withoutNull(...names: readonly string[]): Change {
  return (value) => {
    const nulls = names.filter((name) => value[name] === null);
    return nulls.length === 0 ? value : without(...nulls)(value);
  };
}

const repairs = new Map<string, Change>([
  ["server/discover", cache],
  ["tools/list", inOrder(cursor, cache, inEach("tools", entry))],
  ["tools/call", inOrder(content, safeIconsInContent)],
  ["resources/list", inOrder(cursor, cache, inEach("resources", entry))],
  ["resources/templates/list", inOrder(cursor, cache, inEach("resourceTemplates", entry))],
  ["resources/read", cache],
  ["prompts/list", inOrder(cursor, cache, inEach("prompts", entry))],
  ["prompts/get", safeIconsInMessages],
  ["tasks/list", cursor],
  ["tasks/result", inOrder(content, safeIconsInContent)],
]);

// What is wrong with a task is worded to follow its name, like a `Problem`.

/** Decodes a task of the extension, without the members of its status. */
export function readTask(wire: JsonObject): Decoded<Task> {
  const problem = aTask(wire);
  return problem === undefined ? { ok: true, value: asTask(repaired(wire)) } : malformed(problem);
}

/** Decodes a task of the extension, with the members of its status. */
export function readDetails(wire: JsonObject): Decoded<DetailedTask> {
  const task = readTask(wire);
  if (!task.ok) return task;
  const { inputRequests, result, error, ...plain } = asJson(task.value);
  switch (task.value.status) {
    case "input_required": {
      const questions = decodeQuestions(inputRequests);
      return questions.ok ? details(plain, { questions: asJson(questions.value) }) : questions;
    }
    case "completed":
      return readCompleted(plain, result);
    case "failed": {
      const problem = anError(error);
      if (problem !== undefined) return malformed(`.error${problem}`);
      return details(plain, { failure: asJson(decodeFailure(asErrorObject(error), "tools/call")) });
    }
    default:
      return details(plain, {});
  }
}

function readCompleted(task: JsonObject, result: Json | undefined): Decoded<DetailedTask> {
  if (!isObject(result)) return malformed(".result must be an object");
  const outcome = repairResult("tools/call", plainResult(result));
  const problem = resultProblem("tools/call", outcome);
  return problem === undefined ? details(task, { result: outcome }) : malformed(`.result: ${problem}`);
}

const plainResult: Change = without("resultType");

const aTask: Check = anObject({
  taskId: aString,
  status: oneOf("working", "input_required", "completed", "failed", "cancelled"),
});

const anError = anObject({ code: aNumber, message: aString });

/** Without a time to live the task never expires: some servers omit `null`. An invalid interval counts as absent. */
const repaired: Change = (wire) => {
  const { ttlMs, pollIntervalMs, ...plain } = wire;
  return {
    ...plain,
    ttlMs: typeof ttlMs === "number" ? ttlMs : null,
    ...(typeof pollIntervalMs === "number" && { pollIntervalMs }),
  };
};

/** A task with what its status brings. */
export function details(task: JsonObject, brought: JsonObject): Decoded<DetailedTask> {
  return { ok: true, value: asDetails({ ...task, ...brought }) };
}

function malformed(problem: string): DecodeFailure {
  return refuse("invalid-response", problem);
}
