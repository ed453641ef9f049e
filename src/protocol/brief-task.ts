import type { DetailedTask, Task } from "./task.ts";

/** A task without what its status brings. */
export function briefly(task: DetailedTask | Task): Task {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs, _meta } = task;
  return {
    taskId,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt,
    lastUpdatedAt,
    ttlMs,
    ...(pollIntervalMs !== undefined && { pollIntervalMs }),
    ...(_meta !== undefined && { _meta }),
  };
}
