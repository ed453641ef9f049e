import type { Channel } from "../jsonrpc/channel.ts";
import type { Service } from "../protocol/service.ts";
import { readBounds } from "./read-bounds.ts";
import {
  type ServeChannelOptions,
  type ServeHandle,
  serveChannelOptionNames,
  serveChannel as serveClient,
} from "./serve-channel.ts";

/**
 * Serves one client on any two-way flow of messages: a socket, a port of a worker, a transport of your own.
 *
 * Resolves when it serves. Rejects with `invalid-definition` when the server turns out to be defined badly.
 *
 * @example
 * const handle = await serveChannel(shop, channel);
 * await handle.closed; // the client has disconnected
 */
export async function serveChannel(
  service: Service,
  channel: Channel,
  options: ServeChannelOptions = {},
): Promise<ServeHandle> {
  const bounds = await readBounds("serveChannel", options, serveChannelOptionNames);
  const { ready, ended, drain } = serveClient(channel, service, { ...options, bounds });
  const closed = ended.then(() => {});
  await ready;
  const close = async (): Promise<void> => {
    await drain();
    await closed;
  };
  return { closed, close, [Symbol.asyncDispose]: close };
}
