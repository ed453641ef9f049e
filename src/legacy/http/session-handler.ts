import type { Parsed, Request } from "../../jsonrpc/message.ts";
import { authOf } from "../../model/authenticator.ts";
import type { Store } from "../../store/store.ts";
import { createPulse, type Pulse } from "../../transport/http/heartbeat.ts";
import { type HttpHead, type HttpReply, sendAnswer } from "../../transport/http/http-message.ts";
import { createNode } from "./cluster.ts";
import { SharedSession } from "./session.ts";
import { LOOK_MS, type SharedRules } from "./session-rules.ts";
import { createSessionShelf, createSessionWaits } from "./session-store.ts";
import { createSessionId, isHello, noStream, refusals, type SessionsOptions } from "./sessions.ts";

export interface SharedSessionsOptions extends SessionsOptions {
  readonly store: Store | Promise<Store>;
}

/** A process forgets a session when nothing was going on here for one to two of these. */
const REST_MS = 5_000;

/** Like a door for sessions, once the store is there. What it returns rejects when the store is away. */
export interface SharedDoor {
  post(message: Parsed, head: HttpHead, reply: HttpReply): Promise<void>;
  get(head: HttpHead, reply: HttpReply): Promise<void>;
  delete(head: HttpHead, reply: HttpReply): Promise<void>;
  /** Answers what is open. The sessions go on elsewhere. */
  drain(): Promise<void>;
}

export function createSharedDoor(options: SharedSessionsOptions, store: Store): SharedDoor {
  return new StoreDoor(options, store);
}

class StoreDoor implements SharedDoor {
  readonly #options: SharedSessionsOptions;
  readonly #rules: SharedRules;
  readonly #rest: Pulse;
  /** The sessions in which something is going on here. */
  readonly #here = new Map<string, SharedSession>();
  /** Sessions whose `initialize` is not answered yet. */
  #opening = 0;

  constructor(options: SharedSessionsOptions, store: Store) {
    const { clock, sessionTtlMs } = options;
    const node = createNode({
      store,
      clock,
      told: (telling) => this.#here.get(telling.session)?.told(telling),
      answered: ({ session, text }) => this.#here.get(session)?.answered(text),
      missed: () => {
        for (const session of this.#here.values()) void session.look().catch(() => {});
      },
    });
    this.#options = options;
    this.#rest = createPulse(clock, sessionTtlMs > 0 ? Math.min(REST_MS, sessionTtlMs / 4) : REST_MS);
    const shelf = createSessionShelf(store, sessionTtlMs);
    const waits = createSessionWaits(store, sessionTtlMs);
    this.#rules = { ...options, store, node, shelf, waits, looks: createPulse(clock, LOOK_MS) };
  }

  async post(message: Parsed, head: HttpHead, reply: HttpReply): Promise<void> {
    await this.#rules.node.join();
    const id = head.header("mcp-session-id");
    if (isHello(message) && id === undefined) return this.#open(message, head, reply);
    const session = await this.#find(head, reply);
    session?.post(message, { http: head, reply });
  }

  async get(head: HttpHead, reply: HttpReply): Promise<void> {
    await this.#rules.node.join();
    const session = await this.#find(head, reply);
    const got = (await session?.get(head, reply)) ?? "opened";
    if (got !== "opened") sendAnswer(reply, noStream[got]);
  }

  async delete(head: HttpHead, reply: HttpReply): Promise<void> {
    await this.#rules.node.join();
    const session = await this.#find(head, reply);
    if (session === undefined) return;
    const id = head.header("mcp-session-id") ?? "";
    if (!(await this.#rules.shelf.delete(id))) return sendAnswer(reply, refusals.unknown);
    session.close();
    await this.#rules.node.tell({ kind: "closed", session: id });
    reply.send(204, {}, "");
  }

  async drain(): Promise<void> {
    await Promise.all([...this.#here.values()].map((session) => session.drain()));
    this.#rest.stop();
    this.#rules.looks.stop();
    await this.#rules.node.leave();
  }

  /** The session a request names. Answers the request when there is none. */
  async #find(head: HttpHead, reply: HttpReply): Promise<SharedSession | undefined> {
    const id = head.header("mcp-session-id");
    if (id === undefined) return void sendAnswer(reply, refusals.missing);
    const known = this.#here.get(id);
    const kept = isSessionId(id) ? await this.#rules.shelf.find(id, known?.kept) : undefined;
    if (kept === undefined) this.#here.get(id)?.close();
    if (kept === undefined || kept.session.peer.auth?.principal !== authOf(head)?.principal) {
      return void sendAnswer(reply, refusals.unknown);
    }
    const session = this.#here.get(id) ?? this.#keep(id);
    session.adopt(kept);
    session.touch();
    return session;
  }

  #open(hello: Request, head: HttpHead, reply: HttpReply): void {
    if (this.#here.size + this.#opening >= this.#options.maxSessions) return void sendAnswer(reply, refusals.tooMany);
    const id = createSessionId();
    const session = this.#create(id);
    this.#opening++;
    session.open(hello, { http: head, reply }, (ok) => {
      this.#opening--;
      if (ok) this.#here.set(id, session);
      else session.close();
    });
  }

  #keep(id: string): SharedSession {
    const session = this.#create(id);
    this.#here.set(id, session);
    return session;
  }

  #create(id: string): SharedSession {
    const session: SharedSession = new SharedSession({
      id,
      rules: this.#rules,
      rest: this.#rest,
      left: () => {
        if (this.#here.get(id) === session) this.#here.delete(id);
      },
    });
    return session;
  }
}

/** Others were never given, and are not worth asking for. */
function isSessionId(id: string): boolean {
  return /^[\w-]{43}$/.test(id);
}
