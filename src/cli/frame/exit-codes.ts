import { isObject, type JsonObject } from "../../json/json.ts";
import type { ErrorCode, Failure } from "../../protocol/errors.ts";
import type { ExitCode } from "../command.ts";

/** The exit code of every error code. The compiler says which is missing. */
export const exitCodes: Readonly<Record<ErrorCode, ExitCode>> = {
  "tool-error": 1,
  application: 1,
  internal: 1,
  "method-not-found": 1,
  "invalid-params": 1,
  "invalid-request": 1,
  "resource-not-found": 1,
  declined: 1,
  rejected: 1,
  "missing-capability": 1,
  "url-elicitation-required": 1,
  unsupported: 1,
  timeout: 1,
  "limit-reached": 1,
  cancelled: 1,
  "invalid-definition": 2,
  "invalid-config": 2,
  "connection-closed": 3,
  "http-error": 3,
  "unsupported-revision": 3,
  "header-mismatch": 3,
  "parse-error": 3,
  "invalid-response": 3,
  unauthorized: 4,
  forbidden: 4,
  denied: 5,
};

/** The exit code of a failure. A `timeout` counts as not connected when it came while connecting. */
export function exitCodeOf(failure: Pick<Failure, "code" | "data">): ExitCode {
  const { code, data } = failure;
  if (code === "timeout" && isObject(data) && data.phase === "connect") return 3;
  if (code === "http-error" && isObject(data) && lacksScope(data)) return exitCodes.forbidden;
  return exitCodes[code === "internal" ? codeAtPeer(data) : code];
}

/** Whether a server refuses a token of the command line, which nobody can widen, for its scopes. */
function lacksScope({ status, challenge }: JsonObject): boolean {
  return status === 403 && typeof challenge === "string" && challenge.includes("insufficient_scope");
}

/** The code of what arrives as `internal`, which has no number of its own: the data says what a peer refused, and why. */
function codeAtPeer(data: Failure["data"]): ErrorCode {
  if (!isObject(data)) return "internal";
  if (data.reason === "denied" || refusers.has(data.by)) return "denied";
  return data.reason === "forbidden" || Array.isArray(data.scopes) ? "forbidden" : "internal";
}

/** What refuses a call, in `data.by` of `denied`. */
const refusers: ReadonlySet<unknown> = new Set(["policy", "lock", "approval"]);
