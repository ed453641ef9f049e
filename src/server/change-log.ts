import { asJson, type JsonObject } from "../json/json.ts";
import { changeKeys, metaOf } from "../protocol/meta.ts";
import type { Call } from "../protocol/service.ts";
import {
  type Announcement,
  type Change,
  changeToNotification,
  isWanted,
  type ListenFilter,
} from "../protocol/subscription.ts";
import { lazy } from "../std/lazy.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { Store, TopicSubscription } from "../store/store.ts";
import type { Environment } from "./environment.ts";
import { createOutbox } from "./outbox.ts";

/** Notifies the listeners of all processes of changes in any of them. */
export interface ChangeLog {
  /** Publishes a change. Changes of one process reach all listeners in their order. */
  publish(change: Announcement): void;
  /**
   * Acknowledges the subscription and starts it: first with the changes after the position that the call brings, if
   * any.
   */
  join(listener: Listener): Promise<() => void>;
  close(): Promise<void>;
}

export interface Listener {
  readonly filter: ListenFilter;
  readonly call: Call;
}

interface Joined extends Listener {
  /** The position of the listener: it has received all changes up to it. */
  readonly seen: number;
}

const NAME = "changes";
/** Number of changes retained for listeners that reconnect. */
const [KEEP, KEEP_IN_MEMORY] = [20_000, 1_000];
const RETRY_MS = 1_000;

/** Replaces changes that were too many to be queued until the store was available again. */
const ANY_CHANGE = { kind: "anything" } as const;

type Published = Announcement | typeof ANY_CHANGE;

type Parts = Pick<Environment, "errors" | "clock" | "store" | "isShared">;

/**
 * Changes are a stream that all processes read. A topic message announces each new change; a process reads only while
 * it has listeners.
 */
export function createChangeLog(given: Parts): ChangeLog {
  const env = given.clock.requestBound === true && given.isShared ? inThisProcess(given) : given;
  const listeners = new Set<Joined>();
  const report = (error: unknown): void => void env.errors.failureOf(error, "subscriptions/listen");
  const tell = createFailureReport(report);
  const reading = createReading(env, listeners, tell);
  const outbox = createOutbox({
    clock: env.clock,
    everything: JSON.stringify(ANY_CHANGE),
    // Runs in sequence: a listener receives the changes published after it has joined.
    send: (texts) =>
      reading.inTurn(async () => {
        const { streams, topics, durable } = await env.store.load();
        const last = await streams.append(NAME, texts, { keep: durable ? KEEP : KEEP_IN_MEMORY });
        if (env.clock.requestBound === true) await reading.advance();
        else await topics.publish(NAME, String(last));
      }),
    onDelay(texts, error) {
      report(error);
      // Other processes cannot be reached until the store is available; local listeners are notified now, and then
      // again.
      for (const text of texts) for (const listener of listeners) tell.all(listener, JSON.parse(text), {});
    },
  });

  return {
    publish: (change) => outbox.add(JSON.stringify(change)),
    join: (listener) =>
      reading.inTurn(async () => {
        await reading.open();
        acknowledge(listener);
        const after = positionOf(listener.call);
        if (after !== undefined) await reading.catchUp(listener, after);
        const joined: Joined = { ...listener, seen: after ?? 0 };
        listeners.add(joined);
        return () => {
          listeners.delete(joined);
          void reading.inTurn(reading.closeReading).catch(report);
        };
      }),
    async close() {
      await outbox.close();
      listeners.clear();
      await reading.inTurn(reading.closeReading);
    },
  };
}

/** With a shared store that ends with the request, the process has no listeners: its changes stay local. */
function inThisProcess({ errors, clock, isShared }: Parts): Parts {
  const store = memoryStore({ clock });
  return { errors, clock, isShared, store: lazy(() => Promise.resolve(store)) };
}

function acknowledge({ call, filter }: Listener): void {
  call.notify("notifications/subscriptions/acknowledged", { notifications: asJson(filter) });
}

/** Reads the stream for all listeners of this process. What it does, it does in turn. */
function createReading(env: Parts, listeners: ReadonlySet<Joined>, tell: FailureReport) {
  let subscription: TopicSubscription | undefined;
  /** Listeners have received all changes up to this position. */
  let position = 0;
  let turn: Promise<unknown> = Promise.resolve();

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = turn.then(work);
    turn = done.catch(() => {});
    return done;
  };

  const advance = async (): Promise<void> => {
    for await (const part of read(await env.store.load(), position)) {
      for (const listener of listeners) tell.part(listener, part, { after: listener.seen, through: part.at });
      position = part.at;
    }
  };

  const advanceSoon = (): Promise<void> =>
    inTurn(advance).catch((error: unknown) => {
      env.errors.failureOf(error, "subscriptions/listen");
      if (subscription !== undefined) env.clock.after(RETRY_MS, () => void advanceSoon());
    });

  const pump = async (source: TopicSubscription): Promise<void> => {
    for await (const _ of source) await advanceSoon();
  };

  return {
    inTurn,
    /** Sends new changes to all listeners. */
    advance,
    /**
     * Starts the subscription. Where everything ends with its request this is impossible: the publisher reads instead.
     */
    async open(): Promise<void> {
      if (subscription !== undefined) return;
      const { streams, topics } = await env.store.load();
      if (env.clock.requestBound !== true) subscription = await topics.subscribe(NAME);
      position = (await streams.read(NAME, 0, 1)).last;
      if (subscription !== undefined) void pump(subscription);
    },
    /** Sends one listener the changes after a position that the others have received. */
    async catchUp(listener: Listener, after: number): Promise<void> {
      for await (const part of read(await env.store.load(), after)) {
        tell.part(listener, part, { after, through: position });
        if (part.at >= position) return;
      }
    },
    /** Ends the subscription when there are no listeners. */
    async closeReading(): Promise<void> {
      if (listeners.size > 0) return;
      const ended = subscription;
      subscription = undefined;
      await ended?.close();
    },
  };
}

interface FailureReport {
  all(listener: Listener, change: Published, meta: JsonObject): void;
  /** Sends the changes between two positions. When some are not retained: that anything may have changed. */
  part(listener: Listener, part: Part, range: { readonly after: number; readonly through: number }): void;
}

/** A listener that throws must not prevent others from being notified. */
function createFailureReport(report: (error: unknown) => void): FailureReport {
  const one = ({ filter, call }: Listener, change: Announcement, meta: JsonObject): void => {
    if (!isWanted(change, filter, call.peer.auth)) return;
    const [method, params] = changeToNotification(change);
    try {
      call.notify(method, { ...params, _meta: { ...metaOf(params), ...meta } });
    } catch (error) {
      report(error);
    }
  };
  const all: FailureReport["all"] = (listener, change, meta) => {
    if (change.kind !== "anything") return one(listener, change, meta);
    for (const any of anyChange(listener.filter)) one(listener, any, { ...meta, [changeKeys.lost]: true });
  };
  return {
    all,
    part(listener, { changes, lost }, { after, through }) {
      const missed = changes.filter(([, at]) => at > after && at <= through);
      for (const [change, at] of missed) all(listener, change, { [changeKeys.position]: at });
      if (lost) all(listener, ANY_CHANGE, { [changeKeys.position]: through });
    },
  };
}

/** The position that a call wants to continue from. */
function positionOf({ meta }: Call): number | undefined {
  const after = meta[changeKeys.after];
  return typeof after === "number" && Number.isSafeInteger(after) && after >= 0 ? after : undefined;
}

/** A part of the stream. When some changes are not retained, it stands for all. */
interface Part {
  readonly changes: readonly (readonly [change: Published, position: number])[];
  readonly lost: boolean;
  /** Where it ends. */
  readonly at: number;
}

async function* read({ streams }: Store, after: number): AsyncGenerator<Part> {
  for (let at = after; ; ) {
    const { events, last, lost } = await streams.read(NAME, at);
    if (lost) return yield { changes: [], lost, at: last };
    if (events.length === 0) return;
    at = events.at(-1)?.position ?? last;
    yield { changes: events.map(({ text, position }) => [JSON.parse(text), position] as const), lost, at };
    if (at >= last) return;
  }
}

/** All changes that a listener may be interested in. */
function anyChange({ resourceSubscriptions = [] }: ListenFilter): readonly Change[] {
  const resources = resourceSubscriptions.map((uri) => ({ kind: "resource", uri }) as const);
  return [{ kind: "tools" }, { kind: "prompts" }, { kind: "resources" }, ...resources];
}
