import type { JsonObject } from "../../json/json.ts";
import { encodeMessage } from "../../jsonrpc/message.ts";
import type { Account, Shortage } from "../../protocol/budget.ts";
import type { ServerCodec } from "../../protocol/codec/codec.ts";
import type { Failure } from "../../protocol/errors.ts";
import { type LimitReached, RETRY_AFTER_MS, toLimitFailure } from "../../protocol/limit-error.ts";
import type { LogLevel } from "../../protocol/logging.ts";
import type { Auth, ClientInfo, ServerCapabilities } from "../../protocol/peer.ts";
import { isLegacy, newestLegacy } from "../../protocol/revision.ts";
import { listenerOf } from "../../protocol/session.ts";
import {
  elicitationComplete,
  honoured,
  type ListenFilter,
  messages,
  wantsNothing,
} from "../../protocol/subscription.ts";
import { type Awaitable, promised } from "../../std/awaitable.ts";
import { legacyServer } from "../codec/server-codec.ts";
import { allLists, type Feed } from "../session/change-feed.ts";
import type { ChangeListener, ChangeNotification, SharedListening } from "../session/change-hub.ts";
import { createFollowing, type Following } from "../session/follow-task.ts";
import { isLoud } from "../session/session-messages.ts";
import type { SessionRules } from "./session-rules.ts";
import { type KeptSession, subscriptionBytes, type Waits } from "./session-store.ts";

interface SessionChangesOptions {
  readonly session: string;
  readonly rules: SessionRules;
  /** The caller that the session listens for. */
  readonly auth: Auth | undefined;
  readonly record: KeptSession;
  /** Whose share takes what it listens for, where no single process has counted it: the store says what that is. */
  readonly share?: Account | undefined;
}

/** The recipient of the changes of a session. */
export interface ChangesReader {
  /** Log messages of less are not for the client. */
  readonly logLevel: LogLevel | undefined;
  changed(change: ChangeNotification): void;
  /** Sends a message that belongs to no change. A promise means that the client is slow. */
  send(text: string): Promise<void> | undefined;
}

/**
 * What a session hears of: changed lists, resources it subscribed to, pages its user was sent to, tasks it has begun. There
 * may be very many that do nothing: it holds no more than it must.
 */
export class SessionChanges implements ChangeListener {
  readonly #codec: ServerCodec;
  readonly #session: string;
  readonly #rules: SessionRules;
  readonly #auth: Auth | undefined;
  readonly #client: ClientInfo | undefined;
  /** What the client was told in the handshake; it hears of nothing else. */
  readonly #capabilities: ServerCapabilities;
  readonly #reader: ChangesReader;
  readonly #share: Account | undefined;
  /** What is taken of the share now. */
  #counted = { subscriptions: 0, heldBytes: 0 };
  #calls: readonly SharedListening[] = none;
  #isListening = false;
  /** Counts who wants to listen: the last one does. */
  #turn = 0;
  #isClosed = false;
  #tasks: Following | undefined;
  /** Pages of which nothing more is said. */
  #completed: Set<unknown> | undefined;

  constructor({ session, rules, auth, record, share }: SessionChangesOptions, reader: ChangesReader) {
    const { revision } = record.peer;
    this.#codec = legacyServer(isLegacy(revision) ? revision : newestLegacy);
    this.#session = session;
    this.#rules = rules;
    this.#auth = auth;
    this.#client = listenerOf(rules.service, record.peer, session);
    this.#capabilities = record.capabilities;
    this.#reader = reader;
    this.#share = share;
  }

  /** False when it has to listen anew: something ended it. */
  get isListening(): boolean {
    return this.#isListening;
  }

  /** The message for the client, if the change is relevant for it. */
  textOf(change: ChangeNotification): string | undefined {
    const { session = this.#session, method, params } = change;
    if (session !== this.#session || !isLoud(method, params, this.#reader.logLevel)) return undefined;
    const text = change.text(this.#codec);
    if (text === undefined || change.method !== elicitationComplete) return text;
    return this.#complete(change.params.elicitationId) ? text : undefined;
  }

  /** Listens for what the session subscribed to and waits for, as the store has it now. Resolves to why it cannot. */
  async refresh(after?: () => number | undefined): Promise<Failure | undefined> {
    const { alone, sessions, waits } = this.#rules;
    if (alone) this.#turn++;
    else this.stop();
    const turn = this.#turn;
    const [waiting, reading] = [
      orNothing(() => waits.read(this.#session)),
      orNothing(() => sessions.uris(this.#session)),
    ];
    const wanted = waiting instanceof Promise ? await waiting : waiting;
    const uris = reading instanceof Promise ? await reading : reading;
    if (turn !== this.#turn || wanted === undefined || uris === undefined) return undefined;
    for (const [taskId, task] of Object.entries(wanted.tasks)) void this.#follow(taskId, task);
    const asked = { ...allLists, resourceSubscriptions: uris, elicitationIds: wanted.pages, [messages]: true };
    const filter = honoured(asked, this.#capabilities);
    this.#isListening = true;
    this.#count(uris);
    // Changes that are counted have to be heard in their order.
    const begun = this.#listen(alone ? partsOf(filter) : [filter], after?.());
    if (begun.length === 0) return undefined;
    return (await Promise.all(begun)).find((failure) => failure !== undefined);
  }

  /** Receives nothing until {@link refresh}. */
  stop(): void {
    this.#turn++;
    this.#isListening = false;
    for (const call of this.#calls) call.stop();
    this.#calls = none;
    this.#count([]);
  }

  /** Pauses. Returns a function that says whether it should continue. */
  pause(): () => boolean {
    this.stop();
    this.#isListening = true;
    const turn = this.#turn;
    return () => turn === this.#turn;
  }

  /** Stops. */
  close(): void {
    this.#isClosed = true;
    this.stop();
    this.#tasks?.stop();
  }

  tell(change: ChangeNotification): void {
    this.#reader.changed(change);
  }

  ended(listening: SharedListening): void {
    this.#isListening = false;
    this.#calls = this.#calls.filter((call) => call !== listening);
  }

  /** Has a call for each of these, and no other. Returns when those begin that are new. */
  #listen(filters: readonly ListenFilter[], after: number | undefined): readonly Promise<Failure | undefined>[] {
    const { hub } = this.#rules;
    const before = new Map(this.#calls.map((call) => [JSON.stringify(call.filter), call]));
    const calls: SharedListening[] = [];
    const begun: Promise<Failure | undefined>[] = [];
    for (const filter of filters) {
      if (wantsNothing(filter)) continue;
      const known = before.get(JSON.stringify(filter));
      const call = known ?? hub.listen({ filter, auth: this.#auth, client: this.#client, after }, this);
      calls.push(call);
      if (known === undefined) begun.push(call.begun);
    }
    for (const call of this.#calls) if (!calls.includes(call)) call.stop();
    this.#calls = calls;
    return begun;
  }

  #count(uris: readonly string[]): void {
    const counted = {
      subscriptions: uris.length,
      heldBytes: uris.reduce((sum, uri) => sum + subscriptionBytes(uri), 0),
    };
    for (const kind of ["subscriptions", "heldBytes"] as const)
      this.#share?.add(kind, counted[kind] - this.#counted[kind]);
    this.#counted = counted;
  }

  /** What was told before is not told again. Of progress, that is as far as it was when this began to follow. */
  async #follow(taskId: string, { token, isKnown = false }: Waits["tasks"][string]): Promise<void> {
    const { waits, service } = this.#rules;
    this.#tasks ??= createFollowing((id) => void waits.dropTask(this.#session, id).catch(() => {}));
    if (this.#tasks.has(taskId)) return;
    if (!isKnown) await waits.tellTask(this.#session, taskId).catch(() => {});
    if (this.#isClosed) return;
    const send = (method: string, params: JsonObject): Promise<void> | undefined =>
      this.#reader.send(encodeMessage({ kind: "notification", method, params }));
    const task = { taskId, progressToken: token, isKnown };
    this.#tasks.follow(task, { service, codec: this.#codec, auth: this.#auth, send });
  }

  /** Nothing more is said of a page. False when that was so before. */
  #complete(id: unknown): boolean {
    this.#completed ??= new Set();
    if (typeof id !== "string" || this.#completed.has(id)) return false;
    this.#completed.add(id);
    const [oldest] = this.#completed;
    if (this.#completed.size > MAX_COMPLETED) this.#completed.delete(oldest);
    this.#rules.waits.dropPage(this.#session, id).catch(() => {});
    return true;
  }
}

const none: readonly SharedListening[] = [];

const MAX_COMPLETED = 100;

/** Each thing to hear of for itself, so that all sessions that hear of it share a call. */
function partsOf({ resourceSubscriptions = [], elicitationIds = [], ...lists }: ListenFilter): readonly ListenFilter[] {
  return [
    lists,
    ...resourceSubscriptions.map((uri) => ({ resourceSubscriptions: [uri] })),
    ...elicitationIds.map((id) => ({ elicitationIds: [id] })),
  ];
}

/** Of a call that only tries whether the service would listen. */
const deaf: ChangeListener = { tell() {}, ended() {} };

/** Undefined while the store is away. */
function orNothing<T>(read: () => T | Promise<T>): T | undefined | Promise<T | undefined> {
  try {
    const value = read();
    return value instanceof Promise ? value.catch(() => undefined) : value;
  } catch {
    return undefined;
  }
}

/** Counts what a session subscribes to. */
interface HeldSubscriptions {
  takeSubscription(uri: string): Shortage | undefined;
  giveSubscription(uri: string): void;
}

interface SessionFeedOptions {
  readonly session: string;
  /** What the client was told in the handshake. */
  readonly capabilities: ServerCapabilities;
  /** The client, where it may hear of something else than others. */
  readonly client?: ClientInfo | undefined;
  readonly rules: SessionRules;
  /** Counts what it subscribes to, in the process that opened the session. */
  readonly held: HeldSubscriptions | undefined;
  /** Whose share of the store it takes, where other processes have the store, too. */
  readonly owner?: string | undefined;
  /** On whose behalf it subscribes. */
  auth(): Auth | undefined;
  /** Hears that what is kept has changed. Resolves to why the session does not hear of that, as far as this process knows. */
  changed(): Promise<Failure | undefined>;
}

/** Writes down what a session subscribes to and waits for, for the process that tells it of changes. */
export function createSessionFeed({
  session,
  capabilities,
  client,
  rules,
  held,
  owner,
  auth,
  changed,
}: SessionFeedOptions): Feed {
  const { sessions, waits } = rules;

  /** Where another process may be the one that listens, or on behalf of somebody else: whether the service would. */
  const attempt = async (uri: string, by = auth()): Promise<Failure | undefined> => {
    const filter = honoured({ resourceSubscriptions: [uri] }, capabilities);
    if ((rules.alone && by === undefined) || Object.keys(filter).length === 0) return undefined;
    const listening = rules.hub.listen({ filter, auth: by, client }, deaf);
    const failure = await listening.begun;
    listening.stop();
    return failure;
  };

  const keep = async (write: Awaitable<unknown>): Promise<Failure | undefined> => {
    try {
      await write;
      return await changed();
    } catch {
      return { code: "internal", message: "subscriptions cannot be kept now" };
    }
  };

  /** Why there is no room for one more in the session, or in this process. */
  const excess = async (uri: string): Promise<Failure | undefined> => {
    const max = rules.ledger.max("connection", "subscriptions");
    const uris = await sessions.uris(session);
    if (uris.includes(uri)) return undefined;
    if (uris.length >= max)
      return toLimitFailure({ limit: "maxSubscriptions", max, scope: "connection", retryAfterMs: RETRY_AFTER_MS });
    const short = rules.ledger.process.shortage("subscriptions");
    return short && toLimitFailure(short);
  };

  const attemptAndKeep = async (uri: string, by?: Auth): Promise<Failure | undefined> => {
    const refused = (await excess(uri)) ?? (await attempt(uri, by));
    if (refused !== undefined) return refused;
    let short: LimitReached | undefined;
    const subscribing = promised(() => sessions.subscribe(session, uri, owner)).then((written) => {
      if (typeof written === "object") short = written;
    });
    return (await keep(subscribing)) ?? (short && toLimitFailure(short));
  };

  /** In the only process, where one that fails is taken back. */
  const subscribeAlone = async (uri: string, holder: HeldSubscriptions, by?: Auth): Promise<Failure | undefined> => {
    const refused = await attempt(uri, by);
    if (refused !== undefined) return refused;
    const short = holder.takeSubscription(uri);
    if (short !== undefined) return (await sessions.uris(session)).includes(uri) ? undefined : toLimitFailure(short);
    const isNew = (await sessions.subscribe(session, uri)) === true;
    if (!isNew) holder.giveSubscription(uri);
    const failure = await changed();
    if (failure !== undefined && isNew) await unsubscribe(uri);
    return failure;
  };

  const subscribe = (uri: string, by?: Auth): Promise<Failure | undefined> =>
    rules.alone && held !== undefined ? subscribeAlone(uri, held, by) : attemptAndKeep(uri, by);

  const unsubscribe = async (uri: string): Promise<Failure | undefined> => {
    const removing = promised(() => sessions.unsubscribe(session, uri, owner));
    const failure = await keep(removing);
    if (rules.alone && (await removing.catch(() => false))) held?.giveSubscription(uri);
    return failure;
  };

  return {
    start: async () => undefined,
    stop() {},
    subscribe,
    unsubscribe,
    expect: (elicitationId) => void keep(waits.addPage(session, elicitationId)),
    follow: (task) => void keep(waits.addTask(session, task)),
  };
}
