import type { Json } from "../../json/json.ts";
import { type ErrorObject, rpcCodes } from "../../jsonrpc/message.ts";
import type { ErrorCode, Failure } from "../errors.ts";

/** The failures that have a number on the wire of one revision. All others are internal errors with a `data.reason`. */
export type ErrorNumbers = Readonly<Partial<Record<ErrorCode, number>>>;

/** The numbers of the newest revision. Older ones spread this and put their own. */
export const errorNumbers: ErrorNumbers = {
  "parse-error": rpcCodes.parseError,
  "invalid-request": rpcCodes.invalidRequest,
  "method-not-found": rpcCodes.methodNotFound,
  "invalid-params": rpcCodes.invalidParams,
  internal: rpcCodes.internal,
  "resource-not-found": rpcCodes.invalidParams,
  "header-mismatch": -32020,
  "missing-capability": -32021,
  "unsupported-revision": -32022,
  "url-elicitation-required": rpcCodes.internal,
  rejected: -1,
  application: rpcCodes.internal,
};

/** The error object of a failure. An `application` failure keeps its own number. */
export function encodeFailure(numbers: ErrorNumbers, failure: Failure): ErrorObject {
  const { message, data = reasonOf(failure.code) } = failure;
  const code = ownNumber(failure) ?? numbers[failure.code] ?? rpcCodes.internal;
  return { code, message, ...(data !== undefined && { data }) };
}

function ownNumber({ code, number }: Failure): number | undefined {
  return code === "application" && Number.isSafeInteger(number) ? number : undefined;
}

function reasonOf(code: ErrorCode): Json | undefined {
  return code in errorNumbers ? undefined : { reason: code };
}
