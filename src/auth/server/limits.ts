import { McpError } from "../../protocol/errors.ts";

/** What is at its bound, and whose share it is. */
interface Limit {
  /** The option. */
  readonly limit: string;
  readonly max: number;
  readonly scope: "principal" | "process";
  readonly retryAfterMs: number;
}

/** The error of a request whose sender cannot be identified now. Over HTTP it is 429 for a share of the caller, else 503. */
export function limitReached(problem: string, { limit, max, scope, retryAfterMs }: Limit): McpError {
  const message = `${problem}: ${limit} is ${max}; retry in ${Math.ceil(retryAfterMs / 1_000)} s`;
  return new McpError("limit-reached", message, { data: { reason: "limit-reached", limit, max, scope, retryAfterMs } });
}
