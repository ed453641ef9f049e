import type { Sender } from "../jsonrpc/channel.ts";
import type { IncomingRequest } from "../jsonrpc/inbound.ts";
import type { Notification } from "../jsonrpc/message.ts";
import type { RpcPeer } from "../jsonrpc/peer.ts";
import { tooBusy } from "../protocol/busy.ts";
import { modernServer as codec } from "../protocol/codec/server-codec.ts";
import { McpError } from "../protocol/errors.ts";
import { metaKeys, withMeta } from "../protocol/meta.ts";
import { type DiscoverResult, methodRow } from "../protocol/methods.ts";
import type { Implementation } from "../protocol/peer.ts";
import type { Service } from "../protocol/service.ts";
import type { Gate } from "../std/gate.ts";
import {
  type Answering,
  answerCall,
  createNotificationQueue,
  maxNotifications,
  type NotificationQueue,
  statedSource,
} from "./answer-call.ts";

/** Why subscriptions end when nobody cancelled them. */
const closing = new McpError("connection-closed", "the server is closing");

const over = Promise.resolve();

/** Serves requests that say who sends them, each on its own. */
export interface ModernDispatcher {
  /**
   * Answers a request, now or when it has its turn; one too many is answered with an error. A promise holds back the
   * reading of more: who was told so does not read it.
   */
  request(exchange: IncomingRequest): Promise<void> | undefined;
  /** Hands a notification of a client to the service. */
  notification(notification: Notification, via: Sender): void;
  /** Brings every open subscription to its end, with a result. */
  endListening(): void;
}

export interface ModernDispatcherOptions {
  readonly service: Service;
  /** Reaches the client, also about calls that are over. */
  readonly peer: Pick<RpcPeer, "notify">;
  readonly gate: Gate<IncomingRequest>;
  /** Notifications that may be under way or wait. Default: as many as one client may have. */
  readonly maxNotifications?: number;
  /** What the service says of itself. */
  discover(): Promise<DiscoverResult>;
}

export function createModernDispatcher(options: ModernDispatcherOptions): ModernDispatcher {
  const { service, peer, gate, discover } = options;
  let notifications: NotificationQueue | undefined;
  const listening = new Set<IncomingRequest>();
  let server: Implementation | undefined;

  /** A service that does not say who it is can be of use all the same. Until it does, every call asks: none waits for another. */
  const identify = async (): Promise<Implementation | undefined> => {
    try {
      server = (await discover()).serverInfo;
    } catch {}
    return server;
  };

  void identify();

  const answer = (exchange: IncomingRequest): Promise<void> => {
    const decoded = codec.decodeCall(exchange.request);
    if (!decoded.ok) {
      exchange.refuse(codec.encodeFailure(decoded.failure));
      return over;
    }
    return answerCall(exchange, decoded.value, answering);
  };

  /** The protocol wants a subscription that the server ends to be cancelled, too: after its result is sent. */
  const tellEnd = ({ request: { id }, abort }: IncomingRequest): void => {
    if (abort.aborted && abort.reason !== closing) return;
    peer.notify("notifications/cancelled", withMeta({ requestId: id }, metaKeys.subscriptionId, id));
  };

  const answering: Answering = {
    codec,
    serve: service,
    get server() {
      return server ?? identify();
    },
    ended: tellEnd,
  };

  const listen = async (exchange: IncomingRequest): Promise<void> => {
    listening.add(exchange);
    await answer(exchange);
    listening.delete(exchange);
  };

  return {
    request(exchange) {
      const { runs, open } = methodRow(exchange.request.method);
      if (runs) {
        return gate.run(() => answer(exchange), exchange) ? undefined : exchange.fail(codec.encodeFailure(tooBusy));
      }
      void (open ? listen(exchange) : answer(exchange));
      return undefined;
    },
    notification(notification, via) {
      notifications ??= createNotificationQueue(gate, options.maxNotifications ?? maxNotifications);
      notifications.add(notification, via, statedSource(notification), (exchange, wire) =>
        answerCall(exchange, wire, answering),
      );
    },
    endListening() {
      for (const { abort } of listening) abort.abort(closing);
    },
  };
}
