/// <reference lib="esnext.disposable" preserve="true" />
import type { Awaitable } from "../std/awaitable.ts";

/**
 * What all processes that serve the same thing share. Nothing else keeps shared state.
 *
 * Values are texts. Times are in milliseconds and measured by the store, not by its callers. A name may be any text of
 * up to 512 characters; what has the same name (a value, a stream, a lease) lives together, so that a lease can guard it.
 * A driver that can answers at once, the others with a promise: `await` does for both. Every method throws or rejects with a
 * {@link StoreError}: `unavailable` when the store cannot be reached now, `closed` after {@link Store.close}. What was acknowledged is kept as long as the driver says: memory until the process ends, a file or
 * Redis beyond it.
 */
export interface Store extends AsyncDisposable {
  readonly values: StoreValues;
  readonly streams: StoreStreams;
  readonly topics: StoreTopics;
  readonly leases: StoreLeases;
  /** Whether it outlives this process, so that work can be taken up by another one. */
  readonly durable: boolean;
  /** Ends all subscriptions. What is under way settles first; calls after it reject with `closed`. Never throws. */
  close(): Promise<void>;
}

/** Texts by name, each with a version that changes with every write. */
export interface StoreValues {
  get(name: string): Awaitable<StoredValue | undefined>;
  /** Writes, unless a condition does not hold: then nothing is written and it resolves to undefined. The new version else. */
  put(name: string, text: string, options?: PutOptions): Awaitable<string | undefined>;
  /** Gives a value another time to live. False when there is none. The version stays. */
  touch(name: string, ttlMs: number): Awaitable<boolean>;
  /** False when there was none, or a condition did not hold. */
  delete(name: string, options?: WriteConditions): Awaitable<boolean>;
  /** What was put with `group`, in the order of names (by UTF-16 units): at most `limit` (100), those after `after`. */
  list(group: string, options?: StoreListOptions): Awaitable<readonly NamedValue[]>;
  /**
   * Adds to a number that starts at zero and is forgotten `ttlMs` after its first addition. Resolves to the sum. Numbers live
   * apart: {@link StoreValues.get} does not see them.
   */
  add(name: string, amount: number, ttlMs: number): Awaitable<number>;
}

export interface StoredValue {
  readonly text: string;
  readonly version: string;
}

export interface NamedValue extends StoredValue {
  readonly name: string;
}

export interface WriteConditions {
  /** Only if this is the version now; null: only if there is no value. */
  readonly version?: string | null | undefined;
  /** Only if no lease on this name was given after the one with this token. */
  readonly fence?: number | undefined;
}

export interface PutOptions extends WriteConditions {
  /** Forgotten after this time. For ever when left out, also if an earlier value had a time to live. */
  readonly ttlMs?: number | undefined;
  /** Listed under this name too. The same on every write of one name; left out, it is not listed. */
  readonly group?: string | undefined;
}

export interface StoreListOptions {
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

/**
 * Append-only sequences of texts, counted from 1. Positions are never used twice, even when all events are gone. A stream
 * that was deleted or forgotten is a new one, counted from 1, when something is added again.
 */
export interface StoreStreams {
  /**
   * Adds texts in their order and resolves to the position of the last one. Undefined, and nothing is added, when the fence
   * does not hold. Readers see all of them or none.
   */
  append(name: string, texts: readonly string[], options?: AppendOptions): Awaitable<number | undefined>;
  /** At most `limit` (1,000) events after a position, oldest first. */
  read(name: string, after: number, limit?: number): Awaitable<StreamPage>;
  /** Drops events up to and with this position. */
  trim(name: string, through: number): Awaitable<void>;
  delete(name: string): Awaitable<void>;
}

export interface AppendOptions {
  /** The stream is forgotten when nothing was added for this long. For ever when left out. */
  readonly ttlMs?: number | undefined;
  /** How many events are kept at least; somewhat more may be. All when left out. */
  readonly keep?: number | undefined;
  readonly fence?: number | undefined;
}

export interface StreamPage {
  readonly events: readonly StreamEvent[];
  /** The position of the newest event there ever was; 0 when there was none. */
  readonly last: number;
  /**
   * True when events after the given position were dropped before they could be read; also when there never was an event
   * at that position: then the stream was forgotten since, and counts anew.
   */
  readonly lost: boolean;
}

export interface StreamEvent {
  readonly position: number;
  readonly text: string;
}

/** Messages to current subscribers. */
export interface StoreTopics {
  /** Resolves when every subscriber that is there will get it. */
  publish(topic: string, text: string): Awaitable<void>;
  /**
   * Listens from now on: what is published after this resolved is delivered once and in order, also when the connection to
   * the store breaks in between. A subscriber that was away or behind for too long gets `gap` in the place of what it missed.
   */
  subscribe(topic: string): Promise<TopicSubscription>;
}

/** Reading ends when the subscription or the store is closed. */
export interface TopicSubscription extends AsyncIterable<TopicMessage>, AsyncDisposable {
  close(): Promise<void>;
}

export type TopicMessage = { readonly kind: "message"; readonly text: string } | { readonly kind: "gap" };

/** Exclusive leases: at most one holder at a time. */
export interface StoreLeases {
  /** Acquires a free lease. Undefined while it is held. */
  acquire(name: string, ttlMs: number): Awaitable<Lease | undefined>;
  /** Whether the lease is held. */
  held(name: string): Awaitable<boolean>;
}

export interface Lease {
  readonly name: string;
  /** Larger than the token of any earlier lease on this name. Writes with `fence: token` fail once there is a later one. */
  readonly token: number;
  /** Extends the lease by `ttlMs` from now. False when it was lost: it expired, even if it was not acquired since. */
  renew(): Awaitable<boolean>;
  /** Gives it back, if it is still held. */
  release(): Awaitable<void>;
}

export type StoreErrorCode = "unavailable" | "closed" | "unsupported" | "invalid";

/** What every method of a store rejects with. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** True when the same may work in a moment. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof StoreError && error.code === "unavailable";
}
