import { closedFailure, correlate } from "../codec/send.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import type { Exchange } from "../jsonrpc/inbound.ts";
import { rpcCodes } from "../jsonrpc/message.ts";
import { createPeer } from "../jsonrpc/peer.ts";
import type { Connection, Ending, Opening } from "../model/connection.ts";
import { McpError } from "../model/errors.ts";
import type { Handling, Line } from "./link.ts";
import { type NegotiateOptions, negotiate } from "./negotiate.ts";

/** Opens a connection over a channel: finds out what the server speaks, then speaks that. */
export async function openChannel(
  channel: Channel,
  opening: Opening,
  options: NegotiateOptions = {},
): Promise<Connection> {
  const { line, close } = createLine(channel, opening);
  const stop = onAbort(opening.signal, close);
  try {
    const link = await negotiate(line, options);
    return { ...link, ended: line.ended, close };
  } catch (error) {
    await close();
    if (opening.signal?.aborted) throw new McpError("cancelled", "connecting was cancelled", { cause: error });
    throw error;
  } finally {
    stop();
  }
}

function createLine(channel: Channel, opening: Opening): { readonly line: Line; close(): Promise<void> } {
  let closedHere = false;
  let handling: Handling = {
    request: refuseEarly,
    notification: ({ method, params }) => opening.notified(method, params),
    correlate,
    acceptsBatches: () => false,
  };
  const rpc = createPeer(
    unhurried(channel),
    {
      request: (exchange) => handling.request(exchange),
      notification: (notification) => handling.notification(notification),
      correlate: (notification) => handling.correlate(notification),
      acceptsBatches: () => handling.acceptsBatches(),
    },
    { clock: opening.clock, maxInFlight: 0, drainMs: 0, answerUnreadable: false },
  );
  const ended = rpc.run().then((error): Ending => (closedHere ? undefined : closedFailure(error)));

  return {
    line: {
      rpc,
      opening,
      ended,
      use(next) {
        handling = next;
      },
    },
    close() {
      closedHere = true;
      return rpc.close();
    },
  };
}

/** Who waits for a slow server to read does not read what that server may be waiting to write. */
function unhurried(channel: Channel): Channel {
  return {
    incoming: channel.incoming,
    send(message) {
      channel.send(message);
      return undefined;
    },
    close: () => channel.close(),
  };
}

/** Before anything is agreed, a server may only find out whether we are there. */
function refuseEarly(exchange: Exchange): undefined {
  const { method } = exchange.request;
  if (method === "ping") exchange.succeed({});
  else exchange.fail({ code: rpcCodes.methodNotFound, message: `unknown method ${method}` });
}

function onAbort(signal: AbortSignal | undefined, abort: () => void): () => void {
  if (signal === undefined) return () => {};
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  return () => signal.removeEventListener("abort", abort);
}
