import type { ServerCodec } from "../../codec/codec.ts";
import { legacyServer } from "../../codec/legacy-server.ts";
import type { JsonObject } from "../../json/json.ts";
import { encodeMessage } from "../../jsonrpc/message.ts";
import type { Failure } from "../../model/errors.ts";
import type { Auth, Peer, ServerCapabilities } from "../../model/peer.ts";
import { isLegacy, newestLegacy } from "../../model/revision.ts";
import { elicitationComplete, honoured, type ListenFilter } from "../../model/subscription.ts";
import { allLists, type ChangeNotification, type Feed, type Listening } from "../session/change-feed.ts";
import { createFollowing, type Following } from "../session/follow-task.ts";
import type { SessionRules } from "./session-rules.ts";
import type { Waits } from "./session-store.ts";

interface SessionChangesOptions {
  readonly session: string;
  readonly rules: SessionRules;
  /** On whose behalf the session hears of changes. */
  readonly auth: Auth | undefined;
  readonly peer: Peer;
  /** What the client was told in the handshake; it hears of nothing else. */
  readonly capabilities: ServerCapabilities;
  tell(change: ChangeNotification): void;
  /** Sends a message that nobody can come back for. A promise means that the client is slow. */
  send(text: string): Promise<void> | undefined;
}

/** A call that listens, and what for. */
interface Part {
  readonly key: string;
  readonly listening: Listening;
}

/** What a session hears of: changed lists, resources it subscribed to, pages its user was sent to, tasks it has begun. */
export class SessionChanges {
  readonly codec: ServerCodec;
  readonly #options: SessionChangesOptions;
  #parts: readonly Part[] = none;
  #isListening = false;
  /** Counts who wants to listen: the last one does. */
  #turn = 0;
  #isClosed = false;
  #tasks: Following | undefined;
  /** Pages of which nothing more is said. */
  #completed: Set<unknown> | undefined;

  constructor(options: SessionChangesOptions) {
    const { revision } = options.peer;
    this.#options = options;
    this.codec = legacyServer(isLegacy(revision) ? revision : newestLegacy);
  }

  /** False when it has to listen anew: something ended it. */
  get isListening(): boolean {
    return this.#isListening;
  }

  /** The message for the client, if it is told of this. */
  textOf(change: ChangeNotification): string | undefined {
    const text = change.text(this.codec);
    if (text === undefined || change.method !== elicitationComplete) return text;
    return this.#complete(change.params.elicitationId) ? text : undefined;
  }

  /** Listens for what the session subscribed to and waits for, as the store has it now. Resolves to why it cannot. */
  async refresh(after?: () => number | undefined): Promise<Failure | undefined> {
    const { rules, session, capabilities } = this.#options;
    if (rules.alone) this.#turn++;
    else this.stop();
    const turn = this.#turn;
    const [waiting, reading] = this.#read(session);
    const waits = waiting instanceof Promise ? await waiting : waiting;
    const uris = reading instanceof Promise ? await reading : reading;
    if (turn !== this.#turn || waits === undefined || uris === undefined) return undefined;
    for (const [taskId, task] of Object.entries(waits.tasks)) void this.#follow(taskId, task);
    const filter = honoured({ ...allLists, resourceSubscriptions: uris, elicitationIds: waits.pages }, capabilities);
    this.#isListening = true;
    // Changes that are counted have to be heard in their order.
    const failures = this.#listen(rules.alone ? partsOf(filter) : [filter], after?.());
    return failures === undefined ? undefined : (await failures).find((failure) => failure !== undefined);
  }

  /** Hears of nothing until {@link refresh}. */
  stop(): void {
    this.#turn++;
    this.#isListening = false;
    for (const { listening } of this.#parts) listening.stop();
    this.#parts = none;
  }

  /** Hears of nothing for a while. Returns whether it still should go on, when asked. */
  pause(): () => boolean {
    this.stop();
    this.#isListening = true;
    const turn = this.#turn;
    return () => turn === this.#turn;
  }

  /** Hears of nothing any more. */
  close(): void {
    this.#isClosed = true;
    this.stop();
    this.#tasks?.stop();
  }

  #read(session: string) {
    const { sessions, waits } = this.#options.rules;
    return [orNothing(() => waits.read(session)), orNothing(() => sessions.uris(session))] as const;
  }

  #listen(
    filters: readonly ListenFilter[],
    after: number | undefined,
  ): Promise<readonly (Failure | undefined)[]> | undefined {
    const before = this.#parts;
    const kept: Part[] = [];
    const begun: Promise<Failure | undefined>[] = [];
    for (const filter of filters) {
      if (Object.keys(filter).length === 0) continue;
      const key = JSON.stringify(filter);
      const known = before.find((part) => part.key === key);
      const part = known ?? { key, listening: this.#begin(key, filter, after) };
      kept.push(part);
      if (known === undefined) begun.push(part.listening.begun);
    }
    this.#parts = kept;
    for (const part of before) if (!kept.includes(part)) part.listening.stop();
    return begun.length === 0 ? undefined : Promise.all(begun);
  }

  #begin(key: string, filter: ListenFilter, after: number | undefined): Listening {
    const { rules, auth, tell } = this.#options;
    return rules.hub.listen({
      filter,
      auth,
      after,
      tell,
      ended: () => {
        this.#isListening = false;
        this.#parts = this.#parts.filter((part) => part.key !== key);
      },
    });
  }

  /** What was told before is not told again. Of progress, that is as far as it was when this began to follow. */
  async #follow(taskId: string, { token, isKnown = false }: Waits["tasks"][string]): Promise<void> {
    const { rules, session, auth, send } = this.#options;
    this.#tasks ??= createFollowing((id) => void rules.waits.dropTask(session, id).catch(() => {}));
    if (this.#tasks.has(taskId)) return;
    if (!isKnown) await rules.waits.tellTask(session, taskId).catch(() => {});
    if (this.#isClosed) return;
    const sendText = (method: string, params: JsonObject): Promise<void> | undefined =>
      send(encodeMessage({ kind: "notification", method, params }));
    const task = { taskId, progressToken: token, isKnown };
    this.#tasks.follow(task, { service: rules.service, codec: this.codec, auth, send: sendText });
  }

  /** Nothing more is said of a page. False when that was so before. */
  #complete(id: unknown): boolean {
    const { rules, session } = this.#options;
    this.#completed ??= new Set();
    if (typeof id !== "string" || this.#completed.has(id)) return false;
    this.#completed.add(id);
    const [oldest] = this.#completed;
    if (this.#completed.size > MAX_COMPLETED) this.#completed.delete(oldest);
    rules.waits.dropPage(session, id).catch(() => {});
    return true;
  }
}

const none: readonly Part[] = [];

const MAX_COMPLETED = 100;

/** Each thing to hear of for itself, so that all sessions that hear of it share a call. */
function partsOf({ resourceSubscriptions = [], elicitationIds = [], ...lists }: ListenFilter): readonly ListenFilter[] {
  return [
    lists,
    ...resourceSubscriptions.map((uri) => ({ resourceSubscriptions: [uri] })),
    ...elicitationIds.map((id) => ({ elicitationIds: [id] })),
  ];
}

/** Undefined while the store is away. */
function orNothing<T>(read: () => T | Promise<T>): T | undefined | Promise<T | undefined> {
  try {
    const value = read();
    return value instanceof Promise ? value.catch(() => undefined) : value;
  } catch {
    return undefined;
  }
}

interface SessionFeedOptions {
  readonly session: string;
  /** What the client was told in the handshake. */
  readonly capabilities: ServerCapabilities;
  readonly rules: SessionRules;
  /** On whose behalf it subscribes. */
  auth(): Auth | undefined;
  /** Hears that what is kept has changed. Resolves to why the session does not hear of that, as far as this process knows. */
  changed(): Promise<Failure | undefined>;
}

/** Writes down what a session subscribes to and waits for, for the process that tells it of changes. */
export function createSessionFeed({ session, capabilities, rules, auth, changed }: SessionFeedOptions): Feed {
  const { sessions, waits } = rules;

  /** Where another process may be the one that listens: whether the service would. */
  const attempt = async (uri: string): Promise<Failure | undefined> => {
    const filter = honoured({ resourceSubscriptions: [uri] }, capabilities);
    if (rules.alone || Object.keys(filter).length === 0) return undefined;
    const listening = rules.hub.listen({ filter, auth: auth(), tell() {} });
    const failure = await listening.begun;
    listening.stop();
    return failure;
  };

  const keep = async (write: Promise<void>): Promise<Failure | undefined> => {
    try {
      await write;
      return await changed();
    } catch {
      return { code: "internal", message: "subscriptions cannot be kept now" };
    }
  };

  const subscribe = async (uri: string): Promise<Failure | undefined> => {
    const failure = (await attempt(uri)) ?? (await keep(sessions.subscribe(session, uri)));
    if (failure !== undefined && rules.alone) await keep(sessions.unsubscribe(session, uri));
    return failure;
  };

  return {
    start: async () => undefined,
    stop() {},
    subscribe,
    unsubscribe: (uri) => keep(sessions.unsubscribe(session, uri)),
    subscriptions: () => [],
    expect: (elicitationId) => void keep(waits.addPage(session, elicitationId)),
    follow: (task) => void keep(waits.addTask(session, task)),
  };
}
