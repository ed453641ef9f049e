import { abortReason, type Call, type Outcome } from "../../model/service.ts";
import type { Environment } from "../environment.ts";
import type { Execution } from "../execution.ts";
import type { TaskJob, Watch } from "./job.ts";

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

  const watch: Watch = {
    works(execution, job) {
      workers.set(execution.call, { execution, job });
      promoteLate(execution.call);
    },
    rests: ({ call }) => void workers.delete(call),
  };

  return (call: ToolCall, job: TaskJob): ToolOutcome | Promise<ToolOutcome> => {
    job.watch = watch;
    const outcome = env.runner.run(call, job) as ToolOutcome | Promise<ToolOutcome>;
    if (!(outcome instanceof Promise)) return outcome;
    const lasts = (): void => {
      late.add(call);
      promoteLate(call);
    };
    const deadline = env.deadlines.start({ idleMs: 0, totalMs: Math.max(1, afterMs) }, lasts);
    return outcome.finally(() => deadline.stop());
  };
}
