import { type HttpAnswer, type HttpHeaders, refusal } from "./http-message.ts";

/** Where the answer to one HTTP request goes: all at once, or as a stream of events. */
export interface HttpReply {
  /** Answers whole, in one write. */
  send(status: number, headers: HttpHeaders, body: string): void;
  /** Answers with a stream. */
  open(headers: HttpHeaders): EventSink;
  /** Hears once that the client is gone before its answer was complete. */
  onGone(listener: () => void): void;
}

/** The writing end of a stream of events. What is written after the end, or to a client that is gone, is lost. */
export interface EventSink {
  /** A promise means that the client is slow: it resolves when the client has caught up, or is gone. */
  write(text: string): Promise<void> | undefined;
  /** Ends the stream after what was written. Idempotent. */
  end(text?: string): void;
  /** Cuts the connection. */
  destroy(): void;
  /** Bytes that the system has not taken yet. */
  readonly backlog: number;
}

/** The head of every stream of events. Proxies must hand on what comes, when it comes. */
export const streamHeaders: HttpHeaders = Object.freeze({
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
});

export const jsonHeaders: HttpHeaders = Object.freeze({ "content-type": "application/json" });

/** Sends an answer that is known whole. */
export function sendAnswer(reply: HttpReply, { status, headers, body }: HttpAnswer): void {
  reply.send(status, headers, body);
}

/** Refuses a request because too many wait already. */
export function refuseBusy(reply: HttpReply): void {
  sendAnswer(reply, refusal(503, "the server is busy", { "retry-after": "1" }));
}
