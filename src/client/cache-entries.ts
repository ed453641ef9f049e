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

/** Where results are kept so that others need not ask for them. */
export interface CacheOptions {
  /** Shared by everybody who is given it: `openStore("redis://…")`. */
  readonly store: Store | Promise<Store>;
  /**
   * Names who the credentials of this client belong to: results that are private
   * are shared with clients of the same. Without it they stay in memory.
   */
  readonly partition?: string | undefined;
}

/** A store that clients of one server share. */
export interface SharedCache extends CacheOptions {
  /** Names the server. May hold secrets: only a digest of it gets out of here. */
  readonly server: string;
}

/** What a result depends on. */
export interface CacheKey {
  /** The method and what tells its results apart. */
  readonly text: string;
  readonly method: string;
  /** What the result tells of, where servers announce changes of it. */
  readonly subject: string | undefined;
}

/** Results of one server, in the memory of this client and in a store that it shares. */
export interface CacheEntries {
  /** Looks for a result, at once where only memory is asked. `anew`: it is going to be replaced. */
  look(key: CacheKey, anew: boolean): Awaitable<Lookup>;
  /** Makes everything that tells of a subject worthless, for everybody. Does not wait. */
  outdate(subject: string): void;
}

/** What was kept for a key. */
export interface Lookup {
  /** One that is good. */
  readonly result: JsonObject | undefined;
  /** Keeps a result that was asked for after this, and drops what it replaces. Does not wait. */
  keep(result: JsonObject, ttlMs: number): void;
}

export interface CacheEntriesOptions {
  readonly clock: Clock;
  readonly warn: Warn;
  /** Without it, results stay in the memory of this client. */
  readonly shared?: SharedCache | undefined;
  /** How many values the memory of this client holds. Default 1,000. */
  readonly maxValues?: number | undefined;
}

const WAIT_MS = 500;
const REST_MS = 5_000;

/** No result is kept for longer, whatever its server says. */
const MAX_TTL_MS = 86_400_000;
/** Results that are larger are not shared. */
const MAX_SHARED_BYTES = 1_048_576;
/** Changes that are not written down yet. Who owes more has lost touch. */
const MAX_OWED = 10_000;

/** Public results are in the shared store, and private ones too if their partition has a name; the rest is in memory. */
export function createCacheEntries(options: CacheEntriesOptions): CacheEntries {
  const { clock, warn, shared, maxValues = 1_000 } = options;
  const memo = createMemo();

  const inMemory = (scopes: readonly Scope[]): ResultStore => {
    const attempt = attemptsInMemory(boundedMemoryStore({ clock, maxValues }));
    return createResultStore({ attempt, warn, memo, names: memoryNames, slots: [{ kind: "own", scopes }] });
  };

  const inStore = ({ store, server, partition }: SharedCache): ResultStore => {
    const message = "kept results cannot be used now: the server is asked instead";
    const failed = (cause: unknown): void => warn({ kind: "store-failed", message, cause });
    const attempt = createAttempts(store, { clock, waitMs: WAIT_MS, restMs: REST_MS, failed });
    const slots: readonly SlotRule[] = [
      { kind: "public", scopes: ["public"] },
      ...(partition === undefined ? [] : [{ kind: "private", scopes: ["private"] } as const]),
    ];
    return createResultStore({ attempt, warn, memo, names: sharedNames(server, partition), slots, isShared: true });
  };

  const own = shared?.partition === undefined ? inMemory(shared === undefined ? scopes : ["private"]) : undefined;
  const others = shared && inStore(shared);

  return {
    look(key, anew) {
      return chain(own?.look(key) ?? nothing, (mine) => {
        if (others === undefined || (mine.result !== undefined && !anew)) return mine;
        return chain(others.look(key), (theirs) => both(mine, theirs));
      });
    },
    outdate(subject) {
      own?.outdate(subject);
      others?.outdate(subject);
    },
  };
}

function both(one: Lookup, two: Lookup): Lookup {
  return {
    result: one.result ?? two.result,
    keep(result, ttlMs) {
      one.keep(result, ttlMs);
      two.keep(result, ttlMs);
    },
  };
}

const nothing: Lookup = { result: undefined, keep() {} };

/** The results of one server in one store. A store that fails has nothing, and nobody waits long for it. */
interface ResultStore {
  look(key: CacheKey): Awaitable<Lookup>;
  outdate(subject: string): void;
}

interface ResultStoreOptions {
  readonly attempt: Attempts;
  readonly warn: Warn;
  readonly memo: Memo;
  readonly names: NameIt;
  /** The places for the result of a key. */
  readonly slots: readonly SlotRule[];
  /** Others put results there too, which may be larger or live longer than those of this client. */
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
  const { attempt, warn, memo, names, isShared = false } = options;
  const maxBytes = isShared ? MAX_SHARED_BYTES : Number.POSITIVE_INFINITY;
  /** Changes that are not written down yet, each with its number. */
  const owed = new Map<string, number>();
  let longestTtlMs = isShared ? 2 * MAX_TTL_MS : 0;
  let changes = 0;
  let isOpen = true;

  const renew = (values: StoreValues, subject: string): Awaitable<void> => {
    const change = owed.get(subject);
    const written = chain(names("generation", subject), (name) =>
      values.put(name, crypto.randomUUID(), { ttlMs: longestTtlMs + 1 }),
    );
    return chain(written, () => {
      if (owed.get(subject) === change) owed.delete(subject);
    });
  };

  const readGeneration = (values: StoreValues, subject: string | undefined): Awaitable<string> => {
    if (subject === undefined) return "";
    const renewed = owed.has(subject) ? renew(values, subject) : undefined;
    const read = chain(
      chain(renewed, () => names("generation", subject)),
      (name) => values.get(name),
    );
    return chain(read, (value) => value?.text ?? "");
  };

  const readSlot = (values: StoreValues, { kind, scopes }: SlotRule, { text }: CacheKey): Awaitable<Slot> =>
    chain(names(kind, text), (name) => chain(values.get(name), (value) => ({ scopes, name, value })));

  const goodIn = (slots: readonly Slot[], key: CacheKey, generation: string): JsonObject | undefined => {
    for (const { name, value, scopes } of slots) {
      const entry = value && memo.take(name, value.version, () => readEntry(value.text, key.method, maxBytes));
      const isGood = entry?.key === key.text && entry.generation === generation;
      if (isGood && scopes.includes(scopeOf(entry.result))) return entry.result;
    }
    return undefined;
  };

  const put = ({ name, value }: Slot, entry: Entry, text: string, ttlMs: number): void => {
    longestTtlMs = Math.max(longestTtlMs, ttlMs);
    const version = value?.version ?? null;
    void attempt(({ values }) =>
      chain(values.put(name, text, { version, ttlMs }), (written) => written && memo.set(name, written, entry)),
    );
  };

  const drop = ({ name, value }: Slot): void => {
    const version = value?.version;
    if (version !== undefined) void attempt(({ values }) => values.delete(name, { version }));
  };

  const lookupOf = (key: CacheKey, generation: string, slots: readonly Slot[]): Lookup => ({
    result: goodIn(slots, key, generation),
    keep(result, wantedMs) {
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
    look(key) {
      if (!isOpen) return nothing;
      const found = attempt(({ values }) =>
        allOf([
          readGeneration(values, key.subject),
          allOf(options.slots.map((rule) => readSlot(values, rule, key))),
        ] as const),
      );
      return chain(found, (read) => (read.ok ? lookupOf(key, ...read.value) : nothing));
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

/** Entries as they were read or written last, so that the same text is not parsed again. */
interface Memo {
  /** The entry of this version. What is not known is read. */
  take(name: string, version: string, read: () => Entry | undefined): Entry | undefined;
  set(name: string, version: string, entry: Entry): void;
}

/** When there are more than `max`, the least recently used goes. */
function createMemo(max = 500): Memo {
  const known = new Map<string, { readonly version: string; readonly entry: Entry }>();
  let newest: string | undefined;

  const set: Memo["set"] = (name, version, entry) => {
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
type NameIt = (kind: SlotRule["kind"] | "generation", text: string) => Awaitable<string>;

const MAX_NAME = 500;

/** Of what is too long, there are only digests in a name. */
const memoryNames: NameIt = (kind, text) => shortened(kind, text);

/** Of what may be secret, there are only digests in a name. */
function sharedNames(server: string, partition = ""): NameIt {
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

/** Who may be given a kept result: everybody, or whom it was given to. */
type Scope = (typeof scopes)[number];

/** What a result does not say to be public is private. */
function scopeOf({ cacheScope }: JsonObject): Scope {
  return cacheScope === "public" ? "public" : "private";
}

/** One result in a store. */
interface Entry {
  /** What it depends on. */
  readonly key: string;
  /** The generation of what it tells of, from before it was asked for. */
  readonly generation: string;
  readonly result: JsonObject;
}

/** The text of an entry. None for a result that cannot be kept: too large, or of a method nobody knows the results of. */
function encodeEntry(entry: Entry, method: string, maxBytes: number): string | undefined {
  if (checkOf(method) === undefined) return undefined;
  const text = JSON.stringify(entry);
  return isSmall(text, maxBytes) ? text : undefined;
}

/**
 * The entry of a method in a text, if it is one. Whoever can write to the store
 * could have written it, so it is looked at like what comes from a server: in
 * bounds, and of the shape that its readers rely on.
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
