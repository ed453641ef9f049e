import { closedFailure, correlate } from "../codec/send.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import type { Notification } from "../jsonrpc/message.ts";
import { createPeer } from "../jsonrpc/peer.ts";
import type { Connection, Ending, Opening } from "../model/connection.ts";
import { McpError } from "../model/errors.ts";
import { type Handling, type Line, type NegotiateOptions, negotiate, refuse } from "./negotiate.ts";

/** Opens a connection over a channel: finds out what the server speaks, then speaks that. */
export async function openChannel(
  channel: Channel,
  opening: Opening,
  options: NegotiateOptions = {},
): Promise<Connection> {
  const line = createLine(channel, opening);
  const close = (): Promise<void> => line.rpc.close();
  const stop = abortWith(opening.signal, close);
  try {
    const link = await negotiate(line, opening, options);
    return { ...link, ended: line.ended, close };
  } catch (error) {
    await close();
    if (opening.signal?.aborted) throw new McpError("cancelled", "connecting was cancelled", { cause: error });
    throw error;
  } finally {
    stop();
  }
}

type OpenLine = Line & { readonly ended: Promise<Ending> };

function createLine(channel: Channel, opening: Opening): OpenLine {
  let handling: Handling = {
    request: refuse,
    notification: ({ method, params }: Notification) => opening.notified(method, params),
  };
  const rpc = createPeer(
    channel,
    {
      request: (exchange) => handling.request(exchange),
      notification: (notification) => handling.notification(notification),
      correlate,
    },
    { clock: opening.clock, maxInFlight: 0, drainMs: 0 },
  );
  const ended = rpc.run().then((error): Ending => (error === undefined ? undefined : closedFailure(error)));
  const use = (next: Handling): void => {
    handling = next;
  };
  return { rpc, ended, use };
}

function abortWith(signal: AbortSignal | undefined, abort: () => void): () => void {
  if (signal === undefined) return () => {};
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  return () => signal.removeEventListener("abort", abort);
}
