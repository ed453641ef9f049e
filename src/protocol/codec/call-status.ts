import type { ErrorCode } from "../errors.ts";
import type { CallEnding, ObservedSide } from "../telemetry.ts";
import { encodeFailure, errorNumbers } from "./errors.ts";

/** How a call ended, in the words that the conventions of OpenTelemetry have for it. */
export interface CallStatus {
  /** The code of the JSON-RPC error that went over the wire, or would have. */
  readonly rpcCode: string | undefined;
  /** What kind of error it was. Undefined where the observing end counts it as none. */
  readonly errorType: string | undefined;
}

/**
 * The status of a call for telemetry.
 *
 * To a client every failure is an error. To a server only those are that are
 * its own: what it refuses, or what the caller did wrong or gave up, is not.
 */
export function callStatus(side: ObservedSide, { outcome, code }: CallEnding): CallStatus {
  if (code === undefined) return fine;
  if (code === "tool-error") return toolError;
  const rpcCode =
    outcome?.kind === "failed" && isAnswer(side, code) ? encodeFailure(errorNumbers, outcome.failure).code : undefined;
  const isError = side === "client" || isOfServer(code, rpcCode);
  return {
    rpcCode: rpcCode === undefined ? undefined : String(rpcCode),
    errorType: isError ? typeOf(code, rpcCode) : undefined,
  };
}

const fine: CallStatus = { rpcCode: undefined, errorType: undefined };
const toolError: CallStatus = { rpcCode: undefined, errorType: "tool_error" };

/** What a client finds out itself is no answer, and what was cancelled gets none. */
function isAnswer(side: ObservedSide, code: ErrorCode): boolean {
  return code !== "cancelled" && (side === "server" || code in errorNumbers);
}

/** Codes that have no number of their own say more than the number that they share. */
function typeOf(code: ErrorCode, rpcCode: number | undefined): string {
  return code in errorNumbers && rpcCode !== undefined ? String(rpcCode) : code;
}

/** The caller may not, or not now, or does not want it any more. */
const ofCaller: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "cancelled",
  "unauthorized",
  "forbidden",
  "denied",
  "limit-reached",
]);

/** -32603, and the range that JSON-RPC leaves to servers. */
function isOfServer(code: ErrorCode, rpcCode: number | undefined): boolean {
  if (ofCaller.has(code)) return false;
  return rpcCode === undefined || rpcCode === -32603 || (rpcCode <= -32000 && rpcCode >= -32099);
}
