import type { ClientOptions } from "../client/client.ts";
import type { JsonLimits } from "../json/parse.ts";
import type { Authorizer } from "../protocol/authorizer.ts";
import type { OptionNames } from "../protocol/option-names.ts";
import type { Implementation } from "../protocol/peer.ts";
import type { Revision } from "../protocol/revision.ts";
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
  /** Bytes of one line of a server on stdio. Default 16 MiB; 0 is off. */
  readonly maxLineBytes?: number | undefined;
  /** Bytes of one JSON body, or of one event of a stream, of a server at a URL. Default 16 MiB; 0 is off. */
  readonly maxBodyBytes?: number | undefined;
  /** Bounds on the JSON of a server. Default: 64 levels, 65,536 elements. */
  readonly jsonLimits?: JsonLimits | undefined;
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
  /** Sends the requests to a server at a URL. Default: what the platform does best. */
  readonly fetch?: typeof fetch | undefined;
  /** Ends the attempt to connect. */
  readonly signal?: AbortSignal | undefined;
}

/** What is not here is refused: it would be ignored. */
export const connectOptionNames: OptionNames<ConnectOptions> = {
  auth: true,
  maxBodyBytes: true,
  jsonLimits: true,
  onWarning: true,
  clock: true,
  info: true,
  revision: true,
  revisionHint: true,
  connectTimeoutMs: true,
  probeMs: true,
  maxLineBytes: true,
  headers: true,
  allowPrivateNetwork: true,
  fetch: true,
  signal: true,
  timeoutMs: true,
  maxTotalMs: true,
  maxOpenRequests: true,
  maxQueuedCalls: true,
  maxRounds: true,
  maxPages: true,
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
