import type { Codec } from "../codec/codec.ts";
import type { RpcPeer } from "../jsonrpc/peer.ts";
import type { Peer } from "../model/peer.ts";
import { createCall, type Service } from "../model/service.ts";
import { LazyAbort } from "../std/lazy-abort.ts";

/** What a legacy client hears without asking each time: changed lists, and updates of what it subscribed to. */
export interface Feed {
  start(): void;
  stop(): void;
  /** Any URI will do, known or not. Idempotent. */
  subscribe(uri: string): void;
  unsubscribe(uri: string): void;
}

export interface FeedOptions {
  readonly service: Service;
  readonly codec: Codec;
  readonly peer: Peer;
  readonly send: RpcPeer["notify"];
}

/** Listens to the service on behalf of a client that does not know listening. */
export function createFeed({ service, codec, peer, send }: FeedOptions): Feed {
  const uris = new Set<string>();
  let current: LazyAbort | undefined;

  /** The new listener is there before the old one goes, so that nothing falls between them. */
  const listen = (): void => {
    const abort = new LazyAbort();
    const previous = current;
    current = abort;
    const call = createCall({
      method: "subscriptions/listen",
      params: {
        notifications: {
          toolsListChanged: true,
          promptsListChanged: true,
          resourcesListChanged: true,
          resourceSubscriptions: [...uris],
        },
      },
      peer,
      abort,
      notify(method, params) {
        if (abort.aborted) return undefined;
        const encoded = codec.encodeNotification(method, params);
        return encoded === undefined ? undefined : send(method, encoded);
      },
    });
    void service(call);
    previous?.abort("replaced");
  };

  return {
    start: listen,
    stop: () => current?.abort("the session is over"),
    subscribe(uri) {
      if (uris.has(uri)) return;
      uris.add(uri);
      listen();
    },
    unsubscribe(uri) {
      if (uris.delete(uri)) listen();
    },
  };
}
