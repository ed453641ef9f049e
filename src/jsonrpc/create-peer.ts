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

/** Creates a peer that can send requests as well as answer them. */
export function createPeer(channel: Channel, handlers: PeerHandlers, options: PeerOptions & PeerParts = {}): RpcPeer {
  const peer = createAnsweringPeer(channel, handlers, options);
  // A peer that continues another one must recognize, and drop, late notifications for the requests of that peer.
  if (options.firstId !== undefined) peer.outbound(createOutbound);
  return withRequests(peer);
}

/** Adds `request` to an answering peer. Its outbound half is created with the first request. */
export function withRequests(peer: AnsweringPeer): RpcPeer {
  return {
    ...peer,
    request: (method, params, options) => peer.outbound(createOutbound).request(method, params, options),
  };
}
