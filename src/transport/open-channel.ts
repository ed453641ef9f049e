import type { Channel } from "../jsonrpc/channel.ts";
import { createPeer } from "../jsonrpc/create-peer.ts";
import type { IncomingRequest } from "../jsonrpc/inbound.ts";
import { modernClient, modernClientOf } from "../protocol/codec/client-codec.ts";
import type { Connection, Ending, OpenConnection, Opening } from "../protocol/connection.ts";
import { McpError } from "../protocol/errors.ts";
import { type DiscoverResult, methodRow } from "../protocol/methods.ts";
import { newest } from "../protocol/revision.ts";
import type { Call, Outcome, Service } from "../protocol/service.ts";
import { type ChannelClient, legacyClient, type ServerMessageHandlers, type SessionHooks } from "./legacy-client.ts";
import { createModernTell, discoverCall, modernPeer, warnOfRequest } from "./modern-connection.ts";
import { type NegotiateOptions, type Negotiation, negotiate } from "./negotiate.ts";
import { closedFailure, findRequestId, findRequestIdModern, sendCall, sendOpenCall } from "./send-call.ts";

/** Opens a connection over a channel: finds out what the server speaks, then speaks that. */
export function openChannel(
  channel: Channel,
  opening: Opening,
  options: NegotiateOptions & SessionHooks = {},
): Promise<Connection> {
  const { client, close } = createChannelClient(channel, opening);
  return openBy(
    {
      opening,
      discover: () => discover(client),
      connectModern: (server) => connectModern(client, server),
      initialize: async (revision) => (await legacyClient.load()).initialize(client, revision, options),
      ended: client.ended,
      close,
    },
    options,
  );
}

/** Opens a connection by the steps given. Closes what they have opened when it fails, or is cancelled. */
export async function openBy(steps: Negotiation, options: NegotiateOptions): Promise<Connection> {
  const { opening, ended, close } = steps;
  const stop = onAbort(opening.signal, close);
  try {
    const connection = await negotiate(steps, options);
    return { ...connection, ended, close };
  } catch (error) {
    await close();
    if (opening.signal?.aborted) throw new McpError("cancelled", "connecting was cancelled", { cause: error });
    throw error;
  } finally {
    stop();
  }
}

/** Asks the server what it is. */
function discover({ rpc, opening }: ChannelClient): ReturnType<Negotiation["discover"]> {
  const call = discoverCall(modernPeer(opening));
  const limits = { idleMs: opening.timeoutMs, totalMs: 0 };
  return rpc.request("server/discover", () => modernClient.encodeCall(call), { limits, cancellable: false });
}

/** Speaks modern with a server that does. */
function connectModern({ rpc, opening, use }: ChannelClient, server: DiscoverResult): OpenConnection {
  use({
    onRequest(incoming) {
      incoming.drop();
      warnOfRequest(incoming.request.method, opening);
      return undefined;
    },
    onNotification: ({ method, params }) => opening.notified(method, params),
    findRequestId: findRequestIdModern,
    acceptsBatches: () => false,
  });
  const peer = modernPeer(opening);
  const codec = modernClientOf(peer);
  const service = (call: Call): Promise<Outcome> =>
    methodRow(call.method).open === true ? sendOpenCall(rpc, codec, call) : sendCall(rpc, codec, call);
  const tell = createModernTell(codec, peer, (method, params) => void rpc.notify(method, params));
  return { service: service as Service, revision: newest, server, peer, tell };
}

/** Numbers requests from `firstId` on, 1 by default. */
export function createChannelClient(
  channel: Channel,
  opening: Opening,
  firstId?: number,
): { readonly client: ChannelClient; close(): Promise<void> } {
  let closedHere = false;
  /** What the server asks before it is known which revision it speaks: the newest forbids to answer. */
  const early: IncomingRequest[] = [];
  let end = (_ending: Ending): void => {};
  const ended = new Promise<Ending>((resolve) => {
    end = resolve;
  });
  let handlers: ServerMessageHandlers = {
    onRequest: (incoming) => void early.push(incoming),
    onNotification: ({ method, params }) => opening.notified(method, params),
    findRequestId: findRequestId,
    acceptsBatches: () => false,
  };
  const rpc = createPeer(
    unhurried(channel),
    {
      onRequest: (incoming) => handlers.onRequest(incoming),
      onNotification: (notification, via) => handlers.onNotification(notification, via),
      findRequestId: (notification) => handlers.findRequestId(notification),
      acceptsBatches: () => handlers.acceptsBatches(),
      // Not when all is closed: a program that is gone may have left others behind that take a while to end.
      onEnd: (error) => end(closedHere ? undefined : closedFailure(error)),
    },
    { clock: opening.clock, maxOpenRequests: 0, drainMs: 0, answerUnreadable: false, firstId },
  );
  void rpc.run();

  return {
    client: {
      rpc,
      opening,
      ended,
      use(next) {
        handlers = next;
        for (const incoming of early.splice(0)) void next.onRequest(incoming);
      },
    },
    close() {
      closedHere = true;
      return rpc.close();
    },
  };
}

/**
 * While requests wait for a slow server to read, responses are still read, because the server may be waiting to write
 * them.
 */
function unhurried(channel: Channel): Channel {
  return {
    incoming: channel.incoming,
    mask: channel.mask,
    send(message) {
      channel.send(message);
      return undefined;
    },
    unsent: () => channel.unsent?.() ?? [],
    close: () => channel.close(),
  };
}

function onAbort(signal: AbortSignal | undefined, abort: () => void): () => void {
  if (signal === undefined) return () => {};
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  return () => signal.removeEventListener("abort", abort);
}
