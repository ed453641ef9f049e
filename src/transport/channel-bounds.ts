import type { ConnectionBudget } from "../protocol/budget-limits.ts";
import { type LimitReached, RETRY_AFTER_MS } from "../protocol/limit-error.ts";
import { type AllLimits, stdioLimits } from "../protocol/limits.ts";

/** The default limits of the one client of a channel. */
export const channelBudget: Readonly<Record<ChannelLimit, number>> = {
  maxHeldBytes: 8_388_608,
  maxRunningCalls: 64,
  maxQueuedCalls: 1_024,
  maxOpenRequests: 1_024,
  maxStreams: 256,
  maxSubscriptions: 1_024,
};

export type ChannelLimit = keyof ConnectionBudget;

/** What the client of a channel may take. It is the connection, the principal and the process at once. */
export interface ChannelBounds {
  readonly limits: AllLimits;
  /** A limit, as the error for it describes it. */
  of(limit: ChannelLimit): LimitReached;
  /** The same where a request is refused because of it. */
  refuse(limit: ChannelLimit): LimitReached;
}

const defaultLimit: ChannelBounds["of"] = (limit) => ({
  limit,
  max: channelBudget[limit],
  scope: "connection",
  retryAfterMs: RETRY_AFTER_MS,
});

export const defaultBounds: ChannelBounds = { limits: stdioLimits, of: defaultLimit, refuse: defaultLimit };
