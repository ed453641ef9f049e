import type { LazyAbort } from "../../std/lazy-abort.ts";

/** One HTTP request of ours, as plain values. Header names are lower case. */
export interface OutgoingRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The answer to it. Read it or let go of it, or its connection cannot be used again. */
export interface IncomingResponse {
  readonly status: number;
  header(name: string): string | undefined;
  /** The whole body. Rejects when it is longer than `maxBytes` or breaks off. */
  text(maxBytes: number): Promise<string>;
  /**
   * The body as it arrives. `take` may return a promise to be given no more for
   * now. Resolves at the end, rejects when the connection breaks.
   */
  read(take: (chunk: Uint8Array) => Promise<void> | undefined): Promise<void>;
  /** Lets go of the body. Idempotent. */
  discard(): void;
}

/**
 * Sends one HTTP request: the platform's part of the client.
 *
 * Follows no redirect. Aborting ends the request, and the reading of its answer.
 * Rejects when there is no answer.
 */
export type HttpSend = (request: OutgoingRequest, abort: LazyAbort) => Promise<IncomingResponse>;
