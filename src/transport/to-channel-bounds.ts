import { type ChannelBudgets, limitNames, limitsOf } from "../protocol/budget-limits.ts";
import { RETRY_AFTER_MS } from "../protocol/limit-error.ts";
import { type Limits, stdioLimits } from "../protocol/limits.ts";
import { checkOptionNames, type OtherNames } from "../protocol/option-names.ts";
import { toLimits } from "../protocol/to-limits.ts";
import { type ChannelBounds, channelBudget } from "./channel-bounds.ts";

interface Given {
  readonly limits?: Limits | undefined;
  readonly budgets?: ChannelBudgets | undefined;
}

/** Where limits are that had options of their own. */
const former: OtherNames = {
  maxLineBytes: "limits.maxMessageBytes",
  jsonLimits: "limits.maxJsonDepth and limits.maxJsonNodes",
  maxConcurrent: "budgets.connection.maxRunningCalls",
  maxQueued: "budgets.connection.maxQueuedCalls",
  maxHeldBytes: "budgets.connection.maxHeldBytes",
  maxOpen: "budgets.connection.maxOpenRequests",
  askTimeoutMs: "askTimeoutMs of createServer",
  maxOpenRequests: "budgets.connection.maxOpenRequests",
};

/** The bounds of a channel. Throws `invalid-definition` for an option that is not among `names`, and for a bound that is none. */
export function toChannelBounds(given: Given, owner: string, names?: object): ChannelBounds {
  if (names !== undefined) checkOptionNames(owner, given, names, former);
  const scopes = ["connection", "principal", "process"] as const;
  const limits = scopes.map((scope) => limitsOf(scope, { connection: channelBudget }, given.budgets, owner));
  /** The narrowest one: all that is counted is counted for the same client. */
  const narrowest: ChannelBounds["of"] = (limit) => {
    const place = limitNames.indexOf(limit);
    const bounds = scopes.map((scope, index) => ({ scope, max: limits[index]?.[place] ?? 0 }));
    const narrow = bounds.reduce((one, other) => (other.max < one.max ? other : one));
    return { limit, ...narrow, retryAfterMs: RETRY_AFTER_MS };
  };
  return { limits: toLimits(given.limits, stdioLimits, owner), of: narrowest, refuse: narrowest };
}
