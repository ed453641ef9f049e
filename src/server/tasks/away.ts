import type { JsonObject } from "../../json/json.ts";
import type { Call, Outcome } from "../../model/service.ts";
import { isAway } from "../../store/store.ts";
import type { Environment } from "../environment.ts";

/** What a caller is told while the store is away: that, and when to try again. Throws any other error. */
export function whileAway(error: unknown, { method }: Call, { faults }: Environment): Outcome & { kind: "failed" } {
  if (!isAway(error)) throw error;
  const failure = faults.failureOf(error, method);
  const data = { ...(failure.data as JsonObject), retryAfterMs: RETRY_MS };
  return { kind: "failed", failure: { ...failure, message: "tasks cannot be reached now", data } };
}

const RETRY_MS = 1_000;
