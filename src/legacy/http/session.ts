import { encodeMessage, type Notification, type Parsed, parseText, type Request } from "../../jsonrpc/message.ts";
import { authOf } from "../../protocol/authenticator.ts";
import type { Account } from "../../protocol/budget.ts";
import type { Failure } from "../../protocol/errors.ts";
import type { LimitReached } from "../../protocol/limit-error.ts";
import type { Auth } from "../../protocol/peer.ts";
import { isSince } from "../../protocol/revision.ts";
import { listenerOf } from "../../protocol/session.ts";
import { type Awaitable, chain, promised } from "../../std/awaitable.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import { isUnavailable } from "../../store/store.ts";
import type { Caller } from "../../transport/caller.ts";
import type { Heartbeat, HeartbeatListener } from "../../transport/http/heartbeat.ts";
import { type HttpHead, type HttpReply, refusal, sendAnswer } from "../../transport/http/http-message.ts";
import { limitAnswer } from "../../transport/http/limit-answer.ts";
import type { Feed, FeedOptions } from "../session/change-feed.ts";
import { ActiveSession, type ActiveSessionHost } from "./active-session.ts";
import { type ClusterEvent, relay } from "./cluster.ts";
import type { HeldSession } from "./held-session.ts";
import type { ReadersSession } from "./notification-stream.ts";
import {
  type AnswerStream,
  answersOf,
  batchProblem,
  changesSession,
  excess,
  PersistingSender,
  PostResponse,
  saysReady,
  unavailable,
} from "./post-response.ts";
import { ResponseStreams } from "./response-stream.ts";
import { createSessionFeed } from "./session-changes.ts";
import { SessionReaders } from "./session-readers.ts";
import { SessionReplay } from "./session-replay.ts";
import type { SessionRules } from "./session-rules.ts";
import { type KeptSession, randomName, type StoredSession, toKept } from "./session-store.ts";

/** What all sessions of a process have in common. */
export interface SessionHost {
  readonly rules: SessionRules;
  /** Looks for sessions in which nothing is going on in this process any more. */
  readonly rest: Heartbeat;
  /** Called when the session has no activity here; `isOver` when it has ended. */
  left(session: HttpSession, isOver: boolean): void;
}

interface Posting {
  readonly http: HttpRequestInfo;
  readonly reply: HttpReply;
}

/** How often a session that lives for ever is looked for in the store. */
const LOOK_AGAIN_MS = 450_000;

/**
 * What one process has of a session that several serve: calls that run here, and
 * connections that end here. The rest is in the store, and read for every request.
 */
export class HttpSession implements ActiveSessionHost, ReadersSession, HeartbeatListener {
  previous: HeartbeatListener | undefined = undefined;
  next: HeartbeatListener | undefined = undefined;
  /** Each time something begins to go on, ids are others. */
  idPrefix = "";
  readonly id: string;
  /** Whose shares its calls, streams and answers are taken of. */
  readonly share: Account;
  readonly #host: SessionHost;
  /** Where this process opened the session. */
  readonly held: HeldSession | undefined;
  readonly #replay: SessionReplay;
  /** Made for what is posted, as calls come and go. */
  #responses: ResponseStreams | undefined;
  #readers: SessionReaders | undefined;
  #active: ActiveSession | undefined;
  #kept: StoredSession | undefined;
  #feed: Feed | undefined;
  #touched = Number.NEGATIVE_INFINITY;
  #used = true;
  #over = false;
  /** What is kept before it is told to other processes. */
  #keeping: Promise<void> | undefined;

  constructor(id: string, host: SessionHost, share: Account, held: HeldSession | undefined) {
    this.id = id;
    this.share = share;
    this.#host = host;
    this.held = held;
    this.#replay = held?.replay ?? new SessionReplay(id, host.rules, share);
    host.rest.add(this);
  }

  /** Made for who has calls: most sessions have none at a time. */
  get caller(): Caller {
    return this.rules.gate.caller(this.share);
  }

  get rules(): SessionRules {
    return this.#host.rules;
  }

  get kept(): StoredSession | undefined {
    return this.#kept;
  }

  /** Continues from the record in the store. */
  adopt(kept: StoredSession): void {
    this.#used = true;
    if (kept.version === this.#kept?.version) return;
    this.#kept = kept;
    if (this.held !== undefined) this.held.kept = kept;
    this.#active?.session.adopt(kept.session);
  }

  post(message: Parsed, posting: Posting): void {
    const active = this.#wake();
    const problem = message.kind === "batch" ? batchProblem(message, active.acceptsBatches()) : undefined;
    if (problem !== undefined) return void sendAnswer(posting.reply, refusal(400, problem));
    const tooMany = message.kind === "batch" ? excess(message, this.rules.ledger) : undefined;
    if (tooMany !== undefined) return void sendAnswer(posting.reply, limitAnswer(tooMany));
    if (message.kind === "request") return void this.#call(message, posting, active);
    // A client that says that it is ready, in a batch with requests, means them to be answered.
    if (answersOf(message) > 0) {
      void promised(() => this.#handOn(message)).catch(() => {});
      return void this.#call(message, posting, active);
    }
    void active.rpc.receive(message, active.asideFor(posting.http, posting.reply));
    this.#accept(message, posting);
  }

  /** Opens the session with `initialize`; `settled` is called once with its success. */
  open(initialize: Request, posting: Posting, settled: (ok: boolean) => void): void {
    const active = this.#wake();
    const response = this.#responseTo(initialize, posting, active);
    // Its head says how it went, and so has to wait for that.
    this.rules.heartbeat.delete(response);
    const refuse = (): void => {
      response.refuse(unavailable);
      settled(false);
    };
    active.rpc.receive(initialize, {
      http: posting.http,
      send: (message) => {
        if (message.kind === "success") {
          // What cannot be said must not be kept.
          encodeMessage(message);
          const answer = (short: LimitReached | undefined): void => {
            if (short !== undefined) {
              response.refuse(limitAnswer(short, initialize.id));
              settled(false);
              return;
            }
            response.headers = { "mcp-session-id": this.id };
            void response.send(message);
            settled(true);
          };
          const kept = this.#begin(active, authOf(posting.http));
          if (kept instanceof Promise) return kept.then(answer, refuse);
          answer(kept);
          return undefined;
        }
        const slow = response.send(message);
        settled(false);
        return slow;
      },
    });
  }

  /** Serves a GET. Resolves when it is answered, if only with a stream that is open. */
  get(head: HttpHead, reply: HttpReply): Promise<void> {
    this.#readers ??= new SessionReaders(this);
    return this.#readers.get(head, reply);
  }

  /** Handles a message of another process, or of this one. */
  told(event: ClusterEvent): void {
    if (event.kind === "closed") return void this.close();
    if (event.kind === "changed") return void this.look().catch(() => {});
    if (event.kind === "cancelled") {
      const { params } = event;
      const cancel: Notification = { kind: "notification", method: "notifications/cancelled", params };
      if (event.by !== this.rules.node.id) this.#active?.rpc.receive(cancel, this.#active);
      return;
    }
    if (event.kind === "taken") this.#responses?.taken(event.stream);
    this.#readers?.told(event);
  }

  /** An answer to a question that was asked here. */
  answered(text: string): void {
    if (this.#active !== undefined) this.#active.rpc.receive(parseText(text), this.#active);
  }

  /** Sees what the store has to say. */
  async look(): Promise<void> {
    if (this.#kept === undefined) return;
    const kept = await this.rules.sessions.find(this.id, this.#kept);
    if (kept === undefined) return this.close();
    this.adopt(kept);
    this.#readers?.refresh();
  }

  /** Ends everything that is here. Idempotent. */
  close(): void {
    if (this.#over) return;
    this.#leave(true);
    void this.#readers?.endAll();
    void this.#active?.rpc.close("the session is over");
  }

  /** Answers what is open, and leaves the session to other processes. */
  async drain(): Promise<void> {
    await Promise.all([this.#readers?.endAll(), this.#active?.rpc.drain()]);
    await this.#responses?.quiet(() => (this.#active?.calls ?? 0) > 0);
    this.#leave(false);
  }

  /** True while a connection or a call is open here. */
  get busy(): boolean {
    return (this.#active?.calls ?? 0) > 0 || (this.#responses?.size ?? 0) > 0 || (this.#readers?.size ?? 0) > 0;
  }

  /** Keeps the session alive while something is going on; forgets it here when nothing is. */
  beat(): void {
    if (!this.#used && this.#active?.busy === false) this.#relax();
    if (this.busy || this.#active?.busy === true) this.#extendLifetime();
    else if (!this.#used) this.#leave(false);
    this.#used = false;
  }

  /** Gives it another time to live, now and then. */
  touch(now: number): void {
    const { sessionTtlMs, sessions } = this.rules;
    const interval = sessionTtlMs > 0 ? sessionTtlMs / 4 : LOOK_AGAIN_MS;
    if (this.rules.alone || this.#kept === undefined || now - this.#touched < interval) return;
    const { session } = this.#kept;
    // Until its client says that it is ready, nothing gives it more time.
    if (!session.ready) return;
    this.#touched = now;
    promised(() => sessions.touch(this.id, session)).then(
      (there) => (there ? undefined : this.close()),
      () => {
        this.#touched = Number.NEGATIVE_INFINITY;
      },
    );
  }

  createStream(posted: Parsed, http: HttpRequestInfo): AnswerStream {
    return this.#streams().create(posted, this.primes, authOf(http)?.scopes);
  }

  whole(texts: readonly string[], http: HttpRequestInfo): string {
    return this.#streams().whole(texts, this.primes, authOf(http)?.scopes);
  }

  get record(): KeptSession {
    if (this.#kept === undefined) throw new Error("the session is not open yet");
    return this.#kept.session;
  }

  readerLeft(): void {
    if (!this.#over) this.#host.rest.add(this);
  }

  get primes(): boolean {
    const revision = this.#kept?.session.peer.revision ?? this.#active?.session.revision;
    return revision !== undefined && isSince(revision, "2025-11-25");
  }

  get feed(): Feed | undefined {
    return this.#feed;
  }

  createFeed({ capabilities, peer }: Pick<FeedOptions, "capabilities" | "peer">): Feed {
    this.#feed = createSessionFeed({
      session: this.id,
      capabilities,
      client: listenerOf(this.rules.service, peer, this.id),
      rules: this.rules,
      held: this.held,
      owner: this.rules.alone ? undefined : this.share.owner,
      auth: () => this.#kept?.session.peer.auth,
      changed: () => this.#subscriptionsChanged(),
    });
    return this.#feed;
  }

  tell(text: string): Promise<void> | undefined {
    if (this.rules.alone) return this.held?.send(text);
    this.#keeping = (this.#keeping ?? Promise.resolve()).then(() => this.#keepAside(text));
    return this.#keeping;
  }

  /** A message was kept that belongs to no call. */
  aside(position: number, text: string): Promise<void> | undefined {
    return this.#readers?.aside(position, text);
  }

  calmed(): void {
    this.#used = true;
    this.#host.rest.add(this);
    this.#responses?.answered();
  }

  ended(): void {
    void this.#readers?.endAll();
  }

  /** Where no other process could let go of the session, nobody needs to look while a connection is open. */
  #extendLifetime(): void {
    const isOpen = (this.#active?.calls ?? 0) > 0 || (this.#active === undefined && this.busy);
    if (this.rules.alone && isOpen) this.#host.rest.delete(this);
    else this.touch(this.rules.clock.now());
  }

  #streams(): ResponseStreams {
    this.#responses ??= new ResponseStreams(this.id, this.rules, this.#replay, this.share);
    return this.#responses;
  }

  /** What calls need is not needed now. */
  #relax(): void {
    if (this.#responses?.size === 0) this.#responses = undefined;
    this.#active = undefined;
    this.#feed = undefined;
    this.idPrefix = "";
  }

  #wake(): ActiveSession {
    this.#used = true;
    return this.#active ?? this.#activate();
  }

  #activate(): ActiveSession {
    const session = this.#kept?.session;
    this.idPrefix = `${this.rules.node.id}.${randomName()}.`;
    if (session !== undefined) this.createFeed(session);
    this.#host.rest.add(this);
    this.#active = new ActiveSession(this, this.rules, session);
    if (this.#over) void this.#active.rpc.close("the session is over");
    return this.#active;
  }

  #responseTo(posted: Parsed, { http, reply }: Posting, active: ActiveSession): PostResponse {
    active.calls++;
    return new PostResponse({ http, reply, posted, expected: answersOf(posted) }, active);
  }

  #call(message: Parsed, posting: Posting, active: ActiveSession): void {
    const response = this.#responseTo(message, posting, active);
    const via = changesSession(message)
      ? new PersistingSender(response, message, (change) => this.#change(change))
      : response;
    void active.rpc.receive(message, via);
  }

  /** Says that what needs no answer was heard, when others have heard it too. */
  #accept(message: Parsed, { reply }: Posting): void {
    const refuse = (): void => sendAnswer(reply, unavailable);
    try {
      const handedOn = this.#handOn(message);
      if (handedOn instanceof Promise) void handedOn.then(() => reply.send(202, {}, ""), refuse);
      else reply.send(202, {}, "");
    } catch {
      refuse();
    }
  }

  /** What is not for this process alone: kept, or told to others. */
  #handOn(message: Parsed): Awaitable<unknown> {
    const relayed = this.rules.alone ? undefined : relay(message, this.id, this.rules.node);
    if (this.#kept?.session.ready === true || !saysReady(message)) return relayed;
    return chain<unknown, void>(relayed, () => this.#becomeReady());
  }

  #becomeReady(): Awaitable<void> {
    const { alone, sessions } = this.rules;
    return chain(alone ? 0 : sessions.lastChange(), (since) =>
      chain(
        this.#change((session) => (session.ready ? session : { ...session, ready: true, since })),
        () => {
          if (this.#kept === undefined) return;
          this.held?.observe(this.#kept.session);
          if (alone) this.held?.begin(this.#kept.session);
        },
      ),
    );
  }

  #begin(active: ActiveSession, auth: Auth | undefined): Awaitable<LimitReached | undefined> {
    const record = active.session.record();
    if (record === undefined) throw new Error("there was no handshake");
    // Nobody else has to know whose share it is taken of.
    const owner = this.rules.alone ? undefined : this.share.owner;
    const opened = toKept(record, auth, owner);
    const short = this.held?.takeRecord(opened);
    if (short !== undefined) return short;
    return chain(this.rules.sessions.open(this.id, opened), (kept) => {
      if (!("session" in kept)) return kept;
      this.#kept = kept;
      this.#touched = this.rules.clock.now();
      return undefined;
    });
  }

  #change(change: (session: KeptSession) => KeptSession): Awaitable<void> {
    const undo = (error: unknown): never => {
      if (this.#kept !== undefined) this.#active?.session.adopt(this.#kept.session);
      throw error;
    };
    try {
      const changed = chain(this.rules.sessions.change(this.id, change, this.#kept), (kept) => this.#changed(kept));
      return changed instanceof Promise ? changed.catch(undo) : changed;
    } catch (error) {
      return undo(error);
    }
  }

  #changed(kept: StoredSession | undefined): Awaitable<void> {
    if (kept === undefined) return this.close();
    this.adopt(kept);
    return this.rules.alone ? undefined : this.rules.node.tell({ kind: "changed", session: this.id });
  }

  async #subscriptionsChanged(): Promise<Failure | undefined> {
    if (this.rules.alone) return this.held?.refresh();
    await this.rules.node.tell({ kind: "changed", session: this.id });
    return undefined;
  }

  /** Never rejects: what the store does not take is lost, and that is said. */
  async #keepAside(text: string): Promise<void> {
    try {
      await this.#replay.addAside(text);
      await this.rules.node.tell({ kind: "aside", session: this.id });
    } catch (error) {
      const why = isUnavailable(error) ? "the store is away" : error;
      console.error("plugbay: a message to a client was not kept:", why);
    }
  }

  #leave(isOver: boolean): void {
    this.#over = true;
    if (this.held === undefined) this.#replay.release();
    this.#host.rest.delete(this);
    this.#host.left(this, isOver);
  }
}
