import type { Json } from "../../json/json.ts";
import { type ErrorObject, rpcCodes } from "../../jsonrpc/message.ts";
import type { ErrorCode, Failure } from "../../model/errors.ts";

/** The number of every failure on the wire of one revision. */
export type ErrorNumbers = Readonly<Record<ErrorCode, number>>;

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
  "tool-error": rpcCodes.internal,
  declined: rpcCodes.internal,
  unsupported: rpcCodes.internal,
  "invalid-definition": rpcCodes.internal,
  "invalid-config": rpcCodes.internal,
  "invalid-response": rpcCodes.internal,
  cancelled: rpcCodes.internal,
  timeout: rpcCodes.internal,
  "connection-closed": rpcCodes.internal,
  "http-error": rpcCodes.internal,
  unauthorized: rpcCodes.internal,
  forbidden: rpcCodes.internal,
  "limit-reached": rpcCodes.internal,
};

/** Codes without a number of their own: the peer learns them as `data.reason`. */
const unnumbered: ReadonlySet<ErrorCode> = new Set([
  "tool-error",
  "declined",
  "unsupported",
  "invalid-definition",
  "invalid-config",
  "invalid-response",
  "cancelled",
  "timeout",
  "connection-closed",
  "http-error",
  "unauthorized",
  "forbidden",
  "limit-reached",
] as const);

/** The error object of a failure. An `application` failure keeps its own number. */
export function encodeFailure(numbers: ErrorNumbers, failure: Failure): ErrorObject {
  const code = failure.code === "application" ? ownNumber(failure) : numbers[failure.code];
  const data = failure.data === undefined ? reasonOf(failure.code) : failure.data;
  return { code, message: failure.message, ...(data !== undefined && { data }) };
}

function ownNumber({ number }: Failure): number {
  return number !== undefined && Number.isSafeInteger(number) ? number : errorNumbers.application;
}

function reasonOf(code: ErrorCode): Json | undefined {
  return unnumbered.has(code) ? { reason: code } : undefined;
}
