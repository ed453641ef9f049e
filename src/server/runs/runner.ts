import { McpError } from "../../protocol/errors.ts";
import { callKey } from "../../protocol/meta.ts";
import type { Outcome } from "../../protocol/service.ts";
import type { Shares } from "../../protocol/shares.ts";
import { readStateKeys } from "../../protocol/state-keys.ts";
import { type Lazy, lazy } from "../../std/lazy.ts";
import { Execution, type Job, type Runner } from "./execution.ts";
import type { InputRounds, InputRoundsOptions } from "./input-rounds.ts";

export interface RunnerOptions extends Omit<InputRoundsOptions, "leaseMs" | "shares" | "stateKeys"> {
  readonly stateKeys: readonly (string | undefined)[] | undefined;
  readonly shares: Lazy<Shares>;
  /** How long a process holds a run without a renewal of its lease. Default 15 s. */
  readonly leaseMs?: number | undefined;
}

const LEASE_MS = 15_000;

/** Throws `invalid-definition` when a key can be guessed. What several rounds need is loaded for the first of them. */
export function createRunner(given: RunnerOptions): Runner {
  const { deadlines, isShared, leaseMs = LEASE_MS } = given;
  const options = { ...given, leaseMs, stateKeys: readStateKeys(given.stateKeys) };
  const rounds = lazy(async () => {
    const [{ createInputRounds }, shares] = await Promise.all([import("../lazy-parts.ts"), given.shares.load()]);
    return createInputRounds({ ...options, shares });
  });
  const suspend = async (execution: Execution): Promise<Outcome> => (await rounds.load()).suspend(execution);
  const reach = { deadlines, suspend };

  const later = (job: Job, run: (rounds: InputRounds) => Promise<Outcome>): Promise<Outcome> =>
    rounds
      .load()
      .then(run)
      .catch((error: unknown) => job.fail(error));

  return {
    run(call, job) {
      if (call.state !== undefined && call.ask === undefined) return later(job, (it) => it.resume(call, job));
      const key = isShared ? call.meta[callKey] : undefined;
      if (typeof key === "string") return later(job, (it) => it.start(call, job, key));
      return new Execution(call, job, reach).run();
    },
    runOnce: (call, job) => new Execution(call, job, { deadlines, suspend: cannotAsk }).run(),
  };
}

function cannotAsk(): Promise<Outcome> {
  return Promise.reject(new McpError("unsupported", "this function cannot ask: only handlers of calls can"));
}
