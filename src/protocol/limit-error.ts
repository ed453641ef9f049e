import { type Failure, McpError } from "./errors.ts";

/** Which bound was reached: the share of one connection, of one principal, or of the process. */
export interface LimitReached {
  /** The option, such as `maxSessions`. */
  readonly limit: string;
  readonly max: number;
  readonly scope: "connection" | "principal" | "process";
  /** When it may be worth another try. */
  readonly retryAfterMs: number;
}

export const RETRY_AFTER_MS = 1_000;

/** `limit-reached`, with what, how much and whose: as a failed call. */
export function toLimitFailure({ limit, max, scope, retryAfterMs }: LimitReached): Failure {
  return {
    code: "limit-reached",
    message: `budgets.${scope}.${limit} of the server is ${max}, and used up; retry later`,
    data: { reason: "limit-reached", limit, max, scope, retryAfterMs },
  };
}

/** The same as an error. */
export function toLimitError(reached: LimitReached): McpError {
  const { code, message, data } = toLimitFailure(reached);
  return new McpError(code, message, data === undefined ? {} : { data });
}
