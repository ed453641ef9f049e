import type { ClientOptions } from "../client/client.ts";
import type { Authorizer } from "../protocol/authorizer.ts";
import type { Limits } from "../protocol/limits.ts";
import type { OptionNames, OtherNames } from "../protocol/option-names.ts";
import type { Auth, Implementation } from "../protocol/peer.ts";
import type { Revision } from "../protocol/revision.ts";
import type { Telemetry } from "../protocol/telemetry.ts";
import type { OrUndefined } from "../std/defined.ts";
import type { HttpClientOptions } from "../transport/http/client/open-http.ts";

export interface ConnectOptions extends ClientOptions {
  /** What the client says of itself. Default: this package. */
  readonly info?: OrUndefined<Implementation> | undefined;
  /** The revision to speak. Default: the newest both sides know. */
  readonly revision?: Revision | undefined;
  /** The revision that the server spoke last time, if that is known: its opening is tried first. */
  readonly revisionHint?: Revision | undefined;
  /**
   * How long connecting may take, with all its steps: to start a program, to find out what the server speaks, and to
   * greet it. Then it fails with `timeout`, and what was started is ended. Default 30 s; 0 is off.
   */
  readonly connectTimeoutMs?: number | undefined;
  /** How long a server may ignore the modern opening before the older one is tried too. Default 3 s. */
  readonly probeMs?: number | undefined;
  /** Bounds on one message of a server: a line, a body, an event. Default: 16 MiB, 64 levels, 1,048,576 values. */
  readonly limits?: Pick<Limits, "maxMessageBytes" | "maxJsonDepth" | "maxJsonNodes"> | undefined;
  /**
   * Sent with every request to a server at a URL, beside what the protocol
   * wants: an object, or a function that is asked before each request, such as
   * for a token that has to be renewed. Headers of the protocol cannot be
   * replaced. Never sent to another origin.
   */
  readonly headers?: HttpClientOptions["headers"];
  /**
   * Shows a server at a URL who the client is, such as `oauth()` of
   * `plugbay/auth/client`. An `authorization` among the headers wins. Time that
   * users take to sign in does not count for `connectTimeoutMs`.
   */
  readonly auth?: Authorizer | undefined;
  /**
   * False keeps requests to a server at a URL away from private networks and from
   * this machine: for programs that connect to URLs of others. A list names hosts
   * that are allowed nevertheless. On Node the addresses that a name resolves to
   * are checked; elsewhere, and with `fetch`, only what the URL tells. Default true.
   */
  readonly allowPrivateNetwork?: boolean | readonly string[] | undefined;
  /**
   * True sends credentials also to an `http:` URL of another machine, where everybody on the way can read them. Otherwise
   * headers such as `authorization`, and requests for which `auth` has a token, fail there with `invalid-params`. Default false.
   */
  readonly allowInsecureHttp?: boolean | undefined;
  /** Sends the requests to a server at a URL. Default: what the platform does best. */
  readonly fetch?: typeof fetch | undefined;
  /**
   * Who calls, for a server in this process: it is as if somebody had checked. For tests. Connecting to anything else
   * with it fails with `unsupported`.
   */
  readonly identity?: Auth | undefined;
  /** Hears of every call that is sent: `otel()`, `createMetrics()`, or both in a list. Default: nobody. */
  readonly telemetry?: Telemetry | readonly Telemetry[] | undefined;
  /** Ends the attempt to connect. */
  readonly signal?: AbortSignal | undefined;
}

/** What is not here is refused: it would be ignored. */
export const connectOptionNames: OptionNames<ConnectOptions> = {
  auth: true,
  limits: true,
  onWarning: true,
  clock: true,
  info: true,
  revision: true,
  revisionHint: true,
  connectTimeoutMs: true,
  probeMs: true,
  headers: true,
  allowPrivateNetwork: true,
  allowInsecureHttp: true,
  fetch: true,
  identity: true,
  telemetry: true,
  signal: true,
  timeoutMs: true,
  maxTotalMs: true,
  maxOpenRequests: true,
  maxQueuedCalls: true,
  maxRounds: true,
  maxPages: true,
  maxListBytes: true,
  cache: true,
  checkOutput: true,
  logLevel: true,
  pingIntervalMs: true,
  onElicit: true,
  onElicitUrl: true,
  onSample: true,
  roots: true,
  onRequest: true,
  tasks: true,
  capabilities: true,
  onNotification: true,
  onLog: true,
};

/** Where limits are that had options of their own. */
export const formerConnectOptions: OtherNames = {
  maxLineBytes: "limits.maxMessageBytes",
  maxBodyBytes: "limits.maxMessageBytes",
  jsonLimits: "limits.maxJsonDepth and limits.maxJsonNodes",
};
