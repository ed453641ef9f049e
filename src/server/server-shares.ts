import { createLedger, type ScopeBudgets } from "../protocol/budget.ts";
import { serverBudgets } from "../protocol/server-budgets.ts";
import { createShares, type Shares } from "../protocol/shares.ts";
import type { Clock } from "../std/clock.ts";

/** Tasks that run have a limit of their own: with it, they are shared like everything else. */
export function createServerShares(
  given: ScopeBudgets | undefined,
  maxRunning: number | undefined,
  clock: Clock,
): Shares {
  const { principal, process } = serverBudgets;
  const defaults = { principal, process: { ...process, maxRunningCalls: maxRunning ?? 100 } };
  return createShares(createLedger(defaults, given, "createServer"), clock);
}
