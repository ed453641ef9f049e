import type { Parsed, Request } from "../../../jsonrpc/message.ts";
import type { Feed, FeedOptions } from "../../../legacy/feed.ts";
import type { SessionRecord } from "../../../legacy/session-record.ts";
import type { NewsReader, SharedFeed } from "../../../legacy/shared-feed.ts";
import type { Auth } from "../../../model/peer.ts";
import { isSince } from "../../../model/revision.ts";
import type { HttpFacts } from "../../../std/http-facts.ts";
import { refusal } from "../http-message.ts";
import { type HttpReply, sendAnswer } from "../http-reply.ts";
import { openLiveSink } from "../live-sink.ts";
import type { Beating, Pulse } from "../pulse.ts";
import { ActiveSession, type CallRules, type SessionHome } from "./active-session.ts";
import { type AnswerStream, PostWay } from "./post-way.ts";
import { answersOf, batchProblem } from "./posted.ts";
import { createStreams, type Streams, type StreamsOptions } from "./streams.ts";

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
    active.rpc.take(message, active);
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
