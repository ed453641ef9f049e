import type { JsonObject } from "../../json/json.ts";
import {
  type Id,
  type Incoming,
  isId,
  type Malformed,
  type Message,
  type Notification,
  type Request,
  type Response,
} from "../../jsonrpc/message.ts";
import { McpError } from "../../protocol/errors.ts";
import type { MessageLimits } from "../../protocol/limits.ts";
import type { Clock } from "../../std/clock.ts";
import type { Deadlines } from "../../std/deadlines.ts";
import { IdTable } from "../../std/id-table.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import { type Endpoint, type Headers, postHeaders } from "../../transport/http/client/http-endpoint.ts";
import type { Lingering } from "../../transport/http/client/read-response.ts";
import type { HttpWarn } from "../../transport/http/client/tool-headers.ts";
import type { IncomingResponse } from "../../transport/http/http-message.ts";
import type { Inbox } from "./inbox.ts";

/** What every way to speak over HTTP works with. */
export interface HttpParts {
  readonly endpoint: Endpoint;
  readonly inbox: Inbox;
  readonly limits: MessageLimits;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly lingering: Lingering;
  readonly warn: HttpWarn;
  /** Between 0 and 1. */
  random(): number;
  /** For messages without a response: a notification, the end of a session. */
  readonly timeoutMs: number;
  /** Called with the status of each response. */
  answered(method: string, status: number): void;
}

/** One way to speak over HTTP. */
export interface MessageSender {
  /** Sends in the background. Throws, having sent nothing, when the message is no JSON. */
  send(message: Message): void;
  /** Ends everything that is under way. Never rejects. */
  close(): Promise<void>;
}

/** The session id and revision for the headers of every request. Another object is another session. */
export interface HttpSession {
  /** Absent when the server keeps none, or nothing is agreed yet. */
  readonly id?: string;
  readonly version?: string;
}

/** The session that a successful `initialize` opened, or `invalid-response` when its id cannot be sent back. */
export function sessionOf(response: IncomingResponse, { protocolVersion }: JsonObject): HttpSession | McpError {
  const id = response.header("mcp-session-id");
  if (id !== undefined && !/^[\x21-\x7e]+$/.test(id)) {
    return new McpError(
      "invalid-response",
      "the Mcp-Session-Id of the server has characters other than visible ASCII, and cannot be sent back",
    );
  }
  return {
    ...(id !== undefined && { id }),
    ...(typeof protocolVersion === "string" && /^[\x21-\x7e]+$/.test(protocolVersion) && { version: protocolVersion }),
  };
}

function sessionHeaders({ id, version }: HttpSession): Readonly<Record<string, string>> {
  const said = version !== undefined && version >= firstWithHeader ? version : undefined;
  if (id === undefined) return said === undefined ? {} : { "mcp-protocol-version": said };
  return said === undefined ? { "mcp-session-id": id } : { "mcp-session-id": id, "mcp-protocol-version": said };
}

/** Servers take the absence of the header for an older revision, and some do not take the header for one. */
const firstWithHeader = "2025-06-18";

/** How long a server may take to end a session when we leave. */
const endSessionTimeoutMs = 1_000;

/** Ends a session at the server, which may ignore it. Never rejects. */
export async function endSession(session: HttpSession, { endpoint, clock }: HttpParts): Promise<void> {
  if (session.id === undefined) return;
  const abort = new LazyAbort();
  const stop = clock.after(endSessionTimeoutMs, () => abort.abort("timeout"));
  try {
    (await endpoint.send({ method: "DELETE", headers: sessionHeaders(session) }, abort)).discard();
  } catch {
    // It ends by itself some day.
  }
  stop();
}

/** How a request ended. */
export type Settlement = Response | McpError;

/** A request on its way. */
export interface Pending {
  readonly request: Request;
  readonly body: string;
  readonly abort: LazyAbort;
  /** The head of the answer, as soon as there is one. */
  head: IncomingResponse | undefined;
  /** True once it goes out. */
  started: boolean;
  /** True once it was answered, failed or given up. */
  over: boolean;
  /** Converts the end of a request to a message. */
  readonly report: (outcome: Settlement, head: IncomingResponse | undefined) => readonly Incoming[];
}

/** The requests of a session that are not over. */
export interface PendingRequests {
  add(request: Request, body: string, report?: Pending["report"]): Pending;
  get(id: unknown): Pending | undefined;
  /** Ends a request and returns the message for it: none when it was over. */
  settle(pending: Pending, outcome: Settlement): readonly Incoming[];
  /** Handles a message: ends the request that it answers. */
  sort(message: Message | Malformed, about: Id | undefined): readonly Incoming[];
  /** Ends a request that was cancelled. */
  giveUp(pending: Pending): void;
  /** Ends all requests, and aborts their POSTs. */
  close(): void;
}

export function createPendingRequests(): PendingRequests {
  const open = new IdTable<Pending>();

  const settle: PendingRequests["settle"] = (pending, outcome) => {
    if (pending.over) return [];
    pending.over = true;
    open.take(pending.request.id);
    return pending.report(outcome, pending.head);
  };

  return {
    add(request, body, report = reporting(request.id)) {
      const pending: Pending = {
        request,
        body,
        abort: new LazyAbort(),
        head: undefined,
        started: false,
        over: false,
        report,
      };
      open.add(request.id, pending);
      return pending;
    },
    get: (id) => (isId(id) ? open.get(id) : undefined),
    settle,
    sort(message, about) {
      if (message.kind === "notification") return [aboutCall(message, about)];
      if (message.kind === "request") return [about === undefined ? message : { ...message, relatedRequestId: about }];
      const pending = message.id === null ? undefined : open.get(message.id);
      if (pending === undefined || (message.kind === "malformed" && message.answerable)) return [message];
      return settle(pending, message.kind === "malformed" ? broken(pending, message) : message);
    },
    giveUp(pending) {
      pending.over = true;
      open.take(pending.request.id);
    },
    close() {
      for (const pending of open.clear()) {
        pending.over = true;
        pending.abort.abort("closed");
      }
    },
  };
}

/** The callback for the end of a request. */
export function reporting(id: Id): (outcome: Settlement) => readonly Incoming[] {
  return (outcome) => [outcome instanceof McpError ? { kind: "undelivered", id, cause: outcome } : outcome];
}

/**
 * Which call a notification is for, as far as its stream tells: that of a log message.
 * Changes are announced on any stream, for everybody, and progress has a token.
 */
function aboutCall(notification: Notification, about: Id | undefined): Notification {
  return about !== undefined && notification.method === "notifications/message"
    ? { ...notification, relatedRequestId: about }
    : notification;
}

function broken({ request }: Pending, { error }: Malformed): McpError {
  return new McpError("invalid-response", `the response to ${request.method} is malformed: ${error.message}`);
}

/** What the parts of a legacy speaker share. */
export interface LegacyContext {
  readonly parts: HttpParts;
  /** Replaced when it is renewed. */
  session: HttpSession;
  /** True once nothing may be opened any more. */
  closed: boolean;
  /** Puts messages into the inbox, if there are any. */
  put(messages: readonly Incoming[]): Promise<void> | undefined;
  /** Ends a request, unless it is over. */
  settle(pending: Pending, outcome: Settlement): void;
  /** Takes what a stream brings: ends the requests that it answers and puts everything into the inbox, in order. */
  route(messages: readonly (Message | Malformed)[], about?: Id): Promise<void> | undefined;
  /** Opens a new session in place of one that the server has lost. Rejects with an `McpError` when it cannot. */
  renew(lost: HttpSession): Promise<void>;
}

/** `own` are headers of the call that it is sent for. */
export function post(
  { endpoint }: HttpParts,
  session: HttpSession,
  { body, own }: { readonly body: string; readonly own?: Headers | undefined },
  abort: LazyAbort,
): Promise<IncomingResponse> {
  return endpoint.send({ method: "POST", headers: { ...postHeaders, ...sessionHeaders(session) }, body, own }, abort);
}

/** `own` are headers of the call that it is asked for. */
export function getStream(
  { endpoint }: HttpParts,
  session: HttpSession,
  { lastEventId, own }: { readonly lastEventId: string; readonly own?: Headers | undefined },
  abort: LazyAbort,
): Promise<IncomingResponse> {
  const after = lastEventId === "" ? {} : { "last-event-id": lastEventId };
  const headers = { accept: "text/event-stream", ...sessionHeaders(session), ...after };
  return endpoint.send({ method: "GET", headers, own }, abort);
}

/** Statuses that may be another one in a moment: 409 until the server notices that the last connection is broken. */
export function isTransient(status: number): boolean {
  return [408, 409, 425, 429].includes(status) || (status >= 500 && status !== 501);
}
