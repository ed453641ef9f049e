import type { Outcome } from "../../model/service.ts";
import type { Job } from "../execution.ts";
import type { ReadyTool } from "../tools.ts";

/** A job that may go on as a task. */
export interface TaskJob extends Job {
  /** From now on only a time limit of its own counts: work that lasts says nothing for long. */
  last(): void;
}

/** What to do for a task that is taken up: run a job, or nothing any more. */
export type Prepared =
  | { readonly kind: "job"; readonly job: TaskJob }
  | { readonly kind: "over"; readonly outcome: Outcome<"tools/call"> };

export function taskJob({ definition }: ReadyTool, job: Job): TaskJob {
  let { timeoutMs } = job;
  return {
    get timeoutMs() {
      return timeoutMs;
    },
    last() {
      timeoutMs = definition.timeoutMs ?? 0;
    },
    start: (execution) => job.start(execution),
    finish: (value) => job.finish(value),
    fail: (error) => job.fail(error),
  };
}
