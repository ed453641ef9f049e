import {
  aListOf,
  anObject,
  anything,
  aString,
  type Check,
  type Members,
  optional,
  type Problem,
} from "../../json/check.ts";
import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import type { Result, WireMethod } from "../../model/methods.ts";
import { type Change, inEach, inMember, inOrder, without } from "./dialect.ts";

/**
 * Leaves out icons that no program should open: all but https and images in
 * `data:` URIs. Plain http is taken from this machine only. The rest of the
 * value stays as it is.
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
 * What is wrong with a result, naming the member, or undefined.
 *
 * Only what every reader of the result relies on is looked at: that lists are
 * lists and that blocks have a type. What is in a list is for its reader to look
 * at, for one bad entry is no reason to do without the others. A method nobody
 * described is not looked at.
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

const mendings = new Map<string, Change>([
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
