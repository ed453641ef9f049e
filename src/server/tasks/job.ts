import type { Outcome } from "../../model/service.ts";
import { type Execution, isThenable, type Job } from "../runs/execution.ts";
import type { ReadyTool } from "../tools.ts";

/** A job that may go on as a task. */
export interface TaskJob extends Job {
  /** From now on only a time limit of its own counts: work that lasts says nothing for long. */
  last(): void;
  /** Hears what works for a call, and when. */
  watch?: Watch;
}

export interface Watch {
  works(execution: Execution, job: TaskJob): void;
  /** It is done, however that went. */
  rests(execution: Execution): void;
}

/** What to do for a task that is taken up: run a job, or nothing any more. */
export type Prepared =
  | { readonly kind: "job"; readonly job: TaskJob }
  | { readonly kind: "over"; readonly outcome: Outcome<"tools/call"> };

export function taskJob({ definition }: ReadyTool, job: Job): TaskJob {
  return new LastingJob(job, definition.timeoutMs ?? 0);
}

class LastingJob implements TaskJob {
  timeoutMs: number;
  watch?: Watch;
  readonly #job: Job;
  readonly #ownMs: number;

  constructor(job: Job, ownMs: number) {
    this.timeoutMs = job.timeoutMs;
    this.#job = job;
    this.#ownMs = ownMs;
  }

  last(): void {
    this.timeoutMs = this.#ownMs;
  }

  start(execution: Execution): unknown {
    const value = this.#job.start(execution);
    if (isThenable(value)) this.goOn(execution);
    const rest = (): void => this.watch?.rests(execution);
    if (value instanceof Promise) value.then(rest, rest);
    return value;
  }

  goOn(execution: Execution): void {
    this.watch?.works(execution, this);
  }

  finish(value: unknown): Outcome | Promise<Outcome> {
    return this.#job.finish(value);
  }

  fail(error: unknown): Outcome {
    return this.#job.fail(error);
  }
}
