import { isObject, type Json } from "../json/json.ts";

/** Every way a call can fail, as stable strings. Numbers exist only on the wire. */
export type ErrorCode =
  // told by a peer, or to one
  | "parse-error"
  | "invalid-request"
  | "method-not-found"
  | "invalid-params"
  | "internal"
  | "resource-not-found"
  | "header-mismatch"
  | "missing-capability"
  | "unsupported-revision"
  | "url-elicitation-required"
  | "rejected"
  | "application"
  // found out here; a peer cannot send them
  | "tool-error"
  | "declined"
  | "unsupported"
  | "invalid-definition"
  | "invalid-config"
  | "invalid-response"
  | "cancelled"
  | "timeout"
  | "connection-closed"
  | "http-error"
  | "unauthorized"
  | "forbidden"
  | "denied"
  | "limit-reached";

/** A failed call as plain data: what crosses layers and the wire. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly data?: Json;
  /** The number on the wire, for `application` failures. Own numbers lie outside -32768 to -32000. */
  readonly number?: number;
}

export interface McpErrorOptions {
  readonly data?: Json;
  readonly number?: number;
  readonly cause?: unknown;
}

/** The one error class applications catch. Switch on `code`. */
export class McpError extends Error implements Failure {
  override readonly name = "McpError";
  readonly code: ErrorCode;
  readonly data?: Json;
  readonly number?: number;

  constructor(code: ErrorCode, message: string, options: McpErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    if (options.data !== undefined) this.data = options.data;
    if (options.number !== undefined) this.number = options.number;
  }
}

/**
 * An error that the model should read: `throw toolError("sold out")`.
 *
 * In a tool it becomes a result with `isError`, and a typed client call throws
 * it again with the same message and data. The data are what `JSON.stringify` writes of `data`; it throws a
 * `TypeError` for a cycle and for a `bigint`.
 */
export function toolError(message: string, data?: unknown): McpError {
  const text: string | undefined = JSON.stringify(data);
  return new McpError("tool-error", message, text === undefined ? {} : { data: JSON.parse(text) as Json });
}

/** The plain data of an error. */
export function toFailure({ code, message, data, number }: McpError): Failure {
  return { code, message, ...(data !== undefined && { data }), ...(number !== undefined && { number }) };
}

/** The error of a call that needs an authenticated caller and has none, or one whose sign-in has ended. */
export function callerMissing(message = "this needs an authenticated caller: sign in first"): McpError {
  return new McpError("unauthorized", message, { data: { reason: NO_CALLER } });
}

/** Whether a failure is about the caller of this server. Other servers say `unauthorized`, too, of calls to them. */
export function isCallerMissing({ code, data }: Failure): boolean {
  return code === "unauthorized" && isObject(data) && data.reason === NO_CALLER;
}

const NO_CALLER = "no-caller";

/** The error of a failure. */
export function toError(failure: Failure, cause?: unknown): McpError {
  return new McpError(failure.code, failure.message, cause === undefined ? failure : { ...failure, cause });
}
