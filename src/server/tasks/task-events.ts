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

/** Events of tasks, from all processes that share a store. */
interface TaskEvents {
  /** Never rejects: what cannot be sent now is sent when the store is back. */
  publish(id: string, what: Exclude<What, "gap">): Promise<void>;
  /** Calls the listener with events of one task. Returns a function that removes it. */
  watch(id: string, heard: (what: What) => void): () => void;
  close(): Promise<void>;
}

const TOPIC = "tasks";

/** Replaces events that were too many to be queued until the store was available again. */
const EVERYTHING = JSON.stringify({ what: "gap" });

/** Resolves when events that are published from now on will be received. */
export async function createTaskEvents({ topics }: Store, clock: Clock): Promise<TaskEvents> {
  const watchers = new Map<string, Set<(what: What) => void>>();

  const tell = (id: string, what: What): void => {
    for (const heard of [...(watchers.get(id) ?? [])]) heard(what);
  };

  const watch: TaskEvents["watch"] = (id, heard) => {
    const listeners = watchers.get(id) ?? new Set();
    listeners.add(heard);
    watchers.set(id, listeners);
    return () => {
      if (listeners.delete(heard) && listeners.size === 0 && watchers.get(id) === listeners) watchers.delete(id);
    };
  };

  // Where everything ends with its request there is no subscription between requests: callers that wait for a task poll
  // it.
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
  /** The sizes of the tasks that this process runs or has run, by their ids. */
  readonly sizes: ShareMap;
  readonly events: TaskEvents;
  readonly limits: { readonly [K in keyof TaskOptions]-?: NonNullable<TaskOptions[K]> };
  /**
   * Continues a task without a process, in the request of the caller. Set where handlers end with their request: there,
   * requests for a task keep it running. Never rejects.
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

/** Runs `task` every `ms`, counted from its end. Does not keep the process alive. Returns a function that stops it. */
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

/** Emits the newest of many values, at most once in `everyMs`. */
export interface Throttle<T> {
  put(value: T): void;
  /** Emits a pending value immediately. */
  flush(): void;
  stop(): void;
}

export function createThrottle<T>(clock: Clock, everyMs: number, emit: (value: T) => void): Throttle<T> {
  let next = Number.NEGATIVE_INFINITY;
  let waiting: { readonly value: T; disarm(): void } | undefined;

  const emitNow = (value: T): void => {
    waiting = undefined;
    next = clock.now() + everyMs;
    emit(value);
  };

  return {
    put(value) {
      if (waiting !== undefined) {
        waiting = { ...waiting, value };
        return;
      }
      const wait = next - clock.now();
      if (wait <= 0) return emitNow(value);
      const disarm = clock.after(wait, () => waiting && emitNow(waiting.value));
      waiting = { value, disarm };
    },
    flush() {
      waiting?.disarm();
      if (waiting !== undefined) emitNow(waiting.value);
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
