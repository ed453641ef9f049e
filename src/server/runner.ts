import { callKey } from "../model/meta.ts";
import type { Call, Outcome } from "../model/service.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import type { DurableRounds } from "./durable-rounds.ts";
import { lazyQuestions } from "./lazy-questions.ts";
import type { Rounds, RunnerOptions } from "./rounds.ts";
import { Execution, type Job } from "./runs/execution.ts";
import { readStateKeys } from "./state-keys.ts";

/** Runs handlers, over several calls where questions need it. */
export interface Runner {
  run(call: Call, job: Job): Outcome | Promise<Outcome>;
}

const LEASE_MS = 15_000;

/** Throws `invalid-definition` when a key can be guessed. What several rounds need is loaded for the first of them. */
export function createRunner(given: RunnerOptions): Runner {
  const options = { ...given, stateKeys: readStateKeys(given.stateKeys) };
  const { deadlines, leaseMs = LEASE_MS } = options;
  const store = options.shared === true ? options.store : undefined;

  const durable = store && lazy(lazyQuestions.load, (it) => it.createDurableRounds({ ...options, store, leaseMs }));
  const rounds: Lazy<Rounds> = durable ?? lazy(lazyQuestions.load, (it) => it.createRounds(options));
  const suspend = async (execution: Execution): Promise<Outcome> => (await rounds.load()).suspend(execution);
  const reach = { deadlines, suspend };

  const later = <T extends Rounds>(rounds: Lazy<T>, job: Job, run: (rounds: T) => Promise<Outcome>) =>
    rounds
      .load()
      .then(run)
      .catch((error: unknown) => job.fail(error));
  const start = (key: string, call: Call, job: Job, rounds: Lazy<DurableRounds>) =>
    later(rounds, job, (it) => it.start(call, job, key));

  return {
    run(call, job) {
      if (call.state !== undefined && call.ask === undefined) return later(rounds, job, (it) => it.resume(call, job));
      const key = durable && call.meta[callKey];
      if (durable !== undefined && typeof key === "string") return start(key, call, job, durable);
      return new Execution(call, job, reach).run();
    },
  };
}
