import type { ErrorCode } from "./errors.ts";

/**
 * An event of a server for an audit log: the caller, the operation and its outcome. Plain JSON. It never contains
 * arguments, results, headers, session ids or error messages.
 */
export type ServerEvent = CallEvent | RefusedEvent;

/** What every event says, as far as it is known. */
interface EventFacts {
  /** When it happened, in ISO 8601. */
  readonly time: string;
  /** The same as `ctx.requestId`, and as the id of an internal error. */
  readonly requestId?: string | undefined;
  /** The caller, where it is authenticated. */
  readonly principal?: string | undefined;
  /** The network address of the caller, where it came over HTTP. */
  readonly address?: string | undefined;
  /** The program that calls, as it names itself: unverified. */
  readonly client?: string | undefined;
  readonly revision?: string | undefined;
  readonly method?: string | undefined;
  /** Of the tool or prompt, or the URI of the resource without its query. */
  readonly name?: string | undefined;
  /** Of a gateway: the server that the call is for. */
  readonly server?: string | undefined;
  /** Set by a gateway: the decision of its rules. `rate` rejected the call, `redact` removed parts of its result. */
  readonly decision?: "allow" | "deny" | "approve" | "rate" | "redact" | undefined;
  /** Of a gateway: the rule that said so, where one did. */
  readonly rule?: string | undefined;
  /** Set by a gateway: who approved the call. `the caller` where its own user did. */
  readonly approvedBy?: string | undefined;
  /** Of a gateway: true where its rules refuse nothing yet, so that `decision` is what would have been. */
  readonly isDryRun?: boolean | undefined;
}

/** A call that was answered. */
export interface CallEvent extends EventFacts {
  readonly kind: "call";
  /** `tool-error` is a result with `isError`. */
  readonly outcome: "complete" | "tool-error" | "input-required" | "task" | "failed";
  /** Why it failed. */
  readonly code?: ErrorCode | undefined;
  readonly durationMs: number;
  /** Of the HTTP request, as its header states it. */
  readonly requestBytes?: number | undefined;
  /** Characters of the texts and of the data, in base64, that the result of a tool, resource or prompt has. */
  readonly resultChars?: number | undefined;
}

/** A call, or a request, that was turned down without being answered. */
export interface RefusedEvent extends EventFacts {
  readonly kind: "refused";
  /** Why: `unauthorized`, `forbidden`, `denied`, `limit-reached`, … */
  readonly code: ErrorCode;
  /** The HTTP status, where a transport refused it. */
  readonly status?: number | undefined;
  readonly durationMs?: number | undefined;
}
