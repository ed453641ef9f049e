import type { JsonObject } from "../json/json.ts";
import { toBase64Url } from "../std/base64.ts";
import type { Clock } from "../std/clock.ts";
import { createAttempts } from "../store/attempts.ts";
import type { Store, Value, Values } from "../store/store.ts";
import { encodeEntry, readEntry, type Scope, scopeOf } from "./cache-entry.ts";
import { subjectOf } from "./cache-key.ts";
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
export interface CacheShelf {
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
