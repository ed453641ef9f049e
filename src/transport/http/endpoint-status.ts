import {
  type BudgetScope,
  createLedger,
  type Held,
  heldKinds,
  type Ledger,
  type LedgerStatus,
} from "../../protocol/budget.ts";
import type { AllLimits } from "../../protocol/limits.ts";
import { type HoldsShares, serverBudgets } from "../../protocol/server-budgets.ts";
import type { Service } from "../../protocol/service.ts";

/** What an endpoint and its server hold, and all their limits. */
export interface EndpointStatus extends LedgerStatus {
  /** The limits of each connection, of each principal or address, and of the process; `Infinity` where there is none. */
  readonly budgets: Readonly<Record<BudgetScope, Readonly<Record<Held, number>>>>;
  /** The limits of one message and one stream. */
  readonly messageLimits: AllLimits;
}

/** Parked calls and tasks are counted by the server, whose budgets they have; a service that is none has neither. */
export function createStatus(
  { shares }: Service & HoldsShares,
  ledger: Ledger,
  messageLimits: AllLimits,
): () => EndpointStatus {
  const ofServer = shares && createLedger(serverBudgets, shares.budgets, "createServer");

  const limitsOf = (scope: BudgetScope): Readonly<Record<Held, number>> =>
    byKind((kind) => (isOfServer(kind) && ofServer ? ofServer : ledger).max(scope, kind));

  return () => {
    const own = ledger.status();
    const served = shares?.status();
    return {
      held: byKind((kind) => (isOfServer(kind) ? (served?.held[kind] ?? 0) : own.held[kind])),
      limits: limitsOf("process"),
      principals: own.principals,
      budgets: {
        connection: limitsOf("connection"),
        principal: limitsOf("principal"),
        process: limitsOf("process"),
      },
      messageLimits,
    };
  };
}

function isOfServer(kind: Held): boolean {
  return kind === "parkedCalls" || kind === "tasks";
}

function byKind(of: (kind: Held) => number): Readonly<Record<Held, number>> {
  return Object.fromEntries(heldKinds.map((kind) => [kind, of(kind)])) as Record<Held, number>;
}
