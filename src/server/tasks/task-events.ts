import type { Call } from "../../protocol/service.ts";
import type { ShareMap, Shares } from "../../protocol/shares.ts";
import { promised } from "../../std/awaitable.ts";
import type { Clock } from "../../std/clock.ts";
import { defined } from "../../std/defined.ts";
import type { Store } from "../../store/store.ts";
import type { Environment } from "../environment.ts";
import { createOutbox } from "../outbox.ts";
import type { DurableRuns } from "../runs/durable-run.ts";
import type { HeldTasks } from "./held-tasks.ts";
import type { TaskOptions } from "./task-record.ts";
import type { TaskRecords } from "./task-store.ts";

/** What happened to a task. After `gap`, anything may have. */
type What = "answered" | "cancelled" | "changed" | "gap";

/** News of tasks, from all processes that share a store. */
interface TaskEvents {
  /** Never rejects: what cannot be sent now is sent when the store is back. */
  publish(id: string, what: Exclude<What, "gap">): Promise<void>;
  /** Hears of one task. Returns how to stop. */
  watch(id: string, heard: (what: What) => void): () => void;
  close(): Promise<void>;
}

const TOPIC = "tasks";

/** In place of news that were too many to be kept until the store was back. */
const EVERYTHING = JSON.stringify({ what: "gap" });

/** Resolves when it hears what is published from now on. */
export async function createTaskEvents({ topics }: Store, clock: Clock): Promise<TaskEvents> {
  const watchers = new Map<string, Set<(what: What) => void>>();

  const tell = (id: string, what: What): void => {
    for (const heard of [...(watchers.get(id) ?? [])]) heard(what);
  };

  const watch: TaskEvents["watch"] = (id, heard) => {
    const hearers = watchers.get(id) ?? new Set();
    hearers.add(heard);
    watchers.set(id, hearers);
    return () => {
      if (hearers.delete(heard) && hearers.size === 0 && watchers.get(id) === hearers) watchers.delete(id);
    };
  };

  // Nothing can listen between requests where everything ends with one: who waits for a task looks at it.
  if (clock.requestBound === true) return { publish: async (id, what) => tell(id, what), watch, close: async () => {} };
  const subscription = await topics.subscribe(TOPIC);

  const listen = async (): Promise<void> => {
    for await (const message of subscription) {
      const { id, what } = message.kind === "gap" ? { what: "gap" as const } : JSON.parse(message.text);
      for (const one of what === "gap" ? [...watchers.keys()] : [id]) tell(one, what);
    }
  };
  void listen();

  const outbox = createOutbox({
    clock,
    everything: EVERYTHING,
    async send(texts) {
      for (const text of texts) await topics.publish(TOPIC, text);
    },
  });

  return {
    async publish(id, what) {
      const text = JSON.stringify({ id, what });
      await promised(() => topics.publish(TOPIC, text)).catch(() => outbox.add(text));
    },
    watch,
    async close() {
      await outbox.close();
      await subscription.close();
    },
  };
}

/** What all tasks of one server share. */
export interface TaskContext {
  readonly env: Environment;
  readonly store: Store;
  readonly runs: DurableRuns;
  readonly records: TaskRecords;
  readonly held: HeldTasks;
  readonly shares: Shares;
  /** What the tasks that this process runs or has run hold, by their ids. */
  readonly sizes: ShareMap;
  readonly news: TaskEvents;
  readonly limits: { readonly [K in keyof TaskOptions]-?: NonNullable<TaskOptions[K]> };
  /**
   * Goes on with a task that nobody works on, in the request of the caller. Set where handlers end with their request:
   * there, who looks at a task keeps it going. Never rejects.
   */
  readonly adopt: ((id: string, call: Call) => Promise<void>) | undefined;
}

export function limitsOf(options: TaskOptions = {}): {
  readonly [K in keyof TaskOptions]-?: NonNullable<TaskOptions[K]>;
} {
  return {
    afterMs: 250,
    ttlMs: 3_600_000,
    maxTtlMs: 86_400_000,
    pollIntervalMs: 1_000,
    maxRunning: 100,
    leaseMs: 15_000,
    ...defined(options),
  };
}

/** Does `task` every `ms`, counted from its end. Keeps no process alive. Returns how to stop. */
export function every(clock: Clock, ms: number, task: () => Promise<void>): () => void {
  let isStopped = false;
  let disarm = clock.after(ms, run);

  async function run(): Promise<void> {
    await task();
    if (!isStopped) disarm = clock.after(ms, run);
  }

  return () => {
    isStopped = true;
    disarm();
  };
}

/** Passes on the newest of many values, at most once in `everyMs`. */
export interface Paced<T> {
  put(value: T): void;
  /** Passes on at once what waits for its time, if anything does. */
  flush(): void;
  stop(): void;
}

export function createPaced<T>(clock: Clock, everyMs: number, pass: (value: T) => void): Paced<T> {
  let next = Number.NEGATIVE_INFINITY;
  let waiting: { readonly value: T; disarm(): void } | undefined;

  const passNow = (value: T): void => {
    waiting = undefined;
    next = clock.now() + everyMs;
    pass(value);
  };

  return {
    put(value) {
      if (waiting !== undefined) {
        waiting = { ...waiting, value };
        return;
      }
      const wait = next - clock.now();
      if (wait <= 0) return passNow(value);
      const disarm = clock.after(wait, () => waiting && passNow(waiting.value));
      waiting = { value, disarm };
    },
    flush() {
      waiting?.disarm();
      if (waiting !== undefined) passNow(waiting.value);
    },
    stop() {
      waiting?.disarm();
      waiting = undefined;
    },
  };
}

/** Something to wait for again and again. */
interface Bell {
  ring(): void;
  /** Resolves when it rings after this. */
  next(): Promise<void>;
}

export function createBell(): Bell {
  let ring = (): void => {};
  let rung = Promise.resolve();
  return {
    ring: () => ring(),
    next() {
      rung = new Promise((resolve) => {
        ring = resolve;
      });
      return rung;
    },
  };
}
