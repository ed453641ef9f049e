import { type Answering, answerCall } from "../codec/answer.ts";
import { modernServer as codec } from "../codec/modern-server.ts";
import type { Exchange } from "../jsonrpc/inbound.ts";
import type { RpcPeer } from "../jsonrpc/peer.ts";
import { McpError } from "../model/errors.ts";
import { metaKeys, withMeta } from "../model/meta.ts";
import { type DiscoverResult, methodRow } from "../model/methods.ts";
import type { Implementation } from "../model/peer.ts";
import type { Service } from "../model/service.ts";
import type { Gate } from "../std/gate.ts";

/** Why subscriptions end when nobody cancelled them. */
const closing = new McpError("connection-closed", "the server is closing");

const over = Promise.resolve();

/** Serves requests that say who sends them, each on its own. */
export interface ModernDesk {
  /** Answers a request. A promise holds back the reading of more. */
  request(exchange: Exchange): Promise<void> | undefined;
  /** Brings every open subscription to its end, with a result. */
  endListening(): void;
}

export interface ModernDeskOptions {
  readonly service: Service;
  /** Reaches the client, also about calls that are over. */
  readonly peer: Pick<RpcPeer, "notify">;
  readonly gate: Gate;
  /** What the service says of itself. */
  discover(): Promise<DiscoverResult>;
}

export function createModernDesk({ service, peer, gate, discover }: ModernDeskOptions): ModernDesk {
  const listening = new Set<Exchange>();
  let server: Implementation | Promise<Implementation | undefined> | undefined;

  /** A service that does not say who it is can be of use all the same. */
  const identify = async (): Promise<Implementation | undefined> => {
    try {
      server = (await discover()).serverInfo;
      return server;
    } catch {
      server = undefined;
      return undefined;
    }
  };

  server = identify();

  const answer = (exchange: Exchange): Promise<void> => {
    const decoded = codec.decodeCall(exchange.request);
    if (!decoded.ok) {
      exchange.refuse(codec.encodeFailure(decoded.failure));
      return over;
    }
    return answerCall(exchange, decoded.value, answering);
  };

  /** The protocol wants a subscription that the server ends to be cancelled, too. The result comes first, being the kinder word. */
  const tellEnd = ({ request: { id }, abort }: Exchange): void => {
    if (abort.aborted && abort.reason !== closing) return;
    peer.notify("notifications/cancelled", withMeta({ requestId: id }, metaKeys.subscriptionId, id));
  };

  const answering: Answering = {
    codec,
    serve: service,
    get server() {
      server ??= identify();
      return server;
    },
    ended: tellEnd,
  };

  const listen = async (exchange: Exchange): Promise<void> => {
    listening.add(exchange);
    await answer(exchange);
    listening.delete(exchange);
  };

  return {
    request(exchange) {
      const { runs, open } = methodRow(exchange.request.method);
      if (runs) return gate.run(() => answer(exchange));
      void (open ? listen(exchange) : answer(exchange));
      return undefined;
    },
    endListening() {
      for (const { abort } of listening) abort.abort(closing);
    },
  };
}
