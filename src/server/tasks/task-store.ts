import { McpError } from "../../protocol/errors.ts";
import { bytesOf } from "../../protocol/shares.ts";
import type { Store, StoredValue } from "../../store/store.ts";
import type { Environment } from "../environment.ts";
import { digestOf } from "../runs/input-state.ts";
import { runName } from "../runs/journal.ts";
import type { HeldTasks } from "./held-tasks.ts";
import { change, type TaskEvent, type TaskRecord } from "./task-record.ts";

/** What came of a change. */
export type Changed =
  | { readonly kind: "changed"; readonly record: TaskRecord }
  /** The event was not applicable. */
  | { readonly kind: "same"; readonly record: TaskRecord }
  | { readonly kind: "unknown" }
  /** Another process continues the task: the holder of this fence must stop. */
  | { readonly kind: "fenced" };

/** The tasks in a store. Every process that shares it sees the same ones. */
export interface TaskRecords {
  read(id: string): Promise<TaskRecord | undefined>;
  /** Saves a new task. False when the fence is lost. */
  create(record: TaskRecord, fence: number): Promise<boolean>;
  /** Deletes a task that was never announced. */
  discard(id: string): Promise<void>;
  /** Changes a task, also while other processes change it. The event may depend on the present state of the task. */
  change(id: string, event: TaskEvent | EventFor, fence?: number): Promise<Changed>;
  /** What a run of it left behind goes when the task is final. */
  tidy(id: string): Promise<void>;
  /** Ids of tasks that may not be final, at most 100: those after `after`. */
  open(after?: string): Promise<readonly string[]>;
  /** A page of the tasks of an owner, with the cursor of the next one. */
  list(owner: string, limit: number, after?: string): Promise<{ tasks: readonly TaskRecord[]; next?: string }>;
}

interface TaskRecordsOptions {
  readonly held: HeldTasks;
  /** Called with the size of a task whenever this process has written it. */
  onWritten(record: TaskRecord, bytes: number): void;
}

export type EventFor = (record: TaskRecord) => Promise<TaskEvent>;

/** A task can be read for at least this long after its end, regardless of its time to live. */
const MIN_KEPT_MS = 60_000;

const OPEN = "tasks:open";
const PREFIX = runName("");
const MARK = "task-open:";

/**
 * A task that is not final never expires and, where it outlives its process, has a mark, listed under one name for all
 * processes. The mark is created before the task, and deleted after all data of its run: data of a process that has
 * ended is found by the mark.
 */
export function createTaskRecords(
  store: Store,
  { audience, now }: Pick<Environment, "audience" | "now">,
  { held, onWritten }: TaskRecordsOptions,
): TaskRecords {
  const { values, streams } = store;

  /** A principal may be longer than a name. */
  const groupOf = async (owner: string): Promise<string> => `tasks:${await digestOf([audience, owner])}`;

  const write = async (record: TaskRecord, version: string | null, fence?: number): Promise<boolean> => {
    const text = JSON.stringify(record);
    const isOver = record.state.stage !== "open";
    const ttlMs = isOver ? keptFor(record, now()) : undefined;
    const options = {
      version,
      ...(fence !== undefined && { fence }),
      ...(record.owner !== undefined && { group: await groupOf(record.owner) }),
      ...(ttlMs !== undefined && { ttlMs }),
    };
    if ((await values.put(runName(record.id), text, options)) === undefined) return false;
    const bytes = bytesOf(text);
    onWritten(record, bytes);
    if (isOver || version === null) await held.note(record, bytes, ttlMs);
    return true;
  };

  /** Undefined when the task has changed meanwhile, or the fence is lost. */
  const attempt = async (
    value: StoredValue,
    event: TaskEvent | EventFor,
    fence?: number,
  ): Promise<Changed | undefined> => {
    const record: TaskRecord = JSON.parse(value.text);
    const next = change(record, typeof event === "function" ? await event(record) : event, now());
    if (next === record) return { kind: "same", record };
    return (await write(next, value.version, fence)) ? { kind: "changed", record: next } : undefined;
  };

  const unmark = async (id: string): Promise<void> => {
    if (store.durable) await values.delete(`${MARK}${id}`);
  };

  return {
    async read(id) {
      const value = await values.get(runName(id));
      return value && JSON.parse(value.text);
    },
    async create(record, fence) {
      if (store.durable) await values.put(`${MARK}${record.id}`, "", { group: OPEN });
      return write(record, null, fence);
    },
    async discard(id) {
      await values.delete(runName(id));
      await held.forget(id);
      await unmark(id);
    },
    async change(id, event, fence) {
      for (let before: string | undefined; ; ) {
        const value = await values.get(runName(id));
        if (value === undefined) return { kind: "unknown" };
        // The record is unchanged, so the fence was lost.
        if (value.version === before) return { kind: "fenced" };
        const changed = await attempt(value, event, fence);
        if (changed !== undefined) return changed;
        before = value.version;
      }
    },
    async tidy(id) {
      await streams.delete(runName(id));
      await unmark(id);
    },
    async open(after) {
      const marks = await values.list(OPEN, after === undefined ? {} : { after: `${MARK}${after}` });
      return marks.map(({ name }) => name.slice(MARK.length));
    },
    async list(owner, limit, after) {
      const found = await values.list(await groupOf(owner), {
        limit,
        ...(after !== undefined && { after: runName(after) }),
      });
      const next = found.length < limit ? undefined : found.at(-1)?.name.slice(PREFIX.length);
      return { tasks: found.map(({ text }) => JSON.parse(text)), ...(next !== undefined && { next }) };
    },
  };
}

/** How long a finished task is retained from now on. Undefined: without limit. */
export function keptFor({ created, ttlMs }: Pick<TaskRecord, "created" | "ttlMs">, now: number): number | undefined {
  return ttlMs === null ? undefined : Math.max(created + ttlMs - now, MIN_KEPT_MS);
}

/** The same error for a missing task and one of another owner. */
export function unknownTask(): McpError {
  return new McpError("invalid-params", "unknown task");
}
