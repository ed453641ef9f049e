import { encodeMessage, type Notification, type Parsed, parseText, type Request } from "../../jsonrpc/message.ts";
import { authOf } from "../../model/authenticator.ts";
import type { Auth } from "../../model/peer.ts";
import { isSince } from "../../model/revision.ts";
import type { HttpFacts } from "../../std/http-facts.ts";
import type { Beating, Pulse } from "../../transport/http/heartbeat.ts";
import { type HttpHead, type HttpReply, refusal, sendAnswer } from "../../transport/http/http-message.ts";
import type { Feed, FeedOptions } from "../session/change-feed.ts";
import { relay, type Telling } from "./cluster.ts";
import { ActiveSession, type SessionHome } from "./in-memory-session.ts";
import { changesSession, KeepingWay } from "./kept-response.ts";
import { type AnswerStream, answersOf, batchProblem, PostWay, saysReady } from "./post-response.ts";
import { SessionWriters } from "./response-stream.ts";
import { SessionReaders } from "./session-readers.ts";
import { type Asides, createAsides, createRecordFeed, type SharedRules, unavailable } from "./session-rules.ts";
import { type Kept, type KeptSession, randomName, toKept } from "./session-store.ts";

export interface SharedSessionOptions {
  readonly id: string;
  readonly rules: SharedRules;
  /** Looks for sessions in which nothing is going on in this process any more. */
  readonly rest: Pulse;
  /** Hears that this process has nothing to do with it any more. */
  left(): void;
}

interface Posting {
  readonly http: HttpFacts;
  readonly reply: HttpReply;
}

/** How often a session that lives for ever is looked for in the store. */
const LOOK_AGAIN_MS = 450_000;

/**
 * What one process has of a session that several serve: calls that run here, and
 * connections that end here. The rest is in the store, and read for every request.
 */
export class SharedSession implements SessionHome, Beating {
  previous: Beating | undefined = undefined;
  next: Beating | undefined = undefined;
  /** Each time something begins to go on, ids are others. */
  idPrefix = "";
  readonly #options: SharedSessionOptions;
  readonly #rules: SharedRules;
  readonly #writers: SessionWriters;
  #readers: SessionReaders | undefined;
  #active: ActiveSession | undefined;
  #kept: Kept | undefined;
  #feed: Feed | undefined;
  #touched = Number.NEGATIVE_INFINITY;
  #used = true;
  #over = false;
  #asides: Asides | undefined;

  constructor(options: SharedSessionOptions) {
    this.#options = options;
    this.#rules = options.rules;
    this.#writers = new SessionWriters(options.id, options.rules);
    options.rest.add(this);
  }

  get kept(): Kept | undefined {
    return this.#kept;
  }

  /** Goes on with what the store has. */
  adopt(kept: Kept): void {
    this.#used = true;
    if (kept.version === this.#kept?.version) return;
    this.#kept = kept;
    this.#active?.session.adopt(kept.session);
  }

  post(message: Parsed, posting: Posting): void {
    const active = this.#wake();
    const problem = message.kind === "batch" ? batchProblem(message, active.acceptsBatches()) : undefined;
    if (problem !== undefined) return void sendAnswer(posting.reply, refusal(400, problem));
    if (message.kind === "request") return void this.#call(message, posting, active);
    const handedOn = this.#handOn(message);
    if (answersOf(message) > 0) {
      handedOn.catch(() => {});
      return void this.#call(message, posting, active);
    }
    void active.rpc.take(message, active.asideFor(posting.http));
    handedOn.then(
      () => posting.reply.send(202, {}, ""),
      () => sendAnswer(posting.reply, unavailable),
    );
  }

  /** Opens the session with `initialize`; `settled` hears once whether that went well. */
  open(hello: Request, posting: Posting, settled: (ok: boolean) => void): void {
    const active = this.#wake();
    const way = this.#wayOf(hello, posting, active);
    // Its head says how it went, and so has to wait for that.
    this.#rules.pulse.delete(way);
    const refuse = (): void => {
      way.refuse(unavailable);
      settled(false);
    };
    active.rpc.take(hello, {
      http: posting.http,
      send: (message) => {
        if (message.kind === "success") {
          // What cannot be said must not be kept.
          encodeMessage(message);
          const welcome = (): void => {
            way.headers = { "mcp-session-id": this.#options.id };
            void way.send(message);
            settled(true);
          };
          return this.#begin(active, authOf(posting.http)).then(welcome, refuse);
        }
        const slow = way.send(message);
        settled(false);
        return slow;
      },
    });
  }

  get(head: HttpHead, reply: HttpReply): Promise<"opened" | "too many" | "over"> {
    this.#readers ??= new SessionReaders({
      session: this.#options.id,
      rules: this.#rules,
      primes: this.primes,
      kept: () => this.#known(),
    });
    return this.#readers.get(head, reply);
  }

  /** Hears what another process, or this one, has told of it. */
  told(telling: Telling): void {
    if (telling.kind === "closed") return void this.close();
    if (telling.kind === "changed") return void this.look().catch(() => {});
    if (telling.kind === "cancelled") {
      const { params } = telling;
      const cancel: Notification = { kind: "notification", method: "notifications/cancelled", params };
      if (telling.by !== this.#rules.node.id) this.#active?.rpc.take(cancel, this.#active);
      return;
    }
    if (telling.kind === "taken") this.#writers.taken(telling.stream);
    this.#readers?.told(telling);
  }

  /** An answer to a question that was asked here. */
  answered(text: string): void {
    if (this.#active !== undefined) this.#active.rpc.take(parseText(text), this.#active);
  }

  /** Sees what the store has to say. */
  async look(): Promise<void> {
    if (this.#kept === undefined) return;
    const kept = await this.#rules.shelf.find(this.#options.id, this.#kept);
    if (kept === undefined) return this.close();
    this.adopt(kept);
    this.#readers?.refresh();
  }

  /** Ends everything that is here. Idempotent. */
  close(): void {
    if (this.#over) return;
    this.#leave();
    void this.#readers?.endAll();
    void this.#active?.rpc.close("the session is over");
  }

  /** Answers what is open, and leaves the session to other processes. */
  async drain(): Promise<void> {
    await Promise.all([this.#readers?.endAll(), this.#active?.rpc.drain()]);
    await this.#writers.quiet(() => (this.#active?.calls ?? 0) > 0);
    this.#leave();
  }

  /** Keeps the session alive while something is going on; forgets it here when nothing is. */
  beat(): void {
    if (!this.#used && this.#active?.busy === false) this.#active = undefined;
    const busy = this.#active?.busy === true || this.#writers.size > 0 || (this.#readers?.size ?? 0) > 0;
    if (busy) this.touch();
    else if (!this.#used) this.#leave();
    this.#used = false;
  }

  /** Gives it another time to live, now and then. */
  touch(): void {
    const { clock, sessionTtlMs, shelf } = this.#rules;
    const interval = sessionTtlMs > 0 ? sessionTtlMs / 4 : LOOK_AGAIN_MS;
    if (this.#kept === undefined || clock.now() - this.#touched < interval) return;
    this.#touched = clock.now();
    shelf.touch(this.#options.id, this.#kept.session).then(
      (there) => (there ? undefined : this.close()),
      () => {
        this.#touched = Number.NEGATIVE_INFINITY;
      },
    );
  }

  createStream(posted: Parsed): AnswerStream {
    return this.#writers.create(posted, this.primes);
  }

  get primes(): boolean {
    const revision = this.#kept?.session.peer.revision ?? this.#active?.session.revision;
    return revision !== undefined && isSince(revision, "2025-11-25");
  }

  get feed(): Feed | undefined {
    return this.#feed;
  }

  createFeed({ capabilities }: Pick<FeedOptions, "capabilities">): Feed {
    const auth = (): Auth | undefined => this.#kept?.session.peer.auth;
    this.#feed = createRecordFeed({ session: this.#options.id, capabilities, auth, rules: this.#rules });
    return this.#feed;
  }

  tell(text: string): Promise<void> {
    this.#asides ??= createAsides(this.#rules, this.#options.id);
    return this.#asides.tell(text);
  }

  calmed(): void {
    this.#used = true;
    this.#writers.answered();
  }

  ended(): void {
    void this.#readers?.endAll();
  }

  #wake(): ActiveSession {
    this.#used = true;
    if (this.#active !== undefined) return this.#active;
    const session = this.#kept?.session;
    this.idPrefix = `${this.#rules.node.id}.${randomName()}.`;
    if (session !== undefined) this.createFeed(session);
    this.#active = new ActiveSession(this, this.#rules, session && { ...session, nextId: 1, subscriptions: [] });
    if (this.#over) void this.#active.rpc.close("the session is over");
    return this.#active;
  }

  #known(): KeptSession {
    if (this.#kept === undefined) throw new Error("the session is not open yet");
    return this.#kept.session;
  }

  #wayOf(posted: Parsed, { http, reply }: Posting, active: ActiveSession): PostWay {
    active.calls++;
    return new PostWay({ http, reply, posted, expected: answersOf(posted) }, active);
  }

  #call(message: Parsed, posting: Posting, active: ActiveSession): void {
    const way = this.#wayOf(message, posting, active);
    const kept = changesSession(message) ? new KeepingWay(way, message, (change) => this.#change(change)) : way;
    void active.rpc.take(message, kept);
  }

  /** What is not for this process alone: kept, or told to others. */
  async #handOn(message: Parsed): Promise<void> {
    await relay(message, this.#options.id, this.#rules.node);
    if (this.#kept?.session.ready === true || !saysReady(message)) return;
    const since = await this.#rules.shelf.lastChange();
    await this.#change((session) => (session.ready ? session : { ...session, ready: true, since }));
  }

  async #begin(active: ActiveSession, auth: Auth | undefined): Promise<void> {
    const record = active.session.record();
    if (record === undefined) throw new Error("there was no handshake");
    this.#kept = await this.#rules.shelf.open(this.#options.id, toKept(record, auth));
    this.#touched = this.#rules.clock.now();
  }

  async #change(change: (session: KeptSession) => KeptSession): Promise<void> {
    const { id, rules } = this.#options;
    try {
      const kept = await rules.shelf.change(id, change);
      if (kept === undefined) return this.close();
      this.adopt(kept);
      await rules.node.tell({ kind: "changed", session: id });
    } catch (error) {
      if (this.#kept !== undefined) this.#active?.session.adopt(this.#kept.session);
      throw error;
    }
  }

  #leave(): void {
    this.#over = true;
    this.#options.rest.delete(this);
    this.#options.left();
  }
}
