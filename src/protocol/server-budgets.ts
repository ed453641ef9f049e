import type { LedgerStatus, ScopeBudgets } from "./budget.ts";

const MIB = 1_048_576;

/** The shares of what a server itself holds for its callers, unless others are asked for. */
export const serverBudgets: ScopeBudgets = {
  principal: { maxParkedCalls: 250, maxTasks: 1_000, maxHeldBytes: 32 * MIB },
  process: { maxParkedCalls: 1_000, maxTasks: 10_000, maxHeldBytes: 256 * MIB },
};

/** A service that retains data for its callers. */
export interface HoldsShares {
  readonly shares?:
    | {
        /** Those that were asked for. */
        readonly budgets: ScopeBudgets | undefined;
        /** Undefined as long as nothing was ever held. */
        status(): LedgerStatus | undefined;
      }
    | undefined;
}
