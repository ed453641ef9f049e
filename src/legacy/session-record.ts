import type { LogLevel } from "../model/logging.ts";
import type { Peer, ServerCapabilities } from "../model/peer.ts";

/**
 * What there is to know of a session in which nothing is going on: plain data,
 * from which it can go on later, or elsewhere.
 */
export interface SessionRecord {
  /** The client, as it introduced itself. */
  readonly peer: Peer;
  /** What the client was told of the server. */
  readonly capabilities: ServerCapabilities;
  /** True once the client has said that it is ready. */
  readonly ready: boolean;
  readonly logLevel: LogLevel | undefined;
  /** The URIs of the resources it subscribed to. */
  readonly subscriptions: readonly string[];
  /** The id of the next question. No id is used twice. */
  readonly nextId: number;
}
