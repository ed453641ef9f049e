import { McpError } from "../model/errors.ts";
import type { Call, Outcome } from "../model/service.ts";
import type { Deadlines } from "../std/deadlines.ts";
import { Execution, type Job } from "./execution.ts";
import type { Rounds } from "./rounds.ts";

export interface RunnerOptions {
  /** Secrets that seal the state of questions. The first seals, all open. */
  readonly stateKeys: readonly string[] | undefined;
  readonly deadlines: Deadlines;
  /** How long a client may take to come back with answers. */
  readonly stateTtlMs: number;
  /** Suspended runs kept in this process; the oldest give way and are run again when their client comes back. */
  readonly maxParked: number;
  /** The time of day, which other processes share. */
  now(): number;
}

/** Runs handlers, over several calls where questions need it. */
export interface Runner {
  run(call: Call, job: Job): Outcome | Promise<Outcome>;
}

/** A shorter secret can be guessed by whoever holds a sealed text. */
const MIN_SECRET = 16;

/** Throws `invalid-definition` when a secret is too short. What several rounds need is loaded for the first of them. */
export function createRunner(options: RunnerOptions): Runner {
  const { deadlines, stateKeys = [] } = options;
  if (stateKeys.some((secret) => secret.length < MIN_SECRET)) {
    throw new McpError("invalid-definition", `each of stateKeys must have at least ${MIN_SECRET} characters`);
  }

  let rounds: Promise<Rounds> | undefined;
  const load = (): Promise<Rounds> => {
    rounds ??= import("./rounds.ts").then(({ createRounds }) => createRounds(options));
    return rounds;
  };
  const suspend = async (execution: Execution): Promise<Outcome> => (await load()).suspend(execution);
  const reach = { deadlines, suspend };

  return {
    run(call, job) {
      if (call.state === undefined || call.ask !== undefined) return new Execution(call, job, reach).run();
      return load()
        .then(({ resume }) => resume(call, job))
        .catch((error: unknown) => job.fail(error));
    },
  };
}
