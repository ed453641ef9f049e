import type { Json } from "../json/json.ts";
import { type ErrorCode, type Failure, isCallerMissing, McpError, toFailure } from "../protocol/errors.ts";
import { type CallOf, createRequestId, requestIdOf } from "../protocol/service.ts";

/** Where an internal error happened. */
export interface ErrorSource {
  /**
   * The id in the message to the peer, which identifies this report: the `ctx.requestId` of the call, where there is
   * one.
   */
  readonly id: string;
  readonly method: string;
  /** Of the tool, prompt or resource. */
  readonly name?: string;
}

/** Called with every internal error, in full. */
export type ErrorHook = (error: unknown, place: ErrorSource) => void;

/** Turns what handlers throw into what a peer may know. */
export interface ErrorReporter {
  /** A failure that is safe to send. An internal error is masked and reported, with the id of the call. */
  failureOf(error: unknown, method: string, name?: string, call?: CallOf): Failure;
}

/** Errors that authors throw for the peer to see. All others are internal. */
const exposedCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "invalid-request",
  "method-not-found",
  "invalid-params",
  "internal",
  "resource-not-found",
  "missing-capability",
  "url-elicitation-required",
  "rejected",
  "application",
  "timeout",
  "forbidden",
  "denied",
]);

/** With `exposed`, the message to the peer ends with the error and its stack. */
export function createErrorReporter(hook: ErrorHook = report, exposed = false): ErrorReporter {
  return {
    failureOf(error, method, name, call) {
      if (error instanceof McpError && (exposedCodes.has(error.code) || isCallerMissing(error)))
        return toFailure(error);
      if (error instanceof McpError && isForReader(error)) return { ...toFailure(error), code: "internal" };
      const id = call === undefined ? createRequestId() : requestIdOf(call);
      callHook(hook, error, { id, method, ...(name !== undefined && { name }) });
      const message = `internal error, id ${id}${exposed ? `: ${textOf(error)}` : ""}`;
      return { code: "internal", message, data: { id } satisfies Json };
    },
  };
}

/** The stack, which begins with the message. Without one, the error as a string. */
function textOf(error: unknown): string {
  return (error instanceof Error && error.stack) || String(error);
}

/** True for errors whose text is meant for the model or the user. */
export function isForReader(error: McpError): boolean {
  return error.code === "tool-error" || error.code === "declined";
}

/** True for errors that only state that the work was aborted. */
export function isAbort(error: unknown): boolean {
  if (error instanceof McpError) return error.code === "cancelled" || error.code === "connection-closed";
  return error instanceof Error && error.name === "AbortError";
}

/** A hook that throws must not hide the error. */
function callHook(hook: ErrorHook, error: unknown, place: ErrorSource): void {
  try {
    hook(error, place);
  } catch (thrown) {
    report(thrown, place);
  }
}

function report(error: unknown, { id, method, name }: ErrorSource): void {
  console.error(`plugbay: internal error ${id} in ${method}${name === undefined ? "" : ` ${name}`}:`, error);
}
