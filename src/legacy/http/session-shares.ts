import { type LimitReached, RETRY_AFTER_MS } from "../../protocol/limit-error.ts";
import { type Awaitable, chain } from "../../std/awaitable.ts";
import { toBase64Url } from "../../std/base64.ts";
import type { Store, StoreValues } from "../../store/store.ts";

/** How much the sessions of one owner may hold in a store, in all processes together. */
export interface SessionMax {
  readonly sessions: number;
  readonly subscriptions: number;
  /** Of the records of sessions and of the URIs that they subscribed to. */
  readonly heldBytes: number;
}

/** What one session holds. */
export interface SessionAmounts {
  readonly subscriptions: number;
  readonly bytes: number;
}

/**
 * What the sessions of each owner hold in a store. A short value for each session, listed by owner: nobody has to read the
 * sessions to count them. The values end with their sessions.
 */
export interface SessionShares {
  /** Adds to what a session holds, or says what its owner has no room for: then nothing is added. */
  take(id: string, owner: string, more: SessionAmounts, ttlMs: number | undefined): Promise<LimitReached | undefined>;
  give(id: string, owner: string, less: SessionAmounts, ttlMs: number | undefined): Promise<void>;
  touch(id: string, ttlMs: number): Awaitable<unknown>;
  delete(id: string): Awaitable<unknown>;
}

/** How many values of a group are read at once. */
const PAGE = 1_000;
/** Names in a store are short. */
const MAX_NAMED = 200;

const nothing: SessionAmounts = { subscriptions: 0, bytes: 0 };

export function createSessionShares({ values }: Store, max: SessionMax): SessionShares {
  const change = async (
    id: string,
    group: string,
    by: SessionAmounts,
    ttlMs: number | undefined,
  ): Promise<SessionAmounts> => {
    for (;;) {
      const value = await values.get(shareName(id));
      const before: SessionAmounts = value === undefined ? nothing : JSON.parse(value.text);
      const after = { subscriptions: before.subscriptions + by.subscriptions, bytes: before.bytes + by.bytes };
      const options = { version: value?.version ?? null, group, ...(ttlMs !== undefined && { ttlMs }) };
      if ((await values.put(shareName(id), JSON.stringify(after), options)) !== undefined) return after;
    }
  };

  return {
    async take(id, owner, more, ttlMs) {
      const group = await groupOf(owner);
      const after = await change(id, group, more, ttlMs);
      const short = await excess(values, group, max);
      if (short === undefined) return undefined;
      if (after.bytes === more.bytes) await values.delete(shareName(id));
      else await change(id, group, negated(more), ttlMs);
      return short;
    },
    async give(id, owner, less, ttlMs) {
      await change(id, await groupOf(owner), negated(less), ttlMs);
    },
    touch: (id, ttlMs) => values.touch(shareName(id), ttlMs),
    delete: (id) => values.delete(shareName(id)),
  };
}

/** The name of a text in a store: the text itself, or its digest if it is long. */
export function shortName(prefix: string, text: string): Awaitable<string> {
  return text.length <= MAX_NAMED ? `${prefix}:${text}` : digested(prefix, text);
}

async function digested(prefix: string, text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `${prefix}#${toBase64Url(new Uint8Array(digest))}`;
}

function groupOf(owner: string): Awaitable<string> {
  return shortName("shares of sessions of", owner);
}

function shareName(id: string): string {
  return `session-share:${id}`;
}

function negated({ subscriptions, bytes }: SessionAmounts): SessionAmounts {
  return { subscriptions: -subscriptions, bytes: -bytes };
}

/** What the sessions of a group hold too much of. */
function excess(values: StoreValues, group: string, max: SessionMax): Awaitable<LimitReached | undefined> {
  const count = (after: string | undefined, sum: SessionMax): Awaitable<LimitReached | undefined> =>
    chain(values.list(group, { after, limit: PAGE }), (page) => {
      const all = page.reduce((so, { text }) => plus(so, JSON.parse(text)), sum);
      const short = shortageOf(all, max);
      return short !== undefined || page.length < PAGE ? short : count(page.at(-1)?.name, all);
    });
  return count(undefined, { sessions: 0, subscriptions: 0, heldBytes: 0 });
}

function plus({ sessions, subscriptions, heldBytes }: SessionMax, one: SessionAmounts): SessionMax {
  return {
    sessions: sessions + 1,
    subscriptions: subscriptions + one.subscriptions,
    heldBytes: heldBytes + one.bytes,
  };
}

const limitNames = {
  sessions: "maxSessions",
  subscriptions: "maxSubscriptions",
  heldBytes: "maxHeldBytes",
} as const;

function shortageOf(held: SessionMax, max: SessionMax): LimitReached | undefined {
  for (const kind of ["sessions", "subscriptions", "heldBytes"] as const) {
    if (held[kind] <= max[kind]) continue;
    return { limit: limitNames[kind], max: max[kind], scope: "principal", retryAfterMs: RETRY_AFTER_MS };
  }
  return undefined;
}
