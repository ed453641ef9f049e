import type { JsonObject } from "../../json/json.ts";
import type { RpcPeer } from "../../jsonrpc/peer.ts";
import type { ServerCodec } from "../../protocol/codec/codec.ts";
import { withoutMeta } from "../../protocol/codec/dialect.ts";
import type { Failure } from "../../protocol/errors.ts";
import { toLimitFailure } from "../../protocol/limit-error.ts";
import type { LogLevel } from "../../protocol/logging.ts";
import { changeKeys } from "../../protocol/meta.ts";
import { type Auth, type ClientInfo, type ServerCapabilities, session as sessionKey } from "../../protocol/peer.ts";
import { createCall, type Service } from "../../protocol/service.ts";
import {
  elicitationComplete,
  honoured,
  type ListenFilter,
  messages,
  wantsNothing,
} from "../../protocol/subscription.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import { throttledNotify } from "../../transport/answer-call.ts";
import type { Share } from "../../transport/caller.ts";
import { type BegunTask, createFollowing, settle } from "./follow-task.ts";
import { isLoud, sessionOf } from "./session-messages.ts";

/**
 * The notifications of a legacy client: changed lists, and updates of subscribed resources.
 *
 * A change of the subscriptions resolves when the service listens accordingly, with the failure if it does not; then
 * nothing has changed.
 */
export interface Feed {
  start(): Promise<Failure | undefined>;
  stop(): void;
  /**
   * Any URI will do, known or not. Idempotent. The service is asked on behalf of
   * who subscribes, too: a session may be used with other scopes than it was opened with.
   */
  subscribe(uri: string, auth?: Auth): Promise<Failure | undefined>;
  unsubscribe(uri: string): Promise<Failure | undefined>;
  /** The client was asked to open a page: notifies it once when its user is done there. */
  expect(elicitationId: string): void;
  /** Notifies the client of a task that it has begun, until that is over. */
  follow(task: BegunTask, auth: Auth | undefined): void;
}

export interface FeedOptions {
  readonly service: Service;
  readonly codec: ServerCodec;
  readonly peer: ClientInfo;
  /** What the client was told in the handshake; it hears of nothing else. */
  readonly capabilities: ServerCapabilities;
  /** What subscriptions are taken of. */
  readonly share: Share;
  readonly send: RpcPeer["notify"];
  /** Log messages of less are not for the client. */
  logLevel(): LogLevel | undefined;
}

/** Listens to the service on behalf of a client that does not know listening. */
export function createFeed({ service, codec, peer, capabilities, share, send, logLevel }: FeedOptions): Feed {
  const uris = new Set<string>();
  const pages = createPages();
  /** Calls that listen, oldest first. All but the last are about to go. */
  const listening = new Set<LazyAbort>();

  const following = createFollowing();

  const tell = throttledNotify((method, params) => {
    const encoded = codec.encodeNotification(method, withoutSession(params));
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
    const filter = honoured(
      { ...allLists, resourceSubscriptions: [...uris], elicitationIds: pages.ids, [messages]: true },
      capabilities,
    );
    if (wantsNothing(filter)) return endOlderThan();
    const abort = new LazyAbort();
    listening.add(abort);
    return listenFrom({
      service,
      filter,
      peer,
      abort,
      tell(method, params) {
        if (method === elicitationComplete) pages.delete(params.elicitationId);
        const session = sessionOf(params);
        if (session !== undefined && session !== peer[sessionKey]?.id) return undefined;
        return isLoud(method, params, logLevel()) ? tell(method, params) : undefined;
      },
      began: () => endOlderThan(abort),
      ended: () => void listening.delete(abort),
    });
  };

  const drop = (uri: string): void => {
    if (uris.delete(uri)) share.give("subscriptions");
  };

  const tryFor = async (uri: string, auth: Auth): Promise<Failure | undefined> => {
    const filter = honoured({ resourceSubscriptions: [uri] }, capabilities);
    if (Object.keys(filter).length === 0) return undefined;
    const abort = new LazyAbort();
    const failure = await listenFrom({ service, filter, peer: { ...peer, auth }, abort, tell: () => undefined });
    abort.abort("it was only tried");
    return failure;
  };

  return {
    start: listen,
    stop() {
      for (const uri of uris) drop(uri);
      following.stop();
      endOlderThan();
    },
    async subscribe(uri, auth) {
      if (uris.has(uri)) return undefined;
      const refused = auth && (await tryFor(uri, auth));
      if (refused !== undefined) return refused;
      const short = share.take("subscriptions");
      if (short !== undefined) return toLimitFailure(short);
      uris.add(uri);
      const failure = await listen();
      if (failure !== undefined) drop(uri);
      return failure;
    },
    async unsubscribe(uri) {
      if (!uris.delete(uri)) return undefined;
      const failure = await listen();
      if (failure === undefined) share.give("subscriptions");
      else uris.add(uri);
      return failure;
    },
    expect(elicitationId) {
      pages.add(elicitationId);
      void listen();
    },
    follow(task, auth) {
      following.follow(task, { service, codec, auth, send });
    },
  };
}

/** All lists there are. */
export const allLists: ListenFilter = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

const withoutSession = withoutMeta(changeKeys.session);

export interface ListenOptions {
  readonly service: Service;
  readonly filter: ListenFilter;
  /** On whose behalf. */
  readonly peer: ClientInfo;
  /** Says from where on, to a service that counts its changes. From now on when left out. */
  readonly meta?: JsonObject;
  /** Ends all notifications. */
  readonly abort: LazyAbort;
  /** A promise means that the client is slow. */
  tell(method: string, params: JsonObject): Promise<void> | undefined;
  /** Hears that the service listens. */
  began?(): void;
  /** Hears that the service has ended it on its own. */
  ended?(): void;
}

/** Listens to a service. Resolves when that listens, or with the reason why not. */
export function listenFrom({
  service,
  filter,
  peer,
  meta = {},
  abort,
  ...hears
}: ListenOptions): Promise<Failure | undefined> {
  return new Promise((resolve) => {
    const call = createCall({
      method: "subscriptions/listen",
      params: { notifications: filter },
      peer,
      meta,
      abort,
      notify(method, params) {
        if (abort.aborted) return undefined;
        if (method !== "notifications/subscriptions/acknowledged") return hears.tell(method, params);
        hears.began?.();
        resolve(undefined);
        return undefined;
      },
    });
    void settle(() => service(call)).then((failure) => {
      resolve(failure);
      if (!abort.aborted) hears.ended?.();
    });
  });
}

/** Ids of pages that the user of a client was sent to, and may not be done with. */
interface Pages {
  readonly ids: readonly string[];
  /** Returns the id that had to give way for it, if one had to. */
  add(id: string): string | undefined;
  delete(id: unknown): void;
}

/** A server that sends users to more pages has forgotten the first of them. */
export const maxPages = 100;

export function createPages(): Pages {
  const ids = new Set<unknown>();

  return {
    get ids() {
      return [...ids] as readonly string[];
    },
    add(id) {
      ids.add(id);
      const [oldest] = ids;
      if (ids.size <= maxPages) return undefined;
      ids.delete(oldest);
      return oldest as string;
    },
    delete: (id) => void ids.delete(id),
  };
}
