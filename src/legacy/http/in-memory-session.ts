import type { Channel, Sender } from "../../jsonrpc/channel.ts";
import { createPeer } from "../../jsonrpc/create-peer.ts";
import type { Exchange } from "../../jsonrpc/inbound.ts";
import {
  encodeMessage,
  type Incoming,
  type Message,
  type Notification,
  type Parsed,
  type Request,
} from "../../jsonrpc/message.ts";
import type { PeerHandlers, RpcPeer } from "../../jsonrpc/peer.ts";
import type { DiscoverResult } from "../../model/methods.ts";
import type { Auth } from "../../model/peer.ts";
import { isSince } from "../../model/revision.ts";
import type { CallOrigin, Service } from "../../model/service.ts";
import type { Clock } from "../../std/clock.ts";
import type { Deadlines } from "../../std/deadlines.ts";
import { createGate } from "../../std/gate.ts";
import type { HttpFacts } from "../../std/http-facts.ts";
import { openLiveSink, type SinkRules } from "../../transport/http/event-sink.ts";
import type { Beating, Pulse } from "../../transport/http/heartbeat.ts";
import {
  type EventSink,
  type HttpHeaders,
  type HttpReply,
  refusal,
  sendAnswer,
} from "../../transport/http/http-message.ts";
import type { Feed, FeedOptions } from "../session/change-feed.ts";
import { createServerSession, type ResumableSession, type SessionRecord } from "../session/server-session.ts";
import type { NewsReader, SharedFeed } from "../session/shared-feed.ts";
import { type AnswerStream, answersOf, batchProblem, itemsOf, type PostRules, PostWay } from "./post-response.ts";
import { createStreams, type Streams, type StreamsOptions } from "./session-streams.ts";

/** What the sessions of one endpoint have in common. */
export interface SessionRules extends CallRules, StreamsOptions {
  /** Tells sessions of changes. */
  readonly feed: SharedFeed;
  /** Looks for sessions in which nothing is going on any more. */
  readonly rest: Pulse;
}

/** One client between its `initialize` and its DELETE. */
export interface HttpSession {
  readonly id: string;
  /** Who opened it. It is there for nobody else. */
  readonly principal: string | undefined;
  /** When the client was last heard of. */
  seen: number;
  /** Takes what a POST brought. */
  post(message: Parsed, http: HttpFacts, reply: HttpReply): void;
  /** Opens the session with `initialize`; `settled` hears once whether that went well. */
  open(hello: Request, post: { http: HttpFacts; reply: HttpReply }, settled: (ok: boolean) => void): void;
  /** Serves a GET: a stream of what is not an answer, or the rest of a stream that broke. */
  get(lastEventId: string | undefined, reply: HttpReply): "opened" | "too many" | "over";
  /** True while a connection or a call is open. */
  readonly busy: boolean;
  /** Keeps no more than a record, if nothing has been going on since this was last called. */
  beat(): void;
  /** What is left to know of it, while nothing is going on. */
  readonly record: SessionRecord | undefined;
  /** Ends everything. Idempotent. */
  close(): Promise<void>;
  /** Ends streams that only wait for news, and resolves when all calls are answered. */
  drain(): Promise<void>;
}

export function createHttpSession(id: string, rules: SessionRules, auth?: Auth): HttpSession {
  return new RestingSession(id, rules, auth);
}

/**
 * A session that is a record, its streams and its place in the feed, most of the
 * time. What a call needs is there from a request on until nothing has been
 * going on for a moment.
 */
class RestingSession implements HttpSession, SessionHome, NewsReader, Beating {
  previous: Beating | undefined = undefined;
  next: Beating | undefined = undefined;
  readonly id: string;
  seen: number;
  readonly #rules: SessionRules;
  readonly #auth: Auth | undefined;
  #active: ActiveSession | undefined;
  #record: SessionRecord | undefined;
  #feed: Feed | undefined;
  #streams: Streams | undefined;
  #closed = false;

  constructor(id: string, rules: SessionRules, auth: Auth | undefined) {
    this.id = id;
    this.#rules = rules;
    this.#auth = auth;
    this.seen = rules.clock.now();
  }

  get principal(): string | undefined {
    return this.#auth?.principal;
  }

  get busy(): boolean {
    return (this.#active !== undefined && this.#active.calls > 0) || this.#streams?.attached === true;
  }

  get record(): SessionRecord | undefined {
    return this.#record;
  }

  post(message: Parsed, http: HttpFacts, reply: HttpReply): void {
    const active = this.#wake();
    const problem = message.kind === "batch" ? batchProblem(message, active.acceptsBatches()) : undefined;
    if (problem !== undefined) return void refuse(reply, problem);
    if (answersOf(message) > 0) return void active.rpc.take(message, wayOf(message, { http, reply }, active));
    active.rpc.take(message, active.asideFor(http));
    reply.send(202, {}, "");
  }

  open(hello: Request, post: { http: HttpFacts; reply: HttpReply }, settled: (ok: boolean) => void): void {
    const active = this.#wake();
    const way = wayOf(hello, post, active);
    // Its head says how it went, and so has to wait for that.
    this.#rules.pulse.delete(way);
    active.rpc.take(hello, {
      http: post.http,
      send: (message) => {
        const ok = message.kind === "success";
        way.headers = ok ? { "mcp-session-id": this.id } : {};
        const slow = way.send(message);
        settled(ok);
        return slow;
      },
    });
  }

  get(lastEventId: string | undefined, reply: HttpReply): "opened" | "too many" | "over" {
    const { streams } = this;
    if (lastEventId !== undefined && streams.isOver(lastEventId)) return "over";
    const found = streams.find(lastEventId);
    if (found === undefined) return "too many";
    openLiveSink(reply, this.#rules, { "mcp-session-id": this.id }, found);
    return "opened";
  }

  async close(): Promise<void> {
    this.#feed?.stop();
    if (this.#active === undefined) this.ended();
    else await this.#active.rpc.close("the session is over");
  }

  async drain(): Promise<void> {
    this.#feed?.stop();
    if (this.#active === undefined) this.ended();
    else await this.#active.rpc.drain();
  }

  /** Goes to rest if nothing is going on. While a call is open, nobody needs to look. */
  beat(): void {
    const active = this.#active;
    if (active === undefined || active.calls > 0) return void this.#rules.rest.delete(this);
    if (active.used || active.busy) {
      active.used = false;
      return;
    }
    this.#record = active.session.record();
    this.#active = undefined;
    this.#rules.rest.delete(this);
  }

  get streams(): Streams {
    // The revision is known by now: there is nothing to write before the handshake.
    this.#streams ??= createStreams(this.#rules, this.primes ? yes : no);
    return this.#streams;
  }

  createStream(): AnswerStream {
    return this.streams.create();
  }

  get primes(): boolean {
    const revision = this.#record?.peer.revision ?? this.#active?.session.revision;
    return revision !== undefined && isSince(revision, "2025-11-25");
  }

  get feed(): Feed | undefined {
    return this.#feed;
  }

  createFeed({ codec, capabilities }: FeedOptions): Feed {
    this.#feed = this.#rules.feed.join({ codec, capabilities, auth: this.#auth, reader: this });
    return this.#feed;
  }

  tell(text: string): Promise<void> | undefined {
    return this.#closed ? undefined : this.streams.news().write(text);
  }

  calmed(): void {
    this.#rules.rest.add(this);
  }

  ended(): void {
    this.#closed = true;
    this.#streams?.endAll();
  }

  #wake(): ActiveSession {
    if (this.#active !== undefined) {
      this.#active.used = true;
      return this.#active;
    }
    const active = new ActiveSession(this, this.#rules, this.#record);
    this.#active = active;
    this.#record = undefined;
    this.#rules.rest.add(this);
    if (this.#closed) void active.rpc.close("the session is over");
    return active;
  }
}

const yes = (): boolean => true;
const no = (): boolean => false;

function wayOf(
  message: Parsed,
  { http, reply }: { http: HttpFacts; reply: HttpReply },
  active: ActiveSession,
): PostWay {
  active.calls++;
  return new PostWay({ http, reply, posted: message, expected: answersOf(message) }, active);
}

function refuse(reply: HttpReply, problem: string): void {
  sendAnswer(reply, refusal(400, problem));
}

/** What sessions need for their calls. */
export interface CallRules extends SinkRules {
  readonly service: Service;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly maxConcurrent: number;
  readonly maxOpen: number;
  readonly askTimeoutMs: number;
  readonly drainMs: number;
  readonly alwaysStream: boolean;
  discover(client: CallOrigin): Promise<DiscoverResult>;
}

/** What stays of a session when nothing is going on. */
export interface SessionHome {
  /** A stream for the answers to what was posted. */
  createStream(posted: Parsed): AnswerStream;
  /** Begins the ids of questions, where they are asked by several processes. */
  readonly idPrefix?: string | undefined;
  /** True when the client understands a stream that ends early. */
  readonly primes: boolean;
  readonly feed: Feed | undefined;
  createFeed(options: FeedOptions): Feed;
  /** Writes what belongs to no call. */
  tell(text: string): Promise<void> | undefined;
  /** Hears that no POST waits for an answer. */
  calmed(): void;
  /** Hears that nothing more is to be said. */
  ended(): void;
}

/** What a session needs while something is going on: a peer with its requests, the calls that run, the way of each. */
export class ActiveSession implements Channel, PeerHandlers, PostRules {
  readonly incoming: AsyncIterable<readonly Incoming[]> = nothing;
  readonly pulse: Pulse;
  readonly alwaysStream: boolean;
  readonly rpc: RpcPeer;
  readonly session: ResumableSession;
  readonly #home: SessionHome;
  readonly #rules: CallRules;
  /** POSTs that wait for an answer. */
  calls = 0;
  /** True when it was used since somebody looked. */
  used = true;

  /** Goes on from a record, else waits for `initialize`. */
  constructor(home: SessionHome, rules: CallRules, record?: SessionRecord) {
    const { service, clock, deadlines, maxOpen, drainMs, askTimeoutMs } = rules;
    this.#home = home;
    this.#rules = rules;
    this.pulse = rules.pulse;
    this.alwaysStream = rules.alwaysStream;
    const ids = { firstId: record?.nextId, idPrefix: home.idPrefix };
    this.rpc = createPeer(this, this, { maxOpen, drainMs, clock, deadlines, ...ids });
    this.session = createServerSession({
      service,
      peer: this.rpc,
      gate: createGate({ maxRunning: rules.maxConcurrent, maxWaiting: Number.POSITIVE_INFINITY }),
      clock,
      askTimeoutMs,
      discover: rules.discover,
      createFeed: (options) => home.createFeed(options),
      resume: record === undefined || home.feed === undefined ? undefined : { record, feed: home.feed },
    });
  }

  /** True while it cannot be done without. */
  get busy(): boolean {
    return this.calls > 0 || this.session.busy || this.rpc.isBusy();
  }

  request(exchange: Exchange): Promise<void> | undefined {
    return this.session.request(exchange);
  }

  notification(notification: Notification, via: Sender): void {
    this.session.notification(notification, via);
  }

  acceptsBatches(): boolean {
    return this.session.acceptsBatches();
  }

  send(message: Message): Promise<void> | undefined {
    return this.#home.tell(encodeMessage(message));
  }

  async close(): Promise<void> {
    this.#home.ended();
  }

  get aside(): Sender {
    return this;
  }

  /** For what a POST brought that is not answered. */
  asideFor(http: HttpFacts): Sender {
    return { http, send: (message) => this.send(message) };
  }

  cancel(posted: Parsed): void {
    for (const item of itemsOf(posted)) {
      if (item.kind !== "request") continue;
      const params = { requestId: item.id, reason: "the platform ended the request" };
      this.rpc.take({ kind: "notification", method: "notifications/cancelled", params }, this);
    }
  }

  get resumable(): boolean {
    return this.#home.primes;
  }

  createStream(posted: Parsed): AnswerStream {
    return this.#home.createStream(posted);
  }

  openSink(to: HttpReply, headers: HttpHeaders): EventSink {
    return openLiveSink(to, this.#rules, headers);
  }

  done(): void {
    if (--this.calls === 0) this.#home.calmed();
  }
}

const nothing: AsyncIterable<readonly Incoming[]> = {
  [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
};
