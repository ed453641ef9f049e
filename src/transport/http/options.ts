import type { JsonLimits } from "../../json/parse.ts";
import type { Authenticator } from "../../protocol/authenticator.ts";
import type { OptionNames } from "../../protocol/option-names.ts";
import type { NeededAuth } from "../../protocol/peer.ts";
import type { Clock } from "../../std/clock.ts";
import type { Store } from "../../store/store.ts";

/** Something an operator may want to know. No part of a message is in it. */
export interface HttpWarning {
  readonly kind: "client-dropped" | "authenticator-failed" | "claims-refused";
  readonly message: string;
}

/** How a service is served over HTTP. Everything has a safe default. */
export interface HttpOptions {
  /** Where the endpoint is. Default `/mcp` for `serveHttp`; for handlers any path that reaches them. */
  readonly path?: string | undefined;
  /**
   * Names by which clients reach the server, such as `api.example.com`; a port
   * may follow. Default: the names of this machine to itself. `"any"` leaves
   * the check to whatever is in front.
   */
  readonly allowedHosts?: readonly string[] | "any" | undefined;
  /** Origins of web pages that may use the server, such as `https://app.example.com`. Default: its own. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /**
   * Finds out who sends a request, before anything is done about it: one of the
   * helpers of `plugbay/auth/server`, or a function of your own. It has to give
   * the claims that `AuthClaims` names. Default: anybody may use the server.
   */
  readonly auth?: Authenticator<NeededAuth> | undefined;
  /**
   * Whether clients of older revisions get sessions. Without them nothing is
   * kept between requests, and such clients can be asked and told nothing.
   * Default true.
   */
  readonly sessions?: boolean | undefined;
  /**
   * Where sessions are kept, so that every process with the same store can go on
   * with them. Default: the store that the server was given, else in memory. Give
   * it to the server, so that what changes reaches the clients of all processes.
   */
  readonly store?: Store | Promise<Store> | undefined;
  /** Whether older revisions are served at all. Default true. */
  readonly legacy?: boolean | undefined;
  /** Serves the HTTP+SSE transport of 2024-11-05, too: at `/sse` and `/messages`, or where said. Default false. */
  readonly sse?:
    | boolean
    | { readonly path?: string | undefined; readonly messagesPath?: string | undefined }
    | undefined;
  /**
   * How calls are answered: `auto` is plain JSON until there is something to
   * say before the result, `sse` is always a stream. Default `auto`.
   */
  readonly respondWith?: "auto" | "sse" | undefined;
  /** Bytes of one request. Default 4 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** Bounds on its JSON. Default: 64 levels, 65,536 elements. */
  readonly jsonLimits?: JsonLimits | undefined;
  /** Handlers that run at once for modern clients together, and for each session. Default 256; 0 is off. */
  readonly maxConcurrent?: number | undefined;
  /** Modern calls that wait. One more is refused with 503. Default 1024; 0 is off. */
  readonly maxQueued?: number | undefined;
  /** Requests of one session that may be unanswered. Default 1024; 0 is off. */
  readonly maxOpen?: number | undefined;
  /** Sessions at one time. One more is refused with 429. Default 10,000. */
  readonly maxSessions?: number | undefined;
  /** Streams of one session that only wait for news. One more is refused with 429. Default 4. */
  readonly maxStreams?: number | undefined;
  /** Subscriptions of modern clients at one time. One more is refused with 503. Default 10,000. */
  readonly maxListeners?: number | undefined;
  /** How long a session lives without a request, a running call or an open stream. Default 30 min. */
  readonly sessionTtlMs?: number | undefined;
  /** Events kept for each session, for clients whose connection breaks. Default 256; more while they are seconds old. */
  readonly replayEvents?: number | undefined;
  /** Characters of those events. Default 1 Mi. */
  readonly replayChars?: number | undefined;
  /** When clients of 2025-11-25 should come back after a stream ended early. Default 1 s. */
  readonly retryMs?: number | undefined;
  /** Bytes a client may leave unread on one stream before it is cut off. Default 4 MiB; 0 is off. */
  readonly maxQueuedBytes?: number | undefined;
  /**
   * How often silent streams show that they are alive; in sessions, what takes longer
   * becomes a stream. A client that reads nothing for three times as long is cut off. Default 15 s; 0 is off.
   */
  readonly keepAliveMs?: number | undefined;
  /** How long a legacy client may take to answer a question. Default 5 min. */
  readonly askTimeoutMs?: number | undefined;
  /** How long open calls may go on when the server is closed. Default 5 s. */
  readonly drainMs?: number | undefined;
  /** Hears of clients that were cut off, of an `auth` that failed, and of claims that do not fit. */
  readonly onWarning?: ((warning: HttpWarning) => void) | undefined;
  readonly clock?: Clock | undefined;
}

/** By another name, `auth` or `allowedHosts` would leave a server unprotected: what is not here is refused. */
export const httpOptionNames: OptionNames<HttpOptions> = {
  path: true,
  allowedHosts: true,
  allowedOrigins: true,
  auth: true,
  sessions: true,
  store: true,
  legacy: true,
  sse: true,
  respondWith: true,
  maxBodyBytes: true,
  jsonLimits: true,
  maxConcurrent: true,
  maxQueued: true,
  maxOpen: true,
  maxSessions: true,
  maxStreams: true,
  maxListeners: true,
  sessionTtlMs: true,
  replayEvents: true,
  replayChars: true,
  retryMs: true,
  maxQueuedBytes: true,
  keepAliveMs: true,
  askTimeoutMs: true,
  drainMs: true,
  onWarning: true,
  clock: true,
};
