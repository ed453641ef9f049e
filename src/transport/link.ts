import type { PeerHandlers, RpcPeer } from "../jsonrpc/peer.ts";
import type { Connection, Ending, Opening } from "../model/connection.ts";

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
