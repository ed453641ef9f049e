import { isObject, type Json } from "../../json/json.ts";
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
  "invalid-response": rpcCodes.internal,
  cancelled: rpcCodes.internal,
  timeout: rpcCodes.internal,
  "connection-closed": rpcCodes.internal,
  "limit-reached": rpcCodes.internal,
};

/** Codes without a number of their own: the peer learns them as `data.reason`. */
const unnumbered: ReadonlySet<ErrorCode> = new Set([
  "tool-error",
  "declined",
  "unsupported",
  "invalid-definition",
  "invalid-response",
  "cancelled",
  "timeout",
  "connection-closed",
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
  const code = toldByData(number, data, method) ?? codes.get(number);
  const told = data === undefined ? {} : { data };
  return code === undefined ? { code: "application", message, number, ...told } : { code, message, ...told };
}

/**
 * What invalid params really are: 2026-07-28 reports a missing resource so, and
 * names it; before, there was no number for a capability that the client lacks.
 */
function toldByData(number: number, data: Json | undefined, method: string | undefined): ErrorCode | undefined {
  if (number !== rpcCodes.invalidParams || !isObject(data)) return undefined;
  if (method === "resources/read" && typeof data.uri === "string") return "resource-not-found";
  return isObject(data.requiredCapabilities) ? "missing-capability" : undefined;
}
