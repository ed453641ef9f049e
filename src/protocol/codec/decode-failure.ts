import { isObject, type Json } from "../../json/json.ts";
import { type ErrorObject, rpcCodes } from "../../jsonrpc/message.ts";
import type { ErrorCode, Failure } from "../errors.ts";

const codes: ReadonlyMap<number, ErrorCode> = new Map([
  [rpcCodes.parseError, "parse-error"],
  [rpcCodes.invalidRequest, "invalid-request"],
  [rpcCodes.methodNotFound, "method-not-found"],
  [rpcCodes.invalidParams, "invalid-params"],
  [rpcCodes.internal, "internal"],
  [-32002, "resource-not-found"],
  [-32020, "header-mismatch"],
  [-32021, "missing-capability"],
  [-32022, "unsupported-revision"],
  [-32042, "url-elicitation-required"],
  [-1, "rejected"],
]);

/**
 * The failure that a peer reports on a call of `method`, whichever revision it
 * speaks: each may meet the numbers of the others. An unknown number is an
 * `application` failure.
 */
export function decodeFailure({ code: number, message, data }: ErrorObject, method?: string): Failure {
  const code = codeFromData(number, data, method) ?? codes.get(number);
  const told = data === undefined ? {} : { data };
  return code === undefined ? { code: "application", message, number, ...told } : { code, message, ...told };
}

/** Reasons that callers act on, and that have no number of their own. */
const reasons: ReadonlyMap<unknown, ErrorCode> = new Map([
  ["connection-closed", "connection-closed"],
  ["limit-reached", "limit-reached"],
]);

/**
 * What an internal error says of its reason, and what invalid params really are: 2026-07-28 reports a missing resource so, and
 * names it; before, there was no number for a capability that the client lacks.
 */
function codeFromData(number: number, data: Json | undefined, method: string | undefined): ErrorCode | undefined {
  if (!isObject(data)) return undefined;
  if (number === rpcCodes.internal || number === rpcCodes.connectionClosed) return reasons.get(data.reason);
  if (number !== rpcCodes.invalidParams) return undefined;
  if (method === "resources/read" && typeof data.uri === "string") return "resource-not-found";
  return isObject(data.requiredCapabilities) ? "missing-capability" : undefined;
}
