import type { Sender } from "../jsonrpc/channel.ts";
import type { IncomingRequest } from "../jsonrpc/inbound.ts";
import type { Notification } from "../jsonrpc/message.ts";
import type { RpcPeer } from "../jsonrpc/peer.ts";
import { modernServer as codec } from "../protocol/codec/server-codec.ts";
import { type Failure, McpError } from "../protocol/errors.ts";
import { toLimitFailure } from "../protocol/limit-error.ts";
import { metaKeys, withMeta } from "../protocol/meta.ts";
import { type DiscoverResult, methodRow } from "../protocol/methods.ts";
import type { Implementation } from "../protocol/peer.ts";
import type { Service } from "../protocol/service.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import {
  answerCall,
  type CallResponder,
  createNotificationQueue,
  maxNotifications,
  type NotificationQueue,
  statedSource,
} from "./answer-call.ts";
import type { Caller, CallGate, Share } from "./caller.ts";

/** The reason for the end of subscriptions that were not cancelled. */
const closing = new McpError("connection-closed", "the server is closing");

const over = Promise.resolve();

const lazyBounds: Lazy<typeof import("./listen-bounds.ts")> = lazy(() => import("./listen-bounds.ts"));

/** Serves requests that state their sender, independently of each other. */
export interface ModernDispatcher {
  /**
   * Answers a request, at once or when it has its turn; beyond the limit it is answered with an error. A returned
   * promise is backpressure for the reader.
   */
  request(incoming: IncomingRequest, caller: Caller): Promise<void> | undefined;
  /** Hands a notification of a client to the service. */
  notification(notification: Notification, via: Sender, gate: CallGate): void;
  /** Brings every open subscription to its end, with a result. */
  endListening(): void;
}

export interface ModernDispatcherOptions {
  readonly service: Service;
  /** Reaches the client, also about calls that are over. */
  readonly peer: Pick<RpcPeer, "notify">;
  /** Characters of a URI that is subscribed to. */
  readonly maxUriLength: number;
  /** Notifications that may be under way or wait. Default: as many as one client may have. */
  readonly maxNotifications?: number;
  /** What the service says of itself. */
  discover(): Promise<DiscoverResult>;
}

export function createModernDispatcher(options: ModernDispatcherOptions): ModernDispatcher {
  const { service, peer, maxUriLength, discover } = options;
  let notifications: NotificationQueue | undefined;
  const listening = new Set<IncomingRequest>();
  let server: Implementation | undefined;

  /**
   * A service that cannot describe itself can be used all the same. Until it does, every call asks it, so that no call
   * waits for another.
   */
  const identify = async (): Promise<Implementation | undefined> => {
    try {
      server = (await discover()).serverInfo;
    } catch {}
    return server;
  };

  void identify();

  const answer = (incoming: IncomingRequest): Promise<void> => {
    const decoded = codec.decodeCall(incoming.request);
    if (!decoded.ok) {
      incoming.refuse(codec.encodeFailure(decoded.failure));
      return over;
    }
    return answerCall(incoming, decoded.value, answering);
  };

  /** The protocol wants a subscription that the server ends to be cancelled, too: after its result is sent. */
  const tellEnd = ({ request: { id }, abort }: IncomingRequest): void => {
    if (abort.aborted && abort.reason !== closing) return;
    peer.notify("notifications/cancelled", withMeta({ requestId: id }, metaKeys.subscriptionId, id));
  };

  const answering: CallResponder = {
    codec,
    serve: service,
    get server() {
      return server ?? identify();
    },
    ended: tellEnd,
  };

  const refuse = (incoming: IncomingRequest, failure: Failure): Promise<void> | undefined =>
    incoming.fail(codec.encodeFailure(failure));

  /** Listens if that much may be subscribed to. */
  const listen = async (incoming: IncomingRequest, share: Share): Promise<void> => {
    listening.add(incoming);
    const { takeStream } = await lazyBounds.load();
    const taken = takeStream(incoming.request.params, share, maxUriLength);
    if (taken.ok) await answer(incoming);
    else await refuse(incoming, taken.failure);
    listening.delete(incoming);
    if (taken.ok) taken.giveBack();
  };

  return {
    request(incoming, caller) {
      const row = methodRow(incoming.request.method);
      if (row.runs) {
        const short = caller.gate.run(() => answer(incoming), incoming);
        return short && refuse(incoming, toLimitFailure(short));
      }
      void (row.open ? listen(incoming, caller.share) : answer(incoming));
      return undefined;
    },
    notification(notification, via, gate) {
      notifications ??= createNotificationQueue(options.maxNotifications ?? maxNotifications);
      notifications.add({ gate, notification, via, source: statedSource(notification) }, (incoming, wire) =>
        answerCall(incoming, wire, answering),
      );
    },
    endListening() {
      for (const { abort } of listening) abort.abort(closing);
    },
  };
}
