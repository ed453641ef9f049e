import type { JsonObject } from "../../json/json.ts";
import { encodeMessage } from "../../jsonrpc/message.ts";
import type { ServerCodec } from "../../protocol/codec/codec.ts";
import { withoutMeta } from "../../protocol/codec/dialect.ts";
import type { Failure } from "../../protocol/errors.ts";
import { changeKeys, metaOf } from "../../protocol/meta.ts";
import { type Auth, type ClientInfo, session } from "../../protocol/peer.ts";
import { newest } from "../../protocol/revision.ts";
import type { Service } from "../../protocol/service.ts";
import { isWanted, type ListenFilter, messages, notificationToChange } from "../../protocol/subscription.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import { listenFrom } from "./change-feed.ts";
import { sessionOf } from "./session-messages.ts";

/** A notification of the service that something changed, and where that stands among all changes. */
export class ChangeNotification {
  readonly method: string;
  readonly params: JsonObject;
  /** Undefined where the service does not count its changes. */
  readonly position: number | undefined;
  /** True when changes before it are known no longer. */
  readonly lost: boolean;
  /** The only session that receives it; all when undefined. */
  readonly session: string | undefined;
  #texts: Map<ServerCodec, string | undefined> | undefined;

  constructor(method: string, params: JsonObject) {
    const { [changeKeys.position]: position, [changeKeys.lost]: lost } = metaOf(params);
    this.method = method;
    this.session = sessionOf(params);
    this.params = this.session === undefined ? params : withoutSession(params);
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

const withoutSession = withoutMeta(changeKeys.session);

/**
 * Subscribes to a service once for many sessions.
 *
 * Sessions with the same filter and principal share a call, unless their clients must be distinguished. A session that
 * still needs earlier changes has a call of its own until it has received them.
 */
export interface ChangeHub {
  listen(options: HubOptions, listener: ChangeListener): SharedListening;
}

export interface HubOptions {
  readonly filter: ListenFilter;
  /** On whose behalf. */
  readonly auth?: Auth | undefined;
  /** The client, where it may hear of something else than others. */
  readonly client?: ClientInfo | undefined;
  /** What followed this position is told first. From now on when left out. */
  readonly after?: number | undefined;
}

interface Listening {
  /** Resolves when the service listens, or with the reason why not. */
  readonly begun: Promise<Failure | undefined>;
  /** Ends all subscriptions. */
  stop(): void;
}

/** There may be very many: it is told by which of its calls. */
export interface ChangeListener {
  tell(change: ChangeNotification): void;
  /** Hears that the service has ended it on its own. */
  ended(listening: SharedListening): void;
}

export interface SharedListening extends Listening {
  readonly filter: ListenFilter;
}

export function createChangeHub(service: Service): ChangeHub {
  const topics = new Map<string, Topic>();

  return {
    listen(options, listener) {
      const { auth, filter, client } = options;
      const key = JSON.stringify([client?.[session]?.id, auth?.principal, auth?.scopes, filter, filter[messages]]);
      const known = topics.get(key);
      if (known !== undefined) return known.join(options.after, listener);
      const topic = new Topic(service, options, () => {
        if (topics.get(key) === topic) topics.delete(key);
      });
      topics.set(key, topic);
      return topic.join(options.after, listener);
    },
  };
}

/** The changes that several listeners hear of together. */
class Topic {
  readonly filter: ListenFilter;
  readonly #service: Service;
  readonly #client: ClientInfo;
  readonly #left: () => void;
  readonly #members = new Set<HubListener>();
  /** Those that have yet to hear of what the others were told. */
  #behind: Set<HubListener> | undefined;
  #listening: Listening | undefined;
  /** How far the members were told. */
  #position: number | undefined;

  /** `left` hears that it is of no use any more. */
  constructor(service: Service, { filter, auth, client = anyClient }: HubOptions, left: () => void) {
    this.filter = filter;
    this.#service = service;
    this.#client = auth === undefined ? client : { ...client, auth };
    this.#left = left;
  }

  get begun(): Promise<Failure | undefined> {
    return this.#listening?.begun ?? nothingWrong;
  }

  join(after: number | undefined, listener: ChangeListener): SharedListening {
    const member = new HubListener(listener, this);
    const isFirst = this.#listening === undefined;
    if (isFirst || after === undefined || after === this.#position) this.#members.add(member);
    else this.#follow(member, after);
    if (isFirst) this.#listen(after);
    return member;
  }

  leave(member: HubListener): void {
    this.#members.delete(member);
    this.#behind?.delete(member);
    if (this.#members.size > 0 || (this.#behind?.size ?? 0) > 0) return;
    this.#left();
    this.#listening?.stop();
  }

  #listen(after: number | undefined): void {
    this.#position = after;
    this.#listening = this.#call(
      after,
      (change) => this.#tell(change),
      () => this.#ended(),
    );
    if (this.#members.size === 0) this.#listening.stop();
  }

  #follow(member: HubListener, after: number): void {
    this.#behind ??= new Set();
    this.#behind.add(member);
    member.own = this.#call(
      after,
      (change) => {
        member.position = change.lost ? undefined : change.position;
        member.listener.tell(change);
        this.#align(member);
      },
      () => {
        this.leave(member);
        member.listener.ended(member);
      },
    );
  }

  #call(after: number | undefined, tell: (change: ChangeNotification) => void, ended: () => void): Listening {
    const abort = new LazyAbort();
    const begun = listenFrom({
      service: this.#service,
      filter: this.filter,
      peer: this.#client,
      meta: after === undefined ? {} : { [changeKeys.after]: after },
      abort,
      tell: (method, params) => {
        if (belongs(method, params, this.filter)) tell(new ChangeNotification(method, params));
        return undefined;
      },
      ended,
    });
    return { begun, stop: () => abort.abort("nobody listens any more") };
  }

  /** A member goes with the others when it has come as far as they have. */
  #align(member: HubListener): void {
    if (this.#position === undefined || member.position !== this.#position || !this.#behind?.delete(member)) return;
    member.own?.stop();
    member.own = undefined;
    this.#members.add(member);
  }

  #tell(change: ChangeNotification): void {
    this.#position = change.position;
    for (const { listener } of [...this.#members]) listener.tell(change);
    if (this.#behind !== undefined && !change.lost) for (const member of this.#behind) this.#align(member);
  }

  #ended(): void {
    this.#left();
    const members = [...this.#members];
    this.#members.clear();
    for (const member of members) member.listener.ended(member);
  }
}

const anyClient: ClientInfo = { revision: newest, capabilities: {} };

const nothingWrong: Promise<undefined> = Promise.resolve(undefined);

class HubListener implements SharedListening {
  readonly listener: ChangeListener;
  readonly #topic: Topic;
  /** Its own call, until it has come as far as the others. */
  own: Listening | undefined;
  position: number | undefined;

  constructor(listener: ChangeListener, topic: Topic) {
    this.listener = listener;
    this.#topic = topic;
  }

  get filter(): ListenFilter {
    return this.#topic.filter;
  }

  get begun(): Promise<Failure | undefined> {
    return this.own?.begun ?? this.#topic.begun;
  }

  stop(): void {
    this.own?.stop();
    this.#topic.leave(this);
  }
}

/** A service may tell more than it was asked for, and would so tell some of it several times. */
function belongs(method: string, params: JsonObject, filter: ListenFilter): boolean {
  const change = notificationToChange(method, params);
  if (change === undefined) return true;
  // What was updated may be a part of what was subscribed to.
  return change.kind === "resource" ? filter.resourceSubscriptions !== undefined : isWanted(change, filter);
}
