import type { Id, Incoming, Malformed, Message } from "../../../jsonrpc/message.ts";
import type { LazyAbort } from "../../../std/lazy-abort.ts";
import type { IncomingResponse } from "../http-send.ts";
import { type HttpParts, postHeaders } from "./parts.ts";
import type { Pending, Settlement } from "./pending.ts";
import { type HttpSession, sessionHeaders } from "./session.ts";

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

export function post(
  { endpoint }: HttpParts,
  session: HttpSession,
  body: string,
  abort: LazyAbort,
): Promise<IncomingResponse> {
  return endpoint.send({ method: "POST", headers: { ...postHeaders, ...sessionHeaders(session) }, body }, abort);
}

export function getStream(
  { endpoint }: HttpParts,
  session: HttpSession,
  lastEventId: string,
  abort: LazyAbort,
): Promise<IncomingResponse> {
  const after = lastEventId === "" ? {} : { "last-event-id": lastEventId };
  const headers = { accept: "text/event-stream", ...sessionHeaders(session), ...after };
  return endpoint.send({ method: "GET", headers }, abort);
}

/** Statuses that may be another one in a moment: 409 until the server notices that the last connection is broken. */
export function isTransient(status: number): boolean {
  return [408, 409, 425, 429].includes(status) || (status >= 500 && status !== 501);
}
