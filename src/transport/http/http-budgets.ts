import type { Budgets } from "../../protocol/budget.ts";
import type { AllLimits } from "../../protocol/limits.ts";

const MIB = 1_048_576;

/**
 * The shares that are given out over HTTP unless others are asked for. Behind a proxy that says nothing of its clients, all
 * of them are one principal: a few hundred of them fit into its share. A message as long as the limits allow fits into each.
 */
export function httpBudgets({ maxMessageBytes }: AllLimits): Budgets {
  const widest = Math.max(8 * MIB, 2 * maxMessageBytes) + 16 * MIB;
  return {
    connection: {
      maxHeldBytes: widest,
      maxRunningCalls: 256,
      maxQueuedCalls: 1_024,
      maxOpenRequests: 1_024,
      maxStreams: 4,
      maxSubscriptions: 1_024,
    },
    principal: {
      maxHeldBytes: Math.max(32 * MIB, widest, 4 * maxMessageBytes),
      maxRunningCalls: 256,
      maxQueuedCalls: 1_024,
      maxSessions: 2_000,
      maxStreams: 2_000,
      maxSubscriptions: 10_000,
      maxConnections: 2_000,
      maxSignIns: 256,
    },
    process: {
      maxHeldBytes: Math.max(256 * MIB, 16 * maxMessageBytes),
      maxRunningCalls: 1_024,
      maxQueuedCalls: 4_096,
      maxSessions: 10_000,
      maxStreams: 10_000,
      maxSubscriptions: 100_000,
      maxConnections: 10_000,
      maxSignIns: 1_024,
    },
  };
}
