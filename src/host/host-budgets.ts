import type { Budgets } from "../protocol/budget.ts";
import { checkOptionNames, type OptionNames } from "../protocol/option-names.ts";

/** What callers of a served host may have at one of its servers at a time. 0 and `Infinity` switch a limit off. */
export interface HostBudget {
  /**
   * Calls that were sent and are not answered. More wait; free places go round among callers. Default 128 of a caller and
   * 256 of all, and 32 and 64 at a server that is started by a command.
   */
  readonly maxRunningCalls?: number | undefined;
  /** Calls that wait for their turn. One more is refused. Default 1,024 of a caller and 4,096 of all. */
  readonly maxQueuedCalls?: number | undefined;
  /** Questions of the server that wait for an answer of the caller. Default 100 of a caller and 250 of all. */
  readonly maxParkedCalls?: number | undefined;
  /** Tasks that are under way. Default 50 of a caller and 100 of all. */
  readonly maxTasks?: number | undefined;
}

/** The share of each caller of a served host at one server, and what all of them may have there together. */
export interface HostBudgets {
  readonly principal?: HostBudget | undefined;
  readonly process?: HostBudget | undefined;
}

/** Of a server that takes as many calls, questions and tasks of the host as servers of this package take of one client. */
export const serverBudgets: Budgets & HostBudgets = {
  principal: { maxRunningCalls: 128, maxQueuedCalls: 1_024, maxParkedCalls: 100, maxTasks: 50 },
  process: { maxRunningCalls: 256, maxQueuedCalls: 4_096, maxParkedCalls: 250, maxTasks: 100 },
};

/** Of a program, which runs fewer calls of one client at a time. */
export const programBudgets: Budgets & HostBudgets = {
  principal: { ...serverBudgets.principal, maxRunningCalls: 32 },
  process: { ...serverBudgets.process, maxRunningCalls: 64 },
};

const scopes: OptionNames<HostBudgets> = { principal: true, process: true };

/** Throws `invalid-definition` for a scope that a host does not know. */
export function checkHostBudgets(budgets: HostBudgets): void {
  checkOptionNames("budgets of openHost", budgets, scopes);
}
