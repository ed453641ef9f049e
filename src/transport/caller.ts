import type { IncomingRequest } from "../jsonrpc/inbound.ts";
import type { Held } from "../protocol/budget-limits.ts";
import type { LimitReached } from "../protocol/limit-error.ts";

/** What clients of any transport hold. */
export type SharedKind = Extract<Held, "streams" | "subscriptions">;

/** What somebody may hold: here streams, and what is subscribed to. */
export interface Share {
  /** Takes all of it or nothing. Undefined when it was taken, else which bound was reached. */
  take(kind: SharedKind, amount?: number): LimitReached | undefined;
  /** Gives back what was taken. */
  give(kind: SharedKind, amount?: number): void;
}

/** Lets so many calls of somebody run at once, and so many wait. */
export interface CallGate {
  /**
   * Starts `work` now or when it has its turn. Otherwise says which bound was reached: then it never starts, as it does not
   * when its request is aborted while it waits. `work` must not throw; how it settles is all the same.
   */
  run(work: () => Promise<void>, exchange: IncomingRequest): LimitReached | undefined;
  /** Gives up the place of running work while it waits for something else. */
  leave<R>(wait: Promise<R>): Promise<R>;
}

/** Who sends requests, as far as shares go. */
export interface Caller {
  readonly share: Share;
  readonly gate: CallGate;
}
