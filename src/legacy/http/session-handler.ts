import type { Parsed, Request } from "../../jsonrpc/message.ts";
import { authOf } from "../../protocol/authenticator.ts";
import { endSession } from "../../protocol/session.ts";
import { type Awaitable, chain } from "../../std/awaitable.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { scopedStore } from "../../store/scoped-store.ts";
import { type Store, StoreError } from "../../store/store.ts";
import { createHeartbeat, type Heartbeat } from "../../transport/http/heartbeat.ts";
import {
  type HttpAnswer,
  type HttpHead,
  type HttpReply,
  refusal,
  sendAnswer,
} from "../../transport/http/http-message.ts";
import type { LegacyHandler, SessionHandlerOptions } from "../../transport/http/legacy-handlers.ts";
import { limitAnswer } from "../../transport/http/limit-answer.ts";
import { createChangeHub } from "../session/change-hub.ts";
import { type ClusterEvent, createNode, createSingleProcessNode, type Node } from "./cluster.ts";
import { createGreetings, type Greetings } from "./greetings.ts";
import { HeldSession, type HolderRules } from "./held-session.ts";
import { unavailable } from "./post-response.ts";
import { HttpSession, type SessionHost } from "./session.ts";
import { POLL_INTERVAL_MS, type SessionRules } from "./session-rules.ts";
import type { SessionMax } from "./session-shares.ts";
import {
  createSessionId,
  createSessionStore,
  createSessionWaits,
  INITIALIZED_TIMEOUT_MS,
  isSessionId,
  type StoredSession,
} from "./session-store.ts";

/**
 * Serves clients that open with `initialize`. Their sessions are in a store, so that every process with the store can
 * continue them.
 */
export function createSessionHandler(options: SessionHandlerOptions): LegacyHandler {
  const { given, name, clock } = options;
  const part = (store: Store): Awaitable<Store> => (name === undefined ? store : scopedStore(store, name));
  const store = options.store ?? (given && chain(given, part));
  if (store === undefined) return new SessionHandler(options, memoryStore({ clock }), true);
  return store instanceof Promise ? whenThere(store, options) : new SessionHandler(options, store, false);
}

/** Serves when the store is there. */
function whenThere(store: Promise<Store>, options: SessionHandlerOptions): LegacyHandler {
  let handler: SessionHandler | undefined;
  let isAsked = false;
  const opening = store.then((it) => {
    handler = new SessionHandler(options, it, false);
    return handler;
  });
  opening.catch(() => {});

  const use = (reply: HttpReply, work: (handler: SessionHandler) => void): void => {
    isAsked = true;
    if (handler !== undefined) work(handler);
    else opening.then(work, () => sendAnswer(reply, unavailable));
  };

  return {
    post: (message, head, reply) => use(reply, (it) => it.post(message, head, reply)),
    get: (head, reply) => use(reply, (it) => it.get(head, reply)),
    delete: (head, reply) => use(reply, (it) => it.delete(head, reply)),
    async drain() {
      if (isAsked) await (await opening.catch(() => undefined))?.drain();
    },
  };
}

/** Interval of the cleanup: a process drops a session without activity after one to two of these. */
const REST_MS = 5_000;
/** The same where reading it again costs next to nothing. */
const LONE_REST_MS = 100;
/** How often sessions are looked at, as a part of their time to live. */
const SWEEPS = 4;

class SessionHandler implements LegacyHandler {
  readonly #options: SessionHandlerOptions;
  readonly #rules: SessionRules;
  readonly #host: SessionHost;
  readonly #holder: HolderRules;
  /** The sessions with activity in this process. */
  readonly #active = new Map<string, HttpSession>();
  /** The sessions that were opened here, until they end. */
  readonly #sessions = new Map<string, HeldSession>();
  /** Requests that wait for the store. */
  readonly #entering = new Set<Promise<void>>();
  /** Those whose clients have not said yet that they are ready; absent where requests look after them, and where they live for ever. */
  readonly #greetings: Greetings<HeldSession> | undefined;
  #stopSweeping: (() => void) | undefined;
  #swept: number;

  /** `alone` when no other process uses the store. */
  constructor(options: SessionHandlerOptions, store: Store, alone: boolean) {
    const { clock, sessionTtlMs: ttlMs, service } = options;
    this.#options = options;
    this.#swept = clock.now();
    // What nobody else has ends when this process finds that its time is over.
    const storeTtl = alone ? 0 : ttlMs;
    const longest = alone ? LONE_REST_MS : REST_MS;
    if (ttlMs > 0 && clock.requestBound !== true) {
      // A store that others have, too, lets go of a session by its own time.
      const initializedMs = INITIALIZED_TIMEOUT_MS + (alone ? 0 : POLL_INTERVAL_MS);
      this.#greetings = createGreetings(clock, initializedMs, (held) => void this.#look(held, clock.now()));
    }
    const rest =
      clock.requestBound === true
        ? noHeartbeat
        : createHeartbeat(clock, ttlMs > 0 ? Math.min(longest, ttlMs / 4) : longest);
    this.#rules = {
      ...options,
      store,
      alone,
      node: this.#createNode(store, alone),
      hub: createChangeHub(service),
      sessionTtlMs: storeTtl,
      sessions: createSessionStore(store, storeTtl, alone ? undefined : sharedMax(options)),
      waits: createSessionWaits(store, storeTtl),
      looks: createHeartbeat(clock, alone ? 0 : POLL_INTERVAL_MS),
    };
    this.#host = {
      rules: this.#rules,
      rest,
      left: (session, isOver) => {
        if (this.#active.get(session.id) === session) this.#active.delete(session.id);
        if (isOver) this.#release(session.id);
      },
    };
    this.#holder = {
      rules: this.#rules,
      deliver: (session, position, text) => this.#active.get(session)?.aside(position, text),
    };
  }

  post(message: Parsed, head: HttpHead, reply: HttpReply): void {
    try {
      const joining = this.#rules.node.join();
      const posted =
        joining === undefined ? this.#post(message, head, reply) : joining.then(() => this.#post(message, head, reply));
      if (posted !== undefined) this.#track(posted, reply);
    } catch (error) {
      this.#fail(reply, error);
    }
  }

  get(head: HttpHead, reply: HttpReply): void {
    this.#enter(reply, async () => {
      const finding = this.#find(head, reply);
      const session = finding instanceof Promise ? await finding : finding;
      await session?.get(head, reply);
    });
  }

  delete(head: HttpHead, reply: HttpReply): void {
    this.#enter(reply, async () => {
      const finding = this.#find(head, reply);
      const session = finding instanceof Promise ? await finding : finding;
      if (session === undefined) return;
      const id = head.header("mcp-session-id") ?? "";
      const deleting = this.#rules.sessions.delete(id);
      if (!(deleting instanceof Promise ? await deleting : deleting)) return sendAnswer(reply, refusals.unknown);
      session.close();
      if (!this.#rules.alone) {
        // The process that holds it may be gone.
        void endSession(this.#options.service, id);
        await this.#rules.node.tell({ kind: "closed", session: id });
      }
      reply.send(204, {}, "");
    });
  }

  /** Answers open requests. Other processes can continue the sessions. */
  async drain(): Promise<void> {
    const { alone, store, looks, node } = this.#rules;
    await Promise.all(this.#entering);
    this.#stopSweeping?.();
    await Promise.all([...this.#active.values()].map((session) => session.drain()));
    this.#host.rest.stop();
    looks.stop();
    this.#greetings?.stop();
    await node.leave();
    if (!alone) return;
    await Promise.all([...this.#sessions.values()].map((held) => held.end()));
    this.#sessions.clear();
    await store.close();
  }

  #createNode(store: Store, alone: boolean): Node {
    const told = (event: ClusterEvent): void => {
      if (event.kind === "closed") this.#release(event.session);
      this.#active.get(event.session)?.told(event);
    };
    if (alone) return createSingleProcessNode(told);
    return createNode({
      store,
      clock: this.#options.clock,
      told,
      answered: ({ session, text }) => this.#active.get(session)?.answered(text),
      missed: () => {
        for (const session of this.#active.values()) void session.look().catch(() => {});
      },
    });
  }

  #enter(reply: HttpReply, work: () => Promise<void>): void {
    const joining = this.#rules.node.join();
    this.#track(joining === undefined ? work() : joining.then(work), reply);
  }

  #track(entering: Promise<void>, reply: HttpReply): void {
    const entry = entering.catch((error) => this.#fail(reply, error)).finally(() => this.#entering.delete(entry));
    this.#entering.add(entry);
  }

  #fail(reply: HttpReply, error: unknown): void {
    if (!(error instanceof StoreError)) console.error("plugbay: a session failed:", error);
    try {
      sendAnswer(reply, unavailable);
    } catch {
      // It was answered before it failed.
    }
  }

  #post(message: Parsed, head: HttpHead, reply: HttpReply): Promise<void> | undefined {
    if (this.#options.clock.requestBound === true) this.#sweepNow();
    if (isInitialize(message) && head.header("mcp-session-id") === undefined)
      return void this.#open(message, head, reply);
    const finding = this.#find(head, reply);
    if (finding instanceof Promise) return finding.then((session) => session?.post(message, { http: head, reply }));
    finding?.post(message, { http: head, reply });
    return undefined;
  }

  /** The session a request names. Answers the request when there is none. */
  #find(head: HttpHead, reply: HttpReply): Awaitable<HttpSession | undefined> {
    const id = head.header("mcp-session-id");
    if (id === undefined) return void sendAnswer(reply, refusals.missing);
    const known = this.#active.get(id);
    if (known === undefined && !isSessionId(id)) return void sendAnswer(reply, refusals.unknown);
    const finding = this.#rules.sessions.find(id, known?.kept ?? this.#sessions.get(id)?.kept);
    if (!(finding instanceof Promise)) return this.#admit(id, finding, head, reply);
    return finding.then((kept) => this.#admit(id, kept, head, reply));
  }

  #admit(id: string, kept: StoredSession | undefined, head: HttpHead, reply: HttpReply): HttpSession | undefined {
    if (kept === undefined) this.#end(id);
    const known = this.#active.get(id);
    const held = known === undefined ? this.#sessions.get(id) : known.held;
    const now = this.#options.clock.now();
    const isThere = kept !== undefined && (held === undefined || !this.#isOver(held, now));
    if (!isThere || kept.session.peer.auth?.principal !== authOf(head)?.principal) {
      return void sendAnswer(reply, refusals.unknown);
    }
    const session = known ?? this.#create(id, held, kept, reply);
    if (held !== undefined) held.seen = now;
    session.adopt(kept);
    session.touch(now);
    return session;
  }

  #open(initialize: Request, head: HttpHead, reply: HttpReply): void {
    const share = this.#options.ledger.connection(reply.caller.share.owner);
    const short = share.take("sessions");
    if (short !== undefined) return void sendAnswer(reply, limitAnswer(short, initialize.id));
    const held = new HeldSession(createSessionId(), authOf(head), share, this.#holder);
    const session = new HttpSession(held.id, this.#host, share, held);
    session.open(initialize, { http: head, reply }, (ok) => {
      if (!ok) {
        session.close();
        void held.end();
        return;
      }
      this.#active.set(held.id, session);
      this.#hold(held);
    });
  }

  #hold(held: HeldSession): void {
    this.#sessions.set(held.id, held);
    held.seen = this.#options.clock.now();
    this.#greetings?.add(held);
    this.#sweepLater();
  }

  #create(
    id: string,
    held: HeldSession | undefined,
    { session: { owner } }: StoredSession,
    reply: HttpReply,
  ): HttpSession {
    // A session is a connection of its owner.
    const share = held?.share ?? this.#options.ledger.connection(owner ?? reply.caller.share.owner);
    // The id of a request is another text each time: the one that is held already is used.
    const session = new HttpSession(held?.id ?? id, this.#host, share, held);
    this.#active.set(session.id, session);
    return session;
  }

  /** The session is not there any more. */
  #end(id: string): void {
    this.#active.get(id)?.close();
    this.#release(id);
  }

  #release(id: string): void {
    const held = this.#sessions.get(id);
    if (held === undefined) return;
    void held.end();
    this.#sessions.delete(id);
    this.#greetings?.delete(held);
  }

  /** True when nothing was heard of its client for too long, or not that it is ready, in the only process that could. */
  #isOver({ id, kept, opened, seen }: HeldSession, now: number): boolean {
    const { sessionTtlMs } = this.#options;
    if (sessionTtlMs <= 0 || !this.#rules.alone) return false;
    const isReady = kept?.session.ready === true;
    if (now - seen < sessionTtlMs && (isReady || now - opened < INITIALIZED_TIMEOUT_MS)) return false;
    return this.#active.get(id)?.busy !== true;
  }

  #sweepLater(): void {
    const { clock, sessionTtlMs } = this.#options;
    if (
      this.#stopSweeping !== undefined ||
      sessionTtlMs <= 0 ||
      clock.requestBound === true ||
      this.#sessions.size === 0
    )
      return;
    this.#stopSweeping = clock.after(sessionTtlMs / SWEEPS, () => {
      this.#stopSweeping = undefined;
      this.#sweep();
      this.#sweepLater();
    });
  }

  /** Where a timer ends with its request, requests look after what others have left behind. */
  #sweepNow(): void {
    const { clock, sessionTtlMs } = this.#options;
    if (sessionTtlMs <= 0 || clock.now() - this.#swept < sessionTtlMs / SWEEPS) return;
    this.#swept = clock.now();
    this.#sweep();
    for (const session of [...this.#active.values()]) session.beat();
  }

  #sweep(): void {
    const { clock, sessionTtlMs } = this.#options;
    const now = clock.now();
    for (const held of [...this.#sessions.values()]) {
      if (this.#active.get(held.id)?.busy === true) held.seen = now;
      else if (this.#rules.alone || now - held.seen >= sessionTtlMs) void this.#look(held, now);
    }
  }

  /** Lets go of a session that is over. While the store is away, nobody can tell. */
  async #look(held: HeldSession, now: number): Promise<void> {
    const { sessions } = this.#rules;
    try {
      if (this.#isOver(held, now)) void sessions.delete(held.id);
      const finding = sessions.find(held.id, held.kept);
      if ((finding instanceof Promise ? await finding : finding) === undefined) this.#end(held.id);
      else if (!this.#rules.alone) held.seen = now;
    } catch {
      // The next look tries again.
    }
  }
}

/** What the sessions of a principal may hold in a store that others have, too. */
function sharedMax({ ledger }: SessionHandlerOptions): SessionMax {
  return {
    sessions: ledger.max("principal", "sessions"),
    subscriptions: ledger.max("principal", "subscriptions"),
    heldBytes: ledger.max("principal", "heldBytes"),
  };
}

/** Of sessions that rest when somebody looks. */
const noHeartbeat: Heartbeat = { intervalMs: 0, add() {}, delete() {}, stop() {} };

const refusals: Readonly<Record<"missing" | "unknown", HttpAnswer>> = {
  missing: refusal(400, "header mcp-session-id is missing; open a session with initialize"),
  unknown: refusal(404, "there is no such session; open another one with initialize"),
};

function isInitialize(message: Parsed): message is Request {
  return message.kind === "request" && message.method === "initialize";
}
