import type { Authenticator } from "../../protocol/authenticator.ts";
import type { Budgets } from "../../protocol/budget.ts";
import type { Limits } from "../../protocol/limits.ts";
import type { OptionNames, OtherNames } from "../../protocol/option-names.ts";
import type { NeededAuth } from "../../protocol/peer.ts";
import type { ServerEvent } from "../../protocol/server-event.ts";
import type { Clock } from "../../std/clock.ts";
import type { Store } from "../../store/store.ts";

/** Something an operator may want to know. No part of a message is in it. */
export interface HttpWarning {
  readonly kind:
    | "client-dropped"
    | "authenticator-failed"
    | "claims-refused"
    | "limit-reached"
    | "check-failed"
    | "route-failed";
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
  /** Bounds on one message and one stream, by name. What is left out has its default. */
  readonly limits?: Limits | undefined;
  /**
   * What may be held at a time for one connection or session, for one principal (or address, where nobody is identified)
   * and by this process. What is left out has its default; 0 switches a limit off.
   */
  readonly budgets?: Budgets | undefined;
  /**
   * Whether a proxy in front says who calls: the last entry of `X-Forwarded-For` is the address that budgets are counted
   * for. Default false, because without such a proxy clients could name any address.
   */
  readonly trustProxy?: boolean | undefined;
  /** How long a session lives without a request, a running call or an open stream. Default 30 min. */
  readonly sessionTtlMs?: number | undefined;
  /** When clients of 2025-11-25 should come back after a stream ended early. Default 1 s. */
  readonly retryMs?: number | undefined;
  /**
   * How often silent streams show that they are alive; in sessions, what takes longer
   * becomes a stream. A client that reads nothing for three times as long is cut off. Default 15 s; 0 is off.
   */
  readonly keepAliveMs?: number | undefined;
  /** How long open calls may go on when the server is closed. Default 5 s. */
  readonly drainMs?: number | undefined;
  /**
   * Hears of clients that were cut off, of an `auth` that failed, of claims that do not fit, of checks of health that begin to fail, and of limits
   * that were reached: of those at most once a second for the same principal or address.
   */
  readonly onWarning?: ((warning: HttpWarning) => void) | undefined;
  /**
   * Hears of every request that is turned down before a call is made of it: 401, 403, 413, 429, and 503 while the server is
   * closing. For an audit, with what `onEvent` of the server tells of calls. Default: that of the server.
   */
  readonly onEvent?: ((event: ServerEvent) => void) | undefined;
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
  limits: true,
  budgets: true,
  trustProxy: true,
  sessionTtlMs: true,
  retryMs: true,
  keepAliveMs: true,
  drainMs: true,
  onWarning: true,
  onEvent: true,
  clock: true,
};

/** Where an option is now that was one of serving. */
export const movedOptions: OtherNames = { askTimeoutMs: "askTimeoutMs of createServer" };

/** Where limits are that had options of their own. */
export const formerHttpOptions: OtherNames = {
  maxBodyBytes: "limits.maxMessageBytes",
  jsonLimits: "limits.maxJsonDepth and limits.maxJsonNodes",
  maxConcurrent: "budgets.principal.maxRunningCalls",
  maxQueued: "budgets.principal.maxQueuedCalls",
  maxOpen: "budgets.connection.maxOpenRequests",
  maxSessions: "budgets.process.maxSessions",
  maxStreams: "budgets.connection.maxStreams",
  maxListeners: "budgets.process.maxStreams",
  replayEvents: "limits.maxReplayEvents",
  replayChars: "limits.maxReplayBytes",
  maxQueuedBytes: "limits.maxUnreadBytes",
};
