import type { Reply } from "../jsonrpc/outbound.ts";
import type { PeerHandlers, RpcPeer } from "../jsonrpc/peer.ts";
import type { Connection, Ending, Opening } from "../model/connection.ts";
import { McpError } from "../model/errors.ts";
import type { DiscoverResult } from "../model/methods.ts";
import { isLegacy, type LegacyRevision, type Revision, revisions } from "../model/revision.ts";

/** Who hears what the server says. */
export type Handling = Required<Pick<PeerHandlers, "request" | "notification" | "correlate" | "acceptsBatches">>;

/** A client's end of a channel, while it is being found out who is on the other end. */
export interface Line {
  readonly rpc: RpcPeer;
  readonly opening: Opening;
  /** Resolves when the channel is over. Never rejects. */
  readonly ended: Promise<Ending>;
  /** Replaces who hears what the server says. */
  use(handling: Handling): void;
}

/** A connection but for how it ends. */
export type Link = Omit<Connection, "ended" | "close">;

/** The steps by which a client finds out what a server speaks, over whatever carries them. */
export interface Negotiation {
  readonly opening: Opening;
  /** Asks the server what it is. Never rejects, and never cancelled on the wire. */
  discover(): Promise<Reply>;
  /** Speaks the newest revision. */
  connectModern(server: DiscoverResult): Link;
  /** Opens the handshake of an older revision. Rejects when the server refuses, or speaks what this client does not. */
  initialize(revision: LegacyRevision): Promise<Initialized>;
  /** Resolves when the connection is over. Never rejects. */
  readonly ended: Promise<Ending>;
  /** Idempotent, never rejects. */
  close(): Promise<void>;
}

/** A server of an older revision that has answered `initialize`. */
export interface Initialized {
  /** Completes the handshake. */
  connect(): Link;
}

/** The error of a server that speaks nothing we may speak with it. */
export function unsupported(supported: readonly string[], wanted: Revision | undefined): McpError {
  const why = wanted === undefined ? "which this client does not" : `and ${wanted} was asked for`;
  const message = `the server speaks ${supported.join(", ") || "no revision"}, ${why}`;
  return new McpError("unsupported-revision", message, { data: { supported } });
}

/** The newest of these that opens with a handshake. */
export function newestLegacyOf(supported: readonly unknown[]): LegacyRevision | undefined {
  return revisions.filter(isLegacy).findLast((revision) => supported.includes(revision));
}
