import type { Sender } from "../jsonrpc/channel.ts";
import type { IncomingRequest } from "../jsonrpc/inbound.ts";
import type { ErrorObject, Notification } from "../jsonrpc/message.ts";
import type { AnsweringPeer } from "../jsonrpc/peer.ts";
import { modernServer } from "../protocol/codec/server-codec.ts";
import { McpError, toFailure } from "../protocol/errors.ts";
import type { DiscoverResult } from "../protocol/methods.ts";
import type { CallOrigin, Service } from "../protocol/service.ts";
import type { Clock } from "../std/clock.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import type { Caller } from "./caller.ts";

/** What serves clients that open a channel with `initialize`. */
interface LegacyServer {
  readonly createChannelSession: (options: LegacySessionOptions) => LegacySession;
}

export interface LegacySessionOptions {
  readonly service: Service;
  readonly peer: AnsweringPeer;
  readonly caller: Caller;
  /** Characters of a URI that is subscribed to. */
  readonly maxUriLength: number;
  readonly clock: Clock;
  /** What the service says of itself to a client. */
  readonly discover: (client: CallOrigin) => Promise<DiscoverResult>;
}

/** The server's end of a channel on which a client says `initialize`. */
export interface LegacySession {
  /** Answers a request. A promise holds back the reading of more: during the handshake, and when a refusal is not read. */
  request(incoming: IncomingRequest): Promise<void> | undefined;
  /** What is said about it goes out by `via`. */
  notification(notification: Notification, via: Sender): void;
  acceptsBatches(): boolean;
  /** True once `initialize` has arrived. */
  readonly greeted: boolean;
  /** Ends all notifications to the client. */
  close(): void;
}

const lazyServer: Lazy<LegacyServer> = lazy(() => import("#legacy/server"));

/**
 * The session of a client that opens with `initialize`. What serves it is loaded when the first such client comes; the
 * first request holds back the reading of more until then, so that messages keep their order.
 */
export function createLegacySession(options: LegacySessionOptions): LegacySession {
  let session: LegacySession | undefined;

  const open = async (incoming: IncomingRequest): Promise<void> => {
    try {
      const { createChannelSession } = await lazyServer.load();
      session ??= createChannelSession(options);
      await session.request(incoming);
    } catch (error) {
      await incoming.refuse(notServed(error));
    }
  };

  return {
    request: (incoming) => (session === undefined ? open(incoming) : session.request(incoming)),
    notification: (notification, via) => session?.notification(notification, via),
    acceptsBatches: () => session?.acceptsBatches() ?? false,
    get greeted() {
      return session?.greeted ?? false;
    },
    close: () => session?.close(),
  };
}

/** The error for a client when older revisions cannot be served. */
export function notServed(error: unknown): ErrorObject {
  if (error instanceof McpError) return modernServer.encodeFailure(toFailure(error));
  console.error("plugbay: older revisions cannot be served:", error);
  return modernServer.encodeFailure({ code: "internal", message: "internal error" });
}
