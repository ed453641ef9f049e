import type { ServerCodec } from "../codec/codec.ts";
import { patientNotify } from "../codec/patient-notify.ts";
import type { RpcPeer } from "../jsonrpc/peer.ts";
import { type Failure, McpError, toFailure } from "../model/errors.ts";
import type { Peer, ServerCapabilities } from "../model/peer.ts";
import { createCall, type Outcome, type Service } from "../model/service.ts";
import { honoured, type ListenFilter } from "../model/subscription.ts";
import { LazyAbort } from "../std/lazy-abort.ts";

/**
 * What a legacy client hears without asking each time: changed lists, and
 * updates of what it subscribed to.
 *
 * What changes it resolves when the service listens accordingly, with the
 * failure if it does not; then everything is as it was.
 */
export interface Feed {
  start(): Promise<Failure | undefined>;
  stop(): void;
  /** Any URI will do, known or not. Idempotent. */
  subscribe(uri: string): Promise<Failure | undefined>;
  unsubscribe(uri: string): Promise<Failure | undefined>;
  /** The URIs that are subscribed to. */
  subscriptions(): readonly string[];
}

export interface FeedOptions {
  readonly service: Service;
  readonly codec: ServerCodec;
  readonly peer: Peer;
  /** What the client was told in the handshake; it hears of nothing else. */
  readonly capabilities: ServerCapabilities;
  readonly send: RpcPeer["notify"];
}

/** Listens to the service on behalf of a client that does not know listening. */
export function createFeed({ service, codec, peer, capabilities, send }: FeedOptions): Feed {
  const uris = new Set<string>();
  /** Calls that listen, oldest first. All but the last are about to go. */
  const listening = new Set<LazyAbort>();

  const tell = patientNotify((method, params) => {
    const encoded = codec.encodeNotification(method, params);
    return encoded === undefined ? undefined : send(codec.notificationName(method), encoded);
  });

  const endOlderThan = (newer?: LazyAbort): undefined => {
    for (const abort of listening) {
      if (abort === newer) return;
      listening.delete(abort);
      abort.abort("the session listens anew, or is over");
    }
  };

  /** The new listener is there before the old ones go, so that nothing falls between them. */
  const listen = async (): Promise<Failure | undefined> => {
    const notifications = honoured({ ...allLists, resourceSubscriptions: [...uris] }, capabilities);
    if (Object.keys(notifications).length === 0) return endOlderThan();
    const abort = new LazyAbort();
    listening.add(abort);
    return new Promise((resolve) => {
      const call = createCall({
        method: "subscriptions/listen",
        params: { notifications },
        peer,
        abort,
        notify(method, params) {
          if (!listening.has(abort)) return undefined;
          if (method !== "notifications/subscriptions/acknowledged") return tell(method, params);
          endOlderThan(abort);
          resolve(undefined);
          return undefined;
        },
      });
      void settle(() => service(call)).then((failure) => {
        listening.delete(abort);
        resolve(failure);
      });
    });
  };

  return {
    start: listen,
    stop: () => endOlderThan(),
    async subscribe(uri) {
      if (uris.has(uri)) return undefined;
      uris.add(uri);
      const failure = await listen();
      if (failure !== undefined) uris.delete(uri);
      return failure;
    },
    async unsubscribe(uri) {
      if (!uris.delete(uri)) return undefined;
      const failure = await listen();
      if (failure !== undefined) uris.add(uri);
      return failure;
    },
    subscriptions: () => [...uris],
  };
}

/** All lists there are. */
export const allLists: ListenFilter = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

/** Why a call failed, or undefined when it ended as it should. */
export async function settle(serve: () => Promise<Outcome>): Promise<Failure | undefined> {
  try {
    const outcome = await serve();
    return outcome.kind === "failed" ? outcome.failure : undefined;
  } catch (error) {
    return error instanceof McpError ? toFailure(error) : { code: "internal", message: "internal error" };
  }
}
