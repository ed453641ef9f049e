import { promised } from "../../std/awaitable.ts";
import { isUnavailable, type Store } from "../../store/store.ts";
import type { Environment } from "../environment.ts";
import { digestOf } from "../runs/input-state.ts";
import type { TaskRecord } from "./task-record.ts";

/** The size of a task in the store. */
export interface HeldTask {
  readonly id: string;
  readonly bytes: number;
  /** In ms of the time of day. Absent while it runs. */
  readonly ended?: number;
}

/**
 * The usage of each account in a shared store, so that it can be read without the tasks. Nothing is written where this
 * process is the only one to use the store.
 */
export interface HeldTasks {
  /** While the store is unavailable, the task stays counted. */
  note(record: TaskRecord, bytes: number, ttlMs: number | undefined): Promise<void>;
  forget(id: string): Promise<void>;
  of(account: string): Promise<readonly HeldTask[]>;
}

const PREFIX = "task-held:";
const PAGE = 100;
/** Of a task whose end is never noted. */
const LONGEST_MS = 86_400_000;

function ignoreUnavailable(error: unknown): void {
  if (!isUnavailable(error)) throw error;
}

export function createHeldTasks({ values }: Store, { audience, isShared }: Environment): HeldTasks {
  if (!isShared) return { note: async () => {}, forget: async () => {}, of: async () => [] };
  const groupOf = async (account: string): Promise<string> => `tasks-of:${await digestOf([audience, account])}`;

  return {
    async note({ id, account, updated, state }, bytes, ttlMs) {
      const isOver = state.stage !== "open";
      const held: HeldTask = { id, bytes, ...(isOver && { ended: updated }) };
      const options = { group: await groupOf(account), ttlMs: isOver ? ttlMs : LONGEST_MS };
      await promised(() => values.put(`${PREFIX}${id}`, JSON.stringify(held), options)).catch(ignoreUnavailable);
    },
    async forget(id) {
      await values.delete(`${PREFIX}${id}`);
    },
    async of(account) {
      const group = await groupOf(account);
      const tasks: HeldTask[] = [];
      for (let after: string | undefined; ; ) {
        const found = await values.list(group, { limit: PAGE, after });
        for (const { text } of found) tasks.push(JSON.parse(text));
        after = found.at(-1)?.name;
        if (found.length < PAGE) return tasks;
      }
    },
  };
}
