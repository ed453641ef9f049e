import type { Channel } from "./channel.ts";
import { createOutbound } from "./outbound.ts";
import {
  type AnsweringPeer,
  createAnsweringPeer,
  type PeerHandlers,
  type PeerOptions,
  type PeerParts,
  type RpcPeer,
} from "./peer.ts";

export function createPeer(channel: Channel, handlers: PeerHandlers, options: PeerOptions & PeerParts = {}): RpcPeer {
  const peer = createAnsweringPeer(channel, handlers, options);
  // Who takes over from another peer drops what is told about the requests of that one.
  if (options.firstId !== undefined) peer.outbound(createOutbound);
  return withRequests(peer);
}

/** The same peer, with what sends requests. */
export function withRequests(peer: AnsweringPeer): RpcPeer {
  return { ...peer, request: (method, params, how) => peer.outbound(createOutbound).request(method, params, how) };
}
