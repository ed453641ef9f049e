import { type Answering, answerCall } from "../codec/answer.ts";
import { codecFor } from "../codec/select.ts";
import { correlate } from "../codec/send.ts";
import { isObject } from "../json/json.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import type { Exchange } from "../jsonrpc/inbound.ts";
import type { Request } from "../jsonrpc/message.ts";
import { createPeer, type PeerCounters, type PeerOptions, type RpcPeer } from "../jsonrpc/peer.ts";
import { createServerSession, type ServerSession } from "../legacy/server-session.ts";
import { toError } from "../model/errors.ts";
import { metaKeys } from "../model/meta.ts";
import { type DiscoverResult, methodRow } from "../model/methods.ts";
import { newest } from "../model/revision.ts";
import { createCall, type Service } from "../model/service.ts";
import { createGate } from "../std/gate.ts";
import { LazyAbort } from "../std/lazy-abort.ts";

export interface ServeOptions extends PeerOptions {
  /** Handlers of one client that run at once. Default 64; 0 is off. More wait, and then the client is not read. */
  readonly maxConcurrent?: number;
  /** How long a legacy client may take to answer a question. Default 5 min. */
  readonly askTimeoutMs?: number;
}

/** A service being served to one client. */
export interface Serving {
  /** Resolves when it is over, with the error that ended it if one did. Never rejects. */
  readonly ended: Promise<unknown>;
  /** Takes no more, answers what is open, closes. */
  drain(): Promise<void>;
  /** Ends what is open with an error and closes. Idempotent. */
  close(): Promise<void>;
  readonly counters: PeerCounters;
}

/**
 * Serves one client on a channel, in whatever era it speaks.
 *
 * A request that says who sends it is served on its own; anything else belongs
 * to the session that `initialize` opens. Both may be used at the same time.
 */
export function serveChannel(channel: Channel, service: Service, options: ServeOptions = {}): Serving {
  const { maxConcurrent = 64, askTimeoutMs = 300_000 } = options;
  const gate = createGate({ maxRunning: maxConcurrent, maxWaiting: maxConcurrent });
  const listening = new Set<Exchange>();
  const codec = codecFor(newest);
  let known: DiscoverResult | undefined;

  const discover = async (): Promise<DiscoverResult> => {
    known = await describe(service);
    return known;
  };

  const answer = async (exchange: Exchange): Promise<void> => {
    const decoded = codec.decodeCall(exchange.request);
    if (!decoded.ok) return void exchange.fail(codec.encodeFailure(decoded.failure));
    const { serverInfo } = known ?? (await discover());
    const answering: Answering = { codec, server: serverInfo, serve: service };
    await answerCall(exchange, decoded.value, answering);
  };

  const listen = async (exchange: Exchange): Promise<void> => {
    listening.add(exchange);
    await answer(exchange);
    listening.delete(exchange);
  };

  const modern = (exchange: Exchange): Promise<void> | undefined => {
    const { runs, open } = methodRow(exchange.request.method);
    if (runs) return gate.run(() => answer(exchange));
    void (open ? listen(exchange) : answer(exchange));
    return undefined;
  };

  const rpc: RpcPeer = createPeer(
    channel,
    {
      request: (exchange) => (isModern(exchange.request, session) ? modern(exchange) : session.request(exchange)),
      notification: (notification) => session.notification(notification),
      acceptsBatches: () => session.acceptsBatches(),
      hungUp: () => endListening(),
      correlate,
    },
    options,
  );
  const session: ServerSession = createServerSession({ service, peer: rpc, gate, askTimeoutMs, discover });
  const endListening = (): void => {
    for (const exchange of listening) exchange.abort.abort("the server is closing");
    session.close();
  };

  return {
    ended: rpc.run(),
    async drain() {
      endListening();
      await rpc.drain();
    },
    close: () => {
      endListening();
      return rpc.close();
    },
    counters: rpc.counters,
  };
}

/** Says who sends it, or is of a kind that only modern clients send. */
function isModern({ method, params }: Request, session: ServerSession): boolean {
  const { _meta: meta } = params;
  if (isObject(meta) && (metaKeys.protocolVersion in meta || metaKeys.clientCapabilities in meta)) return true;
  return !session.greeted && methodRow(method).since === newest;
}

/** What a service says of itself. */
export async function describe(service: Service): Promise<DiscoverResult> {
  const outcome = await service(
    createCall({
      method: "server/discover",
      params: {},
      peer: { revision: newest, capabilities: {} },
      abort: new LazyAbort(),
      notify: () => undefined,
    }),
  );
  if (outcome.kind === "complete") return outcome.result;
  throw toError(
    outcome.kind === "failed"
      ? outcome.failure
      : { code: "invalid-response", message: "the service does not say what it is" },
  );
}
