import type { JsonObject } from "../../json/json.ts";
import type { Method, Result } from "../../model/methods.ts";
import { type Change, inOrder, without } from "./change.ts";
import { aListOf, anObject, aString, type Check, type Members, optional, type Problem } from "./check.ts";

/**
 * What is wrong with a result, naming the member, or undefined.
 *
 * Only what every reader of the result relies on is looked at: that lists are
 * lists and that things have their names. A method nobody described is not
 * looked at.
 */
export function resultProblem(method: string, result: JsonObject): Problem {
  const problem = checks.get(method)?.(result);
  return problem === undefined ? undefined : `${method} result${problem}`;
}

/** A result with the slips of sloppy servers put right, so that {@link resultProblem} finds only what cannot be. */
export function mendResult(method: string, result: JsonObject): JsonObject {
  return mendings.get(method)?.(result) ?? result;
}

const contents: Check = (value) => withUri(value) ?? textOrBlob(value);
const withUri = anObject({ uri: aString });
const withText = anObject({ text: aString });
const withBlob = anObject({ blob: aString });
const textOrBlob: Check = (value) => withText(value) && withBlob(value) && " must have a text or a blob";

const page = { nextCursor: optional(aString) };

const members: { readonly [M in Method]: Partial<Members<Result<M>>> } = {
  "server/discover": { supportedVersions: aListOf(aString), capabilities: anObject() },
  "tools/list": { ...page, tools: aListOf(anObject({ name: aString })) },
  "tools/call": { content: aListOf(anObject({ type: aString })) },
  "resources/list": { ...page, resources: aListOf(anObject({ uri: aString, name: aString })) },
  "resources/templates/list": {
    ...page,
    resourceTemplates: aListOf(anObject({ uriTemplate: aString, name: aString })),
  },
  "resources/read": { contents: aListOf(contents) },
  "prompts/list": { ...page, prompts: aListOf(anObject({ name: aString })) },
  "prompts/get": { messages: aListOf(anObject({ role: aString, content: anObject({ type: aString }) })) },
  "completion/complete": { completion: anObject({ values: aListOf(aString) }) },
  "subscriptions/listen": {},
  "tasks/get": { taskId: aString },
  "tasks/update": {},
  "tasks/cancel": {},
  "tasks/list": { ...page, tasks: aListOf(anObject({ taskId: aString })) },
  "tasks/result": { content: aListOf(anObject({ type: aString })) },
};

const checks = new Map(Object.entries(members).map(([method, row]) => [method, anObject({ ...row })]));

/** `null` where a cursor should be absent: asking for that page again would never end. */
const cursor: Change = (result) => (result.nextCursor === null ? without("nextCursor")(result) : result);

/** Cache hints that are none count as absent. */
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

const mendings = new Map<string, Change>([
  ["server/discover", cache],
  ["tools/list", inOrder(cursor, cache)],
  ["tools/call", content],
  ["resources/list", inOrder(cursor, cache)],
  ["resources/templates/list", inOrder(cursor, cache)],
  ["resources/read", cache],
  ["prompts/list", inOrder(cursor, cache)],
  ["tasks/list", cursor],
  ["tasks/result", content],
]);
