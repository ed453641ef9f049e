import { defined } from "../../std/defined.ts";
import type { Store } from "../../store/store.ts";
import type { Environment } from "../environment.ts";
import type { TaskLimits } from "../options.ts";
import type { TaskNews } from "./news.ts";
import type { TaskRecords } from "./records.ts";

/** What all tasks of one server share. */
export interface TaskDesk {
  readonly env: Environment;
  readonly store: Store;
  readonly records: TaskRecords;
  readonly news: TaskNews;
  readonly limits: Required<TaskLimits>;
}

export function limitsOf(options: TaskLimits = {}): Required<TaskLimits> {
  return {
    afterMs: 250,
    ttlMs: 3_600_000,
    maxTtlMs: 86_400_000,
    pollIntervalMs: 1_000,
    maxRunning: 100,
    maxKept: 10_000,
    leaseMs: 15_000,
    ...defined(options),
  };
}
