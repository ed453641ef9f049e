import type { ServerCodec } from "../../codec/codec.ts";
import type { JsonObject } from "../../json/json.ts";
import { encodeMessage } from "../../jsonrpc/message.ts";
import type { Failure } from "../../model/errors.ts";
import type { Auth, ServerCapabilities } from "../../model/peer.ts";
import { newest } from "../../model/revision.ts";
import { createCall, type Service } from "../../model/service.ts";
import {
  elicitationComplete,
  honoured,
  isWanted,
  type ListenFilter,
  notificationToChange,
} from "../../model/subscription.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import { allLists, type Feed, maxPages } from "./change-feed.ts";
import { type BegunTask, createFollowing, type Following, settle } from "./follow-task.ts";

/**
 * Listens to a service once for many sessions.
 *
 * Whoever hears of the same things, on behalf of the same principal, shares a
 * call: one for changed lists, one for each resource. It begins with the first
 * of them and ends with the last. A change is encoded once for each revision.
 */
export interface SharedFeed {
  /** The feed of one more session. */
  join(session: FeedSession): Feed;
}

export interface FeedSession {
  readonly codec: ServerCodec;
  /** What the client was told in the handshake; it hears of nothing else. */
  readonly capabilities: ServerCapabilities;
  /** On whose behalf it hears. */
  readonly auth?: Auth | undefined;
  readonly reader: NewsReader;
}

export interface NewsReader {
  /** Writes a message. A promise means that the client is slow: it resolves in time. */
  tell(text: string): Promise<void> | undefined;
}

export function createSharedFeed(service: Service): SharedFeed {
  const topics = new Map<string, Topic>();

  const find: FindTopic = (filter, auth) => {
    const key = JSON.stringify([auth?.principal, auth?.scopes, filter]);
    const known = topics.get(key);
    if (known !== undefined) return known;
    const topic = new Topic({ service, filter, auth, left: () => topics.delete(key) });
    topics.set(key, topic);
    return topic;
  };

  return { join: (session) => new Member(session, service, find) };
}

type FindTopic = (filter: ListenFilter, auth: Auth | undefined) => Topic;

/** One session among those that share. */
class Member implements Feed {
  readonly codec: ServerCodec;
  readonly #capabilities: ServerCapabilities;
  readonly #auth: Auth | undefined;
  readonly #reader: NewsReader;
  readonly #find: FindTopic;
  #lists: Topic | undefined;
  #resources: Map<string, Topic> | undefined;
  /** By the ids of pages that the user was sent to. */
  #pages: Map<unknown, Topic> | undefined;
  readonly #service: Service;
  #following: Following | undefined;
  /** What is to be told when the client has caught up: the same news only once. */
  #waiting: Map<string, string> | undefined;

  constructor({ codec, capabilities, auth, reader }: FeedSession, service: Service, find: FindTopic) {
    this.codec = codec;
    this.#service = service;
    this.#capabilities = capabilities;
    this.#auth = auth;
    this.#reader = reader;
    this.#find = find;
  }

  async start(): Promise<Failure | undefined> {
    this.#lists ??= this.#topic(allLists);
    return this.#lists?.join(this);
  }

  stop(): void {
    this.#following?.stop();
    for (const topic of this.#topics()) topic.leave(this);
    this.#lists = undefined;
    this.#resources = undefined;
    this.#pages = undefined;
    this.#waiting?.clear();
  }

  async subscribe(uri: string): Promise<Failure | undefined> {
    if (this.#resources?.has(uri)) return undefined;
    this.#listenAgain();
    const topic = this.#topic({ resourceSubscriptions: [uri] });
    if (topic === undefined) return undefined;
    this.#resources ??= new Map();
    this.#resources.set(uri, topic);
    const failure = await topic.join(this);
    if (failure !== undefined && this.#resources?.get(uri) === topic) this.#drop(uri, topic);
    return failure;
  }

  async unsubscribe(uri: string): Promise<Failure | undefined> {
    const topic = this.#resources?.get(uri);
    if (topic === undefined) return undefined;
    this.#drop(uri, topic);
    this.#listenAgain();
    return undefined;
  }

  subscriptions(): readonly string[] {
    return this.#resources === undefined ? none : [...this.#resources.keys()];
  }

  expect(elicitationId: string): void {
    if (this.#pages?.has(elicitationId)) return;
    const topic = this.#find({ elicitationIds: [elicitationId] }, this.#auth);
    this.#pages ??= new Map();
    this.#pages.set(elicitationId, topic);
    const [oldest] = this.#pages;
    if (this.#pages.size > maxPages && oldest !== undefined) this.complete(oldest[0]);
    void topic.join(this);
  }

  /** Nothing more is said of a page. */
  complete(elicitationId: unknown): void {
    this.#pages?.get(elicitationId)?.leave(this);
    this.#pages?.delete(elicitationId);
  }

  follow(task: BegunTask, auth: Auth | undefined): void {
    this.#following ??= createFollowing();
    const send = (method: string, params: JsonObject): Promise<void> | undefined =>
      this.#reader.tell(encodeMessage({ kind: "notification", method, params }));
    this.#following.follow(task, { service: this.#service, codec: this.codec, auth, send });
  }

  /** `news` is what the text is about. */
  tell(news: string, text: string): void {
    if (this.#waiting !== undefined) return void this.#waiting.set(news, text);
    const slow = this.#reader.tell(text);
    if (slow !== undefined) void this.#tellRest(slow);
  }

  async #tellRest(slow: Promise<void>): Promise<void> {
    const waiting = new Map<string, string>();
    this.#waiting = waiting;
    await slow;
    for (const [news, text] of waiting) {
      waiting.delete(news);
      await this.#reader.tell(text);
    }
    this.#waiting = undefined;
  }

  #topic(wanted: ListenFilter): Topic | undefined {
    const filter = honoured(wanted, this.#capabilities);
    return Object.keys(filter).length === 0 ? undefined : this.#find(filter, this.#auth);
  }

  #topics(): readonly Topic[] {
    const some = [...(this.#resources?.values() ?? []), ...(this.#pages?.values() ?? [])];
    return this.#lists === undefined ? some : [this.#lists, ...some];
  }

  /** What the service has ended on its own begins again when a client shows that it cares. */
  #listenAgain(): void {
    for (const topic of this.#topics()) void topic.listen();
  }

  #drop(uri: string, topic: Topic): void {
    this.#resources?.delete(uri);
    topic.leave(this);
  }
}

const none: readonly string[] = [];

interface TopicOptions {
  readonly service: Service;
  readonly filter: ListenFilter;
  readonly auth: Auth | undefined;
  /** Hears that nobody listens any more. */
  left(): void;
}

/** Something that sessions hear of together. */
class Topic {
  readonly #options: TopicOptions;
  readonly #members = new Set<Member>();
  /** Of the call that listens, while there is one. */
  #abort: LazyAbort | undefined;
  #confirmed: Promise<Failure | undefined> | undefined;

  constructor(options: TopicOptions) {
    this.#options = options;
  }

  /** Resolves when the service listens, or with the reason why not. */
  join(member: Member): Promise<Failure | undefined> {
    this.#members.add(member);
    return this.listen();
  }

  leave(member: Member): void {
    if (!this.#members.delete(member) || this.#members.size > 0) return;
    this.#options.left();
    const abort = this.#abort;
    this.#abort = undefined;
    abort?.abort("nobody listens any more");
  }

  listen(): Promise<Failure | undefined> {
    this.#confirmed ??= this.#call();
    return this.#confirmed;
  }

  #call(): Promise<Failure | undefined> {
    const { service, filter, auth } = this.#options;
    const abort = new LazyAbort();
    this.#abort = abort;
    return new Promise((resolve) => {
      const call = createCall({
        method: "subscriptions/listen",
        params: { notifications: filter },
        peer: { revision: newest, capabilities: {}, ...(auth !== undefined && { auth }) },
        abort,
        notify: (method, params) => {
          if (this.#abort !== abort) return undefined;
          if (method === "notifications/subscriptions/acknowledged") resolve(undefined);
          else this.#tell(method, params);
          return undefined;
        },
      });
      void settle(() => service(call)).then((failure) => {
        if (this.#abort === abort) this.#ended();
        resolve(failure);
      });
    });
  }

  #ended(): void {
    this.#abort = undefined;
    this.#confirmed = undefined;
  }

  #tell(method: string, params: JsonObject): void {
    if (!belongs(method, params, this.#options.filter)) return;
    const what = params.uri ?? params.elicitationId;
    const news = typeof what === "string" ? `${method} ${what}` : method;
    const texts = new Map<ServerCodec, string | undefined>();
    for (const member of [...this.#members]) {
      const { codec } = member;
      if (!texts.has(codec)) texts.set(codec, encode(codec, method, params));
      const text = texts.get(codec);
      if (text !== undefined) member.tell(news, text);
      if (method === elicitationComplete) member.complete(params.elicitationId);
    }
  }
}

/** A service may tell more than it was asked for, and would so tell some of it several times. */
function belongs(method: string, params: JsonObject, filter: ListenFilter): boolean {
  const change = notificationToChange(method, params);
  if (change === undefined) return true;
  // What was updated may be a part of what was subscribed to.
  return change.kind === "resource" ? filter.resourceSubscriptions !== undefined : isWanted(change, filter);
}

function encode(codec: ServerCodec, method: string, params: JsonObject): string | undefined {
  const encoded = codec.encodeNotification(method, params);
  if (encoded === undefined) return undefined;
  return encodeMessage({ kind: "notification", method: codec.notificationName(method), params: encoded });
}
