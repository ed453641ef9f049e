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
 * For a client, every failure is an error. For a server, only its own failures are: not those that the caller caused,
 * such as a rejected or cancelled call.
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

/** A failure of the client itself is not a response, and a cancelled call gets none. */
function isAnswer(side: ObservedSide, code: ErrorCode): boolean {
  return code !== "cancelled" && (side === "server" || code in errorNumbers);
}

/** Codes that have no number of their own say more than the number that they share. */
function typeOf(code: ErrorCode, rpcCode: number | undefined): string {
  return code in errorNumbers && rpcCode !== undefined ? String(rpcCode) : code;
}

/** Failures that the caller caused: it is not allowed to, has to wait, or has cancelled. */
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
