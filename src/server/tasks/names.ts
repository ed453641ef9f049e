import { callKey } from "../../model/meta.ts";
import type { Call } from "../../model/service.ts";
import type { Task } from "../../model/task.ts";
import { bindingOf } from "../ticket.ts";
import type { TaskDesk } from "./desk.ts";
import type { TaskRecord } from "./record.ts";

/** The member of `_meta` by which a caller names what it wants done once, however often it has to try. */

/** Which task a call began, for callers that name their calls and have to repeat them. */
export interface TaskNames {
  /** The task that the same call began before. */
  find(): Promise<TaskRecord | undefined>;
  /** Says that this task is the one. Resolves to another that is. */
  claim(task: Task): Promise<TaskRecord | undefined>;
}

/** Whether its caller may have to repeat it. */
export function isNamed({ meta }: Call): boolean {
  return typeof meta[callKey] === "string";
}

/** Undefined for a call without a name. */
export async function taskNames({ store, records }: TaskDesk, call: Call): Promise<TaskNames | undefined> {
  const key = call.meta[callKey];
  if (typeof key !== "string") return undefined;
  const name = `task-call:${await bindingOf(call, key)}`;

  const find = async (): Promise<TaskRecord | undefined> => {
    const value = await store.values.get(name);
    return value && records.read(value.text);
  };

  return {
    find,
    async claim({ taskId, ttlMs }) {
      for (;;) {
        const value = await store.values.get(name);
        const record = value && (await records.read(value.text));
        if (record !== undefined) return record;
        const limits = { version: value?.version ?? null, ...(ttlMs !== null && { ttl: Math.max(1, ttlMs) }) };
        if ((await store.values.put(name, taskId, limits)) !== undefined) return undefined;
      }
    },
  };
}
