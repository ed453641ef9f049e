import type { IncomingRequest } from "../jsonrpc/inbound.ts";
import type { Held } from "../protocol/budget-limits.ts";
import type { LimitReached } from "../protocol/limit-error.ts";

/** What clients of any transport hold. */
export type SharedKind = Extract<Held, "streams" | "subscriptions">;

/** The share of a caller in streams and subscriptions. */
export interface Share {
  /** Takes all of it or nothing. Undefined when it was taken, else which bound was reached. */
  take(kind: SharedKind, amount?: number): LimitReached | undefined;
  /** Gives back what was taken. */
  give(kind: SharedKind, amount?: number): void;
}

/** Limits the number of running and queued calls of each caller. */
export interface CallGate {
  /**
   * Starts `work` now or when it has its turn. Otherwise says which bound was reached: then it never starts, as it does not
   * when its request is aborted while it waits. `work` must not throw; how it settles is all the same.
   */
  run(work: () => Promise<void>, exchange: IncomingRequest): LimitReached | undefined;
  /** Gives up the place of running work while it waits for something else. */
  leave<R>(wait: Promise<R>): Promise<R>;
}

/** The caller of requests, for its shares. */
export interface Caller {
  readonly share: Share;
  readonly gate: CallGate;
}
