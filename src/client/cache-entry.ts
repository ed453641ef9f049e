import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { parseJson } from "../json/parse.ts";
import { methodIn } from "./cache-key.ts";

/** Who may be given a kept result: everybody, or whom it was given to. */
export type Scope = "public" | "private";

/** One result in a store. */
export interface Entry {
  /** What it depends on. */
  readonly key: string;
  /** The generation of what it tells of, from before it was asked for. */
  readonly generation: string;
  readonly result: JsonObject;
}

/** Results that are larger are asked for every time. */
const MAX_BYTES = 1_048_576;

/** The text of an entry. None for a result that cannot be kept: too large, or of a method nobody knows the results of. */
export function encodeEntry(entry: Entry): string | undefined {
  if (shapes.get(methodIn(entry.key)) === undefined) return undefined;
  const text = JSON.stringify(entry);
  return isSmall(text) ? text : undefined;
}

/**
 * The result in a text, if that is an entry for this key, of this generation.
 *
 * Whoever can write to the store could have written it, so it is looked at like
 * what comes from a server: in bounds, and of the shape that its readers rely on.
 */
export function readEntry(text: string, expected: Omit<Entry, "result">, scope: Scope): JsonObject | undefined {
  const parsed = isSmall(text) ? parseJson(text) : undefined;
  if (parsed?.ok !== true || !isObject(parsed.value)) return undefined;
  const { key, generation, result } = parsed.value;
  if (key !== expected.key || generation !== expected.generation || !isObject(result)) return undefined;
  return scopeOf(result) === scope && shapes.get(methodIn(key))?.(result) === true ? result : undefined;
}

/** What a result does not say to be public is private. */
export function scopeOf({ cacheScope }: JsonObject): Scope {
  return cacheScope === "public" ? "public" : "private";
}

/** Few texts need to be measured: no character takes more than three bytes. */
function isSmall(text: string): boolean {
  if (text.length * 3 <= MAX_BYTES) return true;
  return text.length <= MAX_BYTES && new TextEncoder().encode(text).length <= MAX_BYTES;
}

type Check = (value: Json | undefined) => boolean;

const aText: Check = (value) => typeof value === "string";
const anObject: Check = isObject;
const anOptionalText: Check = (value) => value === undefined || typeof value === "string";

function listOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check);
}

function having(members: Readonly<Record<string, Check>>): Check {
  const checks = Object.entries(members);
  return (value) => isObject(value) && checks.every(([name, check]) => check(value[name]));
}

function pageOf(member: string, item: Readonly<Record<string, Check>>): Check {
  return having({ nextCursor: anOptionalText, [member]: listOf(having(item)) });
}

/** The same that is looked at when a server answers. */
const shapes: ReadonlyMap<string, Check> = new Map([
  [
    "server/discover",
    having({
      supportedVersions: listOf(aText),
      capabilities: anObject,
      serverInfo: having({ name: aText, version: aText }),
    }),
  ],
  ["tools/list", pageOf("tools", { name: aText })],
  ["resources/list", pageOf("resources", { uri: aText, name: aText })],
  ["resources/templates/list", pageOf("resourceTemplates", { uriTemplate: aText, name: aText })],
  ["resources/read", having({ contents: listOf(having({ uri: aText })) })],
  ["prompts/list", pageOf("prompts", { name: aText })],
]);
