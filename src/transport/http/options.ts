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
   * Authenticates requests before anything else: one of the helpers of `plugbay/auth/server`, or a function of your
   * own. It must return the claims that `AuthClaims` names. Default: no authentication.
   */
  readonly auth?: Authenticator<NeededAuth> | undefined;
  /**
   * Whether clients of older revisions get sessions. Without them nothing is retained between requests, and such
   * clients can be neither asked nor notified. Default true.
   */
  readonly sessions?: boolean | undefined;
  /**
   * The store of sessions, so that every process with the same store can continue them. Default: the store of the
   * server, else in memory. Set it on the server, so that changes reach the clients of all processes.
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
   * Limits of one connection or session, of one principal (or address, for anonymous callers) and of this process. What
   * is left out has its default; 0 disables a limit.
   */
  readonly budgets?: Budgets | undefined;
  /**
   * Whether a proxy in front adds the client address: the last entry of `X-Forwarded-For` is the address that budgets
   * are counted for. Default false, because without such a proxy clients could state any address.
   */
  readonly trustProxy?: boolean | undefined;
  /**
   * How long a session lives without a request, a running call or an open stream. Default 30 min. A client that has not sent
   * `notifications/initialized` a minute after it opened a session loses it. 0: sessions do not end by themselves.
   */
  readonly sessionTtlMs?: number | undefined;
  /** When clients of 2025-11-25 should reconnect after a stream ended early, in milliseconds. Default 1000. */
  readonly retryMs?: number | undefined;
  /**
   * How often silent streams show that they are alive; in sessions, what takes longer
   * becomes a stream. A client that reads nothing for three times as long is cut off. Default 15 s; 0 is off.
   */
  readonly keepAliveMs?: number | undefined;
  /** How long open calls may continue when the server is closed, in milliseconds. Default 5000. */
  readonly drainMs?: number | undefined;
  /**
   * Called with warnings: clients that were cut off, an `auth` that failed, invalid claims, health checks that begin to
   * fail, and limits that were reached, at most once a second for the same principal or address.
   */
  readonly onWarning?: ((warning: HttpWarning) => void) | undefined;
  /**
   * Called with every request that is rejected before it becomes a call: 401, 403, 413, 429, and 503 while the server
   * is closing. For an audit log, together with `onEvent` of the server. Default: that of the server.
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
