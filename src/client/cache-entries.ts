import { asJson, isObject, type Json, type JsonObject } from "../json/json.ts";
import { parseJson } from "../json/parse.ts";
import type { CallOf } from "../model/service.ts";
import type { Change } from "../model/subscription.ts";
import { toBase64Url } from "../std/base64.ts";
import type { Clock } from "../std/clock.ts";
import { createAttempts } from "../store/attempt.ts";
import type { Store, Value, Values } from "../store/store.ts";
import type { Warn } from "./warning.ts";

export interface CacheShelfOptions {
  readonly store: Store | Promise<Store>;
  /** Names the server. May hold secrets: only a digest of it gets out of here. */
  readonly server: string;
  /** Whose private results are kept. Nobody's when left out. */
  readonly partition: string | undefined;
  readonly clock: Clock;
  readonly warn: Warn;
}

/** Results of one server in a store. A store that fails has nothing, and nobody waits long for it. */
interface CacheShelf {
  /** Looks for the result of a key. Undefined while the store cannot be asked. */
  look(key: string): Promise<Look | undefined>;
  /** Keeps a result that was asked for after this look, and drops what it replaces. Does not wait. */
  keep(look: Look, result: JsonObject): void;
  /** Makes everything that tells of a subject worthless, for everybody. Does not wait. */
  outdate(subject: string): void;
}

/** What the store had for a key. */
export interface Look {
  readonly key: string;
  /** One that is good. */
  readonly result: JsonObject | undefined;
  readonly generation: string;
  readonly slots: readonly Slot[];
}

/** A place for the result of a key. */
interface Slot {
  readonly scope: Scope;
  readonly name: string;
  /** What is there, good or not. */
  readonly value: Value | undefined;
}

const WAIT_MS = 500;
const REST_MS = 5_000;

/** No result is kept for longer, whatever its server says. */
const MAX_TTL_MS = 86_400_000;
/** A generation outlives every result of the one before it. */
const GENERATION_TTL_MS = 2 * MAX_TTL_MS;
/** Changes that are not written down yet. Who owes more has lost touch. */
const MAX_OWED = 10_000;

/**
 * The shelf of a server.
 *
 * What a result tells of has a generation: a random text that changes with what
 * it is about. A result is good only in the generation from before it was asked
 * for, so one change of that text outdates all of them, also those that are
 * still on their way into the store.
 */
export function createCacheShelf(options: CacheShelfOptions): CacheShelf {
  const { store, clock, warn, partition } = options;
  const attempt = createAttempts(store, { clock, waitMs: WAIT_MS, restMs: REST_MS, failed });
  const nameOf = createNames(options.server, partition);
  const scopes: readonly Scope[] = partition === undefined ? ["public"] : ["public", "private"];
  /** Changes that are not written down yet, each with its number. */
  const owed = new Map<string, number>();
  let changes = 0;
  let isOpen = true;

  function failed(cause: unknown): void {
    warn({ kind: "store-failed", message: "kept results cannot be used now: the server is asked instead", cause });
  }

  const renew = async (values: Values, subject: string): Promise<void> => {
    const change = owed.get(subject);
    await values.put(await nameOf("generation", subject), crypto.randomUUID(), { ttl: GENERATION_TTL_MS });
    if (owed.get(subject) === change) owed.delete(subject);
  };

  const readGeneration = async (values: Values, subject: string | undefined): Promise<string> => {
    if (subject === undefined) return "";
    if (owed.has(subject)) await renew(values, subject);
    return (await values.get(await nameOf("generation", subject)))?.text ?? "";
  };

  const readSlots = (values: Values, key: string): Promise<readonly Slot[]> =>
    Promise.all(
      scopes.map(async (scope) => {
        const name = await nameOf(scope, key);
        return { scope, name, value: await values.get(name) };
      }),
    );

  return {
    async look(key) {
      if (!isOpen) return undefined;
      const found = await attempt(({ values }) =>
        Promise.all([readGeneration(values, subjectOf(key)), readSlots(values, key)]),
      );
      if (!found.ok) return undefined;
      const [generation, slots] = found.value;
      return { key, generation, slots, result: goodIn(slots, { key, generation }) };
    },
    keep({ key, generation, slots }, result) {
      const ttl = Math.min(Number(result.ttlMs), MAX_TTL_MS);
      const text = ttl > 0 ? encodeEntry({ key, generation, result }) : undefined;
      const scope = scopeOf(result);
      for (const { name, value, ...slot } of slots) {
        const version = value?.version ?? null;
        if (slot.scope === scope && text !== undefined)
          void attempt(({ values }) => values.put(name, text, { version, ttl }));
        else if (version !== null) void attempt(({ values }) => values.delete(name, { version }));
      }
    },
    outdate(subject) {
      if (!isOpen) return;
      owed.set(subject, ++changes);
      isOpen = owed.size <= MAX_OWED;
      if (isOpen) void attempt(({ values }) => renew(values, subject));
      else warn({ kind: "store-failed", message: "kept results are not used any more: too many changes were missed" });
    },
  };
}

function goodIn(slots: readonly Slot[], expected: { key: string; generation: string }): JsonObject | undefined {
  for (const { scope, value } of slots) {
    const result = value && readEntry(value.text, expected, scope);
    if (result !== undefined) return result;
  }
  return undefined;
}

/** The names of results and generations in the store. */
type NameIt = (kind: Scope | "generation", text: string) => Promise<string>;

const MAX_NAME = 500;

/** Of what may be secret, or is too long, there are only digests in a name. */
function createNames(server: string, partition = ""): NameIt {
  const digests = Promise.all([digestOf(server), digestOf(partition)]);
  return async (kind, text) => {
    const [place, owner] = await digests;
    const prefix = `cache ${place} ${kind === "private" ? `${kind} ${owner}` : kind}`;
    const name = `${prefix} ${text}`;
    return name.length <= MAX_NAME ? name : `${prefix} ${await digestOf(text)}`;
  };
}

async function digestOf(text: string): Promise<string> {
  return toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

/** Who may be given a kept result: everybody, or whom it was given to. */
type Scope = "public" | "private";

/** One result in a store. */
interface Entry {
  /** What it depends on. */
  readonly key: string;
  /** The generation of what it tells of, from before it was asked for. */
  readonly generation: string;
  readonly result: JsonObject;
}

/** Results that are larger are asked for every time. */
const MAX_BYTES = 1_048_576;

/** The text of an entry. None for a result that cannot be kept: too large, or of a method nobody knows the results of. */
function encodeEntry(entry: Entry): string | undefined {
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
function readEntry(text: string, expected: Omit<Entry, "result">, scope: Scope): JsonObject | undefined {
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

/**
 * What a result depends on. None for a call that answers questions, whose result
 * must not be kept, and for params nobody knows the meaning of.
 */
export function keyOf({ method, params, answers, state }: CallOf): string | undefined {
  if (answers !== undefined || state !== undefined) return undefined;
  const { uri, cursor, ...unknown } = asJson(params);
  if (Object.keys(unknown).length > 0) return undefined;
  return `${method} ${JSON.stringify(uri ?? cursor ?? null)}`;
}

/** The method of a key. */
function methodIn(key: string): string {
  return key.slice(0, key.indexOf(" "));
}

/** What the result of a key tells of, where servers announce changes of it. */
export function subjectOf(key: string): string | undefined {
  const method = methodIn(key);
  switch (method) {
    case "tools/list":
      return "tools";
    case "prompts/list":
      return "prompts";
    case "resources/list":
    case "resources/templates/list":
      return "resources";
    case "resources/read":
      return `resource ${key.slice(method.length + 1)}`;
    default:
      return undefined;
  }
}

/** What a change makes wrong. */
export function changedSubject(change: Change): string | undefined {
  switch (change.kind) {
    case "resource":
      return `resource ${JSON.stringify(change.uri)}`;
    case "task":
      return undefined;
    default:
      return change.kind;
  }
}
