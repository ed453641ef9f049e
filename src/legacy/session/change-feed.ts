import type { ServerCodec } from "../../codec/codec.ts";
import type { JsonObject } from "../../json/json.ts";
import { encodeMessage } from "../../jsonrpc/message.ts";
import type { RpcPeer } from "../../jsonrpc/peer.ts";
import type { Failure } from "../../model/errors.ts";
import { changeKeys, metaOf } from "../../model/meta.ts";
import type { Auth, ClientInfo, ServerCapabilities } from "../../model/peer.ts";
import { newest } from "../../model/revision.ts";
import { createCall, type Service } from "../../model/service.ts";
import { elicitationComplete, honoured, type ListenFilter } from "../../model/subscription.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import { patientNotify } from "../../transport/answer-call.ts";
import { type BegunTask, createFollowing, settle } from "./follow-task.ts";

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
  /** The client was asked to open a page: tells it once when its user is done there. */
  expect(elicitationId: string): void;
  /** Tells the client of a task that it has begun, until that is over. */
  follow(task: BegunTask, auth: Auth | undefined): void;
}

export interface FeedOptions {
  readonly service: Service;
  readonly codec: ServerCodec;
  readonly peer: ClientInfo;
  /** What the client was told in the handshake; it hears of nothing else. */
  readonly capabilities: ServerCapabilities;
  readonly send: RpcPeer["notify"];
}

/** Listens to the service on behalf of a client that does not know listening. */
export function createFeed({ service, codec, peer, capabilities, send }: FeedOptions): Feed {
  const uris = new Set<string>();
  const pages = createPages();
  /** Calls that listen, oldest first. All but the last are about to go. */
  const listening = new Set<LazyAbort>();

  const following = createFollowing();

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
    const filter = honoured({ ...allLists, resourceSubscriptions: [...uris], elicitationIds: pages.ids }, capabilities);
    if (Object.keys(filter).length === 0) return endOlderThan();
    const abort = new LazyAbort();
    listening.add(abort);
    return listenFrom({
      service,
      filter,
      peer,
      abort,
      tell({ method, params }) {
        if (method === elicitationComplete) pages.delete(params.elicitationId);
        return tell(method, params);
      },
      began: () => endOlderThan(abort),
      ended: () => void listening.delete(abort),
    }).begun;
  };

  return {
    start: listen,
    stop() {
      following.stop();
      endOlderThan();
    },
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

/** A notification of the service that something changed, and where that stands among all changes. */
export class ChangeNotification {
  readonly method: string;
  readonly params: JsonObject;
  /** Undefined where the service does not count its changes. */
  readonly position: number | undefined;
  /** True when changes before it are known no longer. */
  readonly lost: boolean;
  #texts: Map<ServerCodec, string | undefined> | undefined;

  constructor(method: string, params: JsonObject) {
    const { [changeKeys.position]: position, [changeKeys.lost]: lost } = metaOf(params);
    this.method = method;
    this.params = params;
    this.position = typeof position === "number" ? position : undefined;
    this.lost = lost === true;
  }

  /** The message for clients of a revision, encoded once; undefined when they are not told of it. */
  text(codec: ServerCodec): string | undefined {
    this.#texts ??= new Map();
    if (!this.#texts.has(codec)) this.#texts.set(codec, this.#encode(codec));
    return this.#texts.get(codec);
  }

  #encode(codec: ServerCodec): string | undefined {
    const params = codec.encodeNotification(this.method, this.params);
    if (params === undefined) return undefined;
    return encodeMessage({ kind: "notification", method: codec.notificationName(this.method), params });
  }
}

export interface ListenOptions {
  readonly service: Service;
  readonly filter: ListenFilter;
  /** On whose behalf. */
  readonly auth?: Auth | undefined;
  /** The client, where there is one. Default: one of the newest revision. */
  readonly peer?: ClientInfo | undefined;
  /** What followed this position is told first. From now on when left out. */
  readonly after?: number | undefined;
  /** Ends it, as `stop` does. */
  readonly abort?: LazyAbort;
  /** A promise means that the client is slow. */
  tell(change: ChangeNotification): Promise<void> | undefined | void;
  /** Hears that the service listens. */
  began?(): void;
  /** Hears that the service has ended it on its own. */
  ended?(): void;
}

export interface Listening {
  /** Resolves when the service listens, or with the reason why not. */
  readonly begun: Promise<Failure | undefined>;
  /** Nothing is told any more. */
  stop(): void;
}

/** Listens to a service that can say what followed a position. One that cannot tells what comes. */
export function listenFrom({ service, filter, after, tell, began, ended, ...from }: ListenOptions): Listening {
  const { auth, abort = new LazyAbort() } = from;
  const begun = new Promise<Failure | undefined>((resolve) => {
    const call = createCall({
      method: "subscriptions/listen",
      params: { notifications: filter },
      peer: from.peer ?? { revision: newest, capabilities: {}, ...(auth !== undefined && { auth }) },
      meta: after === undefined ? {} : { [changeKeys.after]: after },
      abort,
      notify(method, params) {
        if (abort.aborted) return undefined;
        if (method !== "notifications/subscriptions/acknowledged") {
          return tell(new ChangeNotification(method, params)) ?? undefined;
        }
        began?.();
        resolve(undefined);
        return undefined;
      },
    });
    void settle(() => service(call)).then((failure) => {
      resolve(failure);
      if (!abort.aborted) ended?.();
    });
  });
  return { begun, stop: () => abort.abort("nobody listens any more") };
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
