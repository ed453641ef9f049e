import { isObject } from "../../json/json.ts";
import type { Call, Outcome } from "../../model/service.ts";
import { StoreError } from "../../store/store.ts";
import type { Environment } from "../environment.ts";

/** What a caller is told while the store is away: that, and when to try again. Throws any other error. */
export function whileAway(error: unknown, { method }: Call, { faults }: Environment): Outcome & { kind: "failed" } {
  if (!(error instanceof StoreError) || error.code !== "unavailable") throw error;
  const { data } = faults.failureOf(error, method);
  const message = "tasks cannot be reached now, try again later";
  return {
    kind: "failed",
    failure: { code: "internal", message, data: { ...(isObject(data) && data), retryAfterMs: RETRY_MS } },
  };
}

const RETRY_MS = 1_000;
