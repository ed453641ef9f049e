import { aListOf, anObject, aString, type Check } from "../json/check.ts";
import { isObject, type JsonObject } from "../json/json.ts";
import { parseJson } from "../json/parse.ts";
import { type Awaitable, allOf, chain } from "../std/awaitable.ts";
import type { Clock } from "../std/clock.ts";
import { digestText } from "../std/digest.ts";
import { type Attempts, attemptsInMemory, createAttempts } from "../store/attempt.ts";
import { boundedMemoryStore } from "../store/bounded-memory.ts";
import type { Store, StoredValue, StoreValues } from "../store/store.ts";
import { checkOfList } from "./list-entries.ts";
import type { Warn } from "./warning.ts";

/** The store of cached results. */
export interface CacheOptions {
  /** A store that several clients share: `openStore("redis://…")`. */
  readonly store: Store | Promise<Store>;
  /**
   * Names the owner of this client's credentials. Private results are shared between clients with the same partition;
   * without one, they stay in memory.
   */
  readonly partition?: string | undefined;
}

/** A store that clients of one server share. */
export interface SharedCache extends CacheOptions {
  /** Identifies the server. It may contain secrets, so only a digest of it is stored. */
  readonly server: string;
}

/** What a result depends on. */
export interface CacheKey {
  /** The method and the params that the result depends on. */
  readonly text: string;
  readonly method: string;
  /** The list or resource that the result describes, where servers announce changes of it. */
  readonly subject: string | undefined;
}

/** Results of one server, in the memory of this client and in a store that it shares. */
export interface CacheEntries {
  /** Looks up a result; synchronous where only memory is asked. `refresh`: the result is going to be replaced. */
  lookUp(key: CacheKey, refresh: boolean): Awaitable<Lookup>;
  /** Invalidates all results about a subject, for all clients. Does not wait for the store. */
  invalidate(subject: string): void;
}

/** The cached result of a key. */
export interface Lookup {
  /** One that is good. */
  readonly result: JsonObject | undefined;
  /**
   * Saves a result that was requested after this lookup, and drops the result that it replaces. Does not wait for the
   * store.
   */
  save(result: JsonObject, ttlMs: number): void;
}

export interface CacheEntriesOptions {
  readonly clock: Clock;
  readonly warn: Warn;
  /** Without it, results stay in the memory of this client. */
  readonly shared?: SharedCache | undefined;
  /** How many values the memory of this client holds. Default 1,000. */
  readonly maxValues?: number | undefined;
}

const STORE_TIMEOUT_MS = 500;
const STORE_RETRY_MS = 5_000;

/** The longest time that a result is cached, whatever its server says. */
const MAX_TTL_MS = 86_400_000;
/** Results that are larger are not shared. */
const MAX_SHARED_BYTES = 1_048_576;
/**
 * Maximum number of changes that are not written to the store yet; beyond it, all results in the store count as
 * invalid.
 */
const MAX_PENDING_CHANGES = 10_000;

/** Public results are in the shared store, and private ones too if there is a partition; all others are in memory. */
export function createCacheEntries(options: CacheEntriesOptions): CacheEntries {
  const { clock, warn, shared, maxValues = 1_000 } = options;
  const parsedEntries = createParsedEntries();

  const inMemory = (scopes: readonly Scope[]): ResultStore => {
    const attempt = attemptsInMemory(boundedMemoryStore({ clock, maxValues }));
    return createResultStore({ attempt, warn, parsedEntries, names: memoryNames, slots: [{ kind: "own", scopes }] });
  };

  const inStore = ({ store, server, partition }: SharedCache): ResultStore => {
    const message = "kept results cannot be used now: the server is asked instead";
    const failed = (cause: unknown): void => warn({ kind: "store-failed", message, cause });
    const attempt = createAttempts(store, { clock, waitMs: STORE_TIMEOUT_MS, restMs: STORE_RETRY_MS, failed });
    const slots: readonly SlotRule[] = [
      { kind: "public", scopes: ["public"] },
      ...(partition === undefined ? [] : [{ kind: "private", scopes: ["private"] } as const]),
    ];
    return createResultStore({
      attempt,
      warn,
      parsedEntries,
      names: sharedNames(server, partition),
      slots,
      isShared: true,
    });
  };

  const own = shared?.partition === undefined ? inMemory(shared === undefined ? scopes : ["private"]) : undefined;
  const others = shared && inStore(shared);

  return {
    lookUp(key, refresh) {
      return chain(own?.lookUp(key) ?? emptyLookup, (ownResult) => {
        if (others === undefined || (ownResult.result !== undefined && !refresh)) return ownResult;
        return chain(others.lookUp(key), (sharedResult) => combineLookups(ownResult, sharedResult));
      });
    },
    invalidate(subject) {
      own?.invalidate(subject);
      others?.invalidate(subject);
    },
  };
}

function combineLookups(one: Lookup, two: Lookup): Lookup {
  return {
    result: one.result ?? two.result,
    save(result, ttlMs) {
      one.save(result, ttlMs);
      two.save(result, ttlMs);
    },
  };
}

const emptyLookup: Lookup = { result: undefined, save() {} };

/** The results of one server in one store. A store that fails counts as empty, and lookups do not wait long for it. */
interface ResultStore {
  lookUp(key: CacheKey): Awaitable<Lookup>;
  invalidate(subject: string): void;
}

interface ResultStoreOptions {
  readonly attempt: Attempts;
  readonly warn: Warn;
  readonly parsedEntries: ParsedEntries;
  readonly names: KeyNamer;
  /** The slots that may contain the result of a key. */
  readonly slots: readonly SlotRule[];
  /** Other clients write to these slots too, and their entries may be larger or valid for longer. */
  readonly isShared?: boolean;
}

interface SlotRule {
  readonly kind: "own" | Scope;
  /** The scopes of the results that may be there. */
  readonly scopes: readonly Scope[];
}

/** What is in a slot, good or not. */
interface Slot {
  readonly scopes: readonly Scope[];
  readonly name: string;
  readonly value: StoredValue | undefined;
}

/**
 * What a result tells of has a generation: a random text that changes with what
 * it is about. A result is good only in the generation from before it was asked
 * for, so one change of that text outdates all of them, also those that are
 * still on their way into the store. A generation outlives every result of the
 * one before it.
 */
function createResultStore(options: ResultStoreOptions): ResultStore {
  const { attempt, warn, parsedEntries, names, isShared = false } = options;
  const maxBytes = isShared ? MAX_SHARED_BYTES : Number.POSITIVE_INFINITY;
  /** Changes that are not written down yet, each with its number. */
  const pendingChanges = new Map<string, number>();
  let longestTtlMs = isShared ? 2 * MAX_TTL_MS : 0;
  let changes = 0;
  let isOpen = true;

  const renew = (values: StoreValues, subject: string): Awaitable<void> => {
    const change = pendingChanges.get(subject);
    const written = chain(names("generation", subject), (name) =>
      values.put(name, crypto.randomUUID(), { ttlMs: longestTtlMs + 1 }),
    );
    return chain(written, () => {
      if (pendingChanges.get(subject) === change) pendingChanges.delete(subject);
    });
  };

  const readGeneration = (values: StoreValues, subject: string | undefined): Awaitable<string> => {
    if (subject === undefined) return "";
    const renewed = pendingChanges.has(subject) ? renew(values, subject) : undefined;
    const read = chain(
      chain(renewed, () => names("generation", subject)),
      (name) => values.get(name),
    );
    return chain(read, (value) => value?.text ?? "");
  };

  const readSlot = (values: StoreValues, { kind, scopes }: SlotRule, { text }: CacheKey): Awaitable<Slot> =>
    chain(names(kind, text), (name) => chain(values.get(name), (value) => ({ scopes, name, value })));

  const isValidIn = (slots: readonly Slot[], key: CacheKey, generation: string): JsonObject | undefined => {
    for (const { name, value, scopes } of slots) {
      const entry = value && parsedEntries.take(name, value.version, () => readEntry(value.text, key.method, maxBytes));
      const isGood = entry?.key === key.text && entry.generation === generation;
      if (isGood && scopes.includes(scopeOf(entry.result))) return entry.result;
    }
    return undefined;
  };

  const put = ({ name, value }: Slot, entry: Entry, text: string, ttlMs: number): void => {
    longestTtlMs = Math.max(longestTtlMs, ttlMs);
    const version = value?.version ?? null;
    void attempt(({ values }) =>
      chain(
        values.put(name, text, { version, ttlMs }),
        (written) => written && parsedEntries.set(name, written, entry),
      ),
    );
  };

  const drop = ({ name, value }: Slot): void => {
    const version = value?.version;
    if (version !== undefined) void attempt(({ values }) => values.delete(name, { version }));
  };

  const lookupOf = (key: CacheKey, generation: string, slots: readonly Slot[]): Lookup => ({
    result: isValidIn(slots, key, generation),
    save(result, wantedMs) {
      const ttlMs = Math.min(wantedMs, MAX_TTL_MS);
      const entry = { key: key.text, generation, result };
      const text = ttlMs > 0 ? encodeEntry(entry, key.method, maxBytes) : undefined;
      for (const slot of slots) {
        if (text !== undefined && slot.scopes.includes(scopeOf(result))) put(slot, entry, text, ttlMs);
        else drop(slot);
      }
    },
  });

  return {
    lookUp(key) {
      if (!isOpen) return emptyLookup;
      const found = attempt(({ values }) =>
        allOf([
          readGeneration(values, key.subject),
          allOf(options.slots.map((rule) => readSlot(values, rule, key))),
        ] as const),
      );
      return chain(found, (read) => (read.ok ? lookupOf(key, ...read.value) : emptyLookup));
    },
    invalidate(subject) {
      if (!isOpen) return;
      pendingChanges.set(subject, ++changes);
      isOpen = pendingChanges.size <= MAX_PENDING_CHANGES;
      if (isOpen) void attempt(({ values }) => renew(values, subject));
      else warn({ kind: "store-failed", message: "kept results are not used any more: too many changes were missed" });
    },
  };
}

/** The parsed entries that were read or written last, so that the same text is not parsed again. */
interface ParsedEntries {
  /** The entry of this version. What is not known is read. */
  take(name: string, version: string, read: () => Entry | undefined): Entry | undefined;
  set(name: string, version: string, entry: Entry): void;
}

/** When there are more than `max`, the least recently used goes. */
function createParsedEntries(max = 500): ParsedEntries {
  const known = new Map<string, { readonly version: string; readonly entry: Entry }>();
  let newest: string | undefined;

  const set: ParsedEntries["set"] = (name, version, entry) => {
    known.delete(name);
    known.set(name, { version, entry });
    newest = name;
    const [oldest] = known.size > max ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
  };

  return {
    set,
    take(name, version, read) {
      const last = known.get(name);
      const entry = last?.version === version ? last.entry : read();
      if (entry !== undefined && (entry !== last?.entry || name !== newest)) set(name, version, entry);
      return entry;
    },
  };
}

/** The names of results and generations in a store. */
type KeyNamer = (kind: SlotRule["kind"] | "generation", text: string) => Awaitable<string>;

const MAX_NAME = 500;

/** Of what is too long, there are only digests in a name. */
const memoryNames: KeyNamer = (kind, text) => shortened(kind, text);

/** Of what may be secret, there are only digests in a name. */
function sharedNames(server: string, partition = ""): KeyNamer {
  const digests = Promise.all([digestText(server), digestText(partition)]);
  return async (kind, text) => {
    const [place, owner] = await digests;
    return shortened(`cache ${place} ${kind === "private" ? `${kind} ${owner}` : kind}`, text);
  };
}

function shortened(prefix: string, text: string): Awaitable<string> {
  const name = `${prefix} ${text}`;
  return name.length <= MAX_NAME ? name : chain(digestText(text), (digest) => `${prefix} ${digest}`);
}

const scopes = ["public", "private"] as const;

/** The scope of a cached result: public, or private to the client that received it. */
type Scope = (typeof scopes)[number];

/** What a result does not say to be public is private. */
function scopeOf({ cacheScope }: JsonObject): Scope {
  return cacheScope === "public" ? "public" : "private";
}

/** One result in a store. */
interface Entry {
  /** What it depends on. */
  readonly key: string;
  /** The generation of the subject before the result was requested. */
  readonly generation: string;
  readonly result: JsonObject;
}

/**
 * The text of an entry. Undefined for a result that cannot be cached: too large, or of a method whose results are not
 * checked.
 */
function encodeEntry(entry: Entry, method: string, maxBytes: number): string | undefined {
  if (checkOf(method) === undefined) return undefined;
  const text = JSON.stringify(entry);
  return isSmall(text, maxBytes) ? text : undefined;
}

/**
 * Parses the entry of a method. Any client with write access to the store could have written it, so it is checked like
 * the result of a server: its size, and the shape that readers rely on.
 */
function readEntry(text: string, method: string, maxBytes: number): Entry | undefined {
  const parsed = isSmall(text, maxBytes) ? parseJson(text) : undefined;
  if (parsed?.ok !== true || !isObject(parsed.value)) return undefined;
  const { key, generation, result } = parsed.value;
  if (typeof key !== "string" || typeof generation !== "string" || !isObject(result)) return undefined;
  const check = checkOf(method);
  return check !== undefined && check(result) === undefined ? { key, generation, result } : undefined;
}

/** Few texts need to be measured: no character takes more than three bytes. */
function isSmall(text: string, maxBytes: number): boolean {
  if (text.length * 3 <= maxBytes) return true;
  return text.length <= maxBytes && new TextEncoder().encode(text).length <= maxBytes;
}

/** The same that is looked at when a server answers. */
function checkOf(method: string): Check | undefined {
  return checks.get(method) ?? checkOfList(method);
}

const checks: ReadonlyMap<string, Check> = new Map([
  [
    "server/discover",
    anObject({
      supportedVersions: aListOf(aString),
      capabilities: anObject(),
      serverInfo: anObject({ name: aString, version: aString }),
    }),
  ],
  ["resources/read", anObject({ contents: aListOf(anObject({ uri: aString })) })],
]);
