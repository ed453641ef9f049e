import type { Channel } from "../jsonrpc/channel.ts";
import type { Service } from "../protocol/service.ts";
import { type ServeChannelOptions, type ServeHandle, serveChannel as serveClient } from "./serve-channel.ts";

/**
 * Serves one client on any two-way flow of messages: a socket, a port of a worker, a transport of your own.
 *
 * Resolves when it serves. Rejects with `invalid-definition` when the server turns out to be defined badly.
 *
 * @example
 * const handle = await serveChannel(shop, channel);
 * await handle.closed; // the client has hung up
 */
export async function serveChannel(
  service: Service,
  channel: Channel,
  options: ServeChannelOptions = {},
): Promise<ServeHandle> {
  const { ready, ended, drain } = serveClient(channel, service, options);
  const closed = ended.then(() => {});
  await ready;
  const close = async (): Promise<void> => {
    await drain();
    await closed;
  };
  return { closed, close, [Symbol.asyncDispose]: close };
}
