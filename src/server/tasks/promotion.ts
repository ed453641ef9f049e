import { abortReason, type Call, type Outcome } from "../../model/service.ts";
import type { Environment } from "../environment.ts";
import type { Execution, Job } from "../execution.ts";
import type { TaskJob } from "./job.ts";

export interface PromotionOptions {
  readonly env: Environment;
  /** How long a call may take as it is. */
  readonly afterMs: number;
  /** Makes a task of a run, unless its call ends before. */
  promote(execution: Execution, job: TaskJob): Promise<void>;
}

type ToolCall = Call<"tools/call">;
type ToolOutcome = Outcome<"tools/call">;

/** What works for a call. */
interface Worker {
  readonly execution: Execution;
  readonly job: TaskJob;
}

/** Runs calls as they are, and makes a task of each that lasts. */
export function createPromotion({ env, afterMs, promote }: PromotionOptions) {
  /** By the call of the moment: a run that waits for answers goes on with another one, and is held by nobody here. */
  const workers = new WeakMap<Call, Worker>();
  /** Calls that have lasted. Some of them longer than it takes to find out what works for them. */
  const late = new WeakSet<Call>();

  const promoteLate = (call: Call): void => {
    const worker = workers.get(call);
    if (worker === undefined || !late.has(call) || abortReason(call) !== undefined) return;
    const { execution, job } = worker;
    promote(execution, job).catch((error: unknown) => {
      env.faults.failureOf(error, call.method, (call as ToolCall).params.name);
    });
  };

  const tracked = (job: TaskJob): Job => {
    const works = (execution: Execution): void => {
      workers.set(execution.call, { execution, job });
      promoteLate(execution.call);
    };
    return {
      get timeoutMs() {
        return job.timeoutMs;
      },
      start(execution) {
        works(execution);
        const value = job.start(execution);
        const forget = (): void => void workers.delete(execution.call);
        if (value instanceof Promise) value.then(forget, forget);
        return value;
      },
      goOn: works,
      finish: (value) => job.finish(value),
      fail: (error) => job.fail(error),
    };
  };

  return (call: ToolCall, job: TaskJob): ToolOutcome | Promise<ToolOutcome> => {
    const outcome = env.runner.run(call, tracked(job)) as ToolOutcome | Promise<ToolOutcome>;
    if (!(outcome instanceof Promise)) return outcome;
    const lasts = (): void => {
      late.add(call);
      promoteLate(call);
    };
    const deadline = env.deadlines.start({ idleMs: 0, totalMs: Math.max(1, afterMs) }, lasts);
    return outcome.finally(() => deadline.stop());
  };
}
