import { isObject } from "../json/json.ts";
import { McpError } from "../model/errors.ts";

/** True for a failure that says nothing of the request: the same may succeed a moment later. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof McpError)) return false;
  const { code, data } = error;
  if (code === "connection-closed" || code === "timeout") return true;
  const status = code === "http-error" && isObject(data) && typeof data.status === "number" ? data.status : 0;
  return status >= 500 || status === 429 || status === 408;
}

/** True for a failure with which the server says when to come again. A tool may fail so, too. */
export function isPutOff(error: unknown): boolean {
  return error instanceof McpError && isObject(error.data) && typeof error.data.retryAfterMs === "number";
}

/**
 * How long to wait before the same is tried again, after so many failures in a
 * row: from a second to half a minute, differently for clients that failed
 * together, and no less than the server says.
 */
export function retryMs(error: unknown, failures: number): number {
  return Math.max(toldMs(error), Math.min(1_000 * 2 ** (failures - 1), 30_000) * (0.5 + Math.random() / 2));
}

function toldMs(error: unknown): number {
  const data = error instanceof McpError ? error.data : undefined;
  if (!isObject(data)) return 0;
  if (typeof data.retryAfterMs === "number") return data.retryAfterMs;
  return typeof data.retryAfter === "number" ? data.retryAfter * 1_000 : 0;
}
