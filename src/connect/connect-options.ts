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
  /** The revision that the server used at the last connection, if known: its handshake is tried first. */
  readonly revisionHint?: Revision | undefined;
  /**
   * Time limit for connecting, in milliseconds: starting a program, finding its revision, and the handshake. After
   * that, `connect` fails with `timeout`, and a program that was started is ended. Default 30,000; 0 disables the
   * limit.
   */
  readonly connectTimeoutMs?: number | undefined;
  /** How long a server may ignore the modern opening before the older one is tried too. Default 3 s. */
  readonly probeMs?: number | undefined;
  /** Bounds on one message of a server: a line, a body, an event. Default: 16 MiB, 64 levels, 1,048,576 values. */
  readonly limits?: Pick<Limits, "maxMessageBytes" | "maxJsonDepth" | "maxJsonNodes"> | undefined;
  /**
   * Headers for every request to a server at a URL, in addition to those of the protocol: an object, or a function that
   * is called before each request, for example for a token that expires. Headers of the protocol cannot be replaced.
   * Never sent to another origin.
   */
  readonly headers?: HttpClientOptions["headers"];
  /**
   * Authorizes requests to a server at a URL, such as `oauth()` of `plugbay/auth/client`. An `authorization` among the
   * headers takes precedence. Time that users take to sign in does not count for `connectTimeoutMs`.
   */
  readonly auth?: Authorizer | undefined;
  /**
   * False blocks requests from a server URL to private networks and to this machine: for programs that connect to URLs
   * of others. A list names hosts that are allowed nevertheless. On Node, the addresses that a name resolves to are
   * checked; elsewhere, and with `fetch`, only the URL is. Default true.
   */
  readonly allowPrivateNetwork?: boolean | readonly string[] | undefined;
  /**
   * True sends credentials also to an `http:` URL of another machine, where they can be read in transit. Otherwise
   * headers such as `authorization`, and requests for which `auth` has a token, fail there with `invalid-params`.
   * Default false.
   */
  readonly allowInsecureHttp?: boolean | undefined;
  /** Sends the requests to a server at a URL. Default: what the platform does best. */
  readonly fetch?: typeof fetch | undefined;
  /**
   * The authenticated caller for a server in this process, as if its credentials had been checked. For tests.
   * Connecting to any other target with it fails with `unsupported`.
   */
  readonly identity?: Auth | undefined;
  /** Receives every call that is sent: `otel()`, `createMetrics()`, or both in a list. Default: none. */
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

/** Options that were replaced by members of `limits`. */
export const formerConnectOptions: OtherNames = {
  maxLineBytes: "limits.maxMessageBytes",
  maxBodyBytes: "limits.maxMessageBytes",
  jsonLimits: "limits.maxJsonDepth and limits.maxJsonNodes",
};
