import { McpError } from "../../model/errors.ts";
import { callKey } from "../../model/meta.ts";
import type { Call, Outcome } from "../../model/service.ts";
import { type Lazy, lazy } from "../../std/lazy.ts";
import { lazyQuestions } from "../lazy-questions.ts";
import type { Rounds, RunnerOptions } from "../rounds.ts";
import { Execution, type Job } from "./execution.ts";
import type { DurableRounds } from "./input-rounds.ts";

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

/**
 * The keys of the option, else of the environment. Undefined when there are none.
 *
 * Throws `invalid-definition` for a key that is not 32 random bytes or more: whoever holds a sealed state can try keys
 * on it for as long as they like, and forge state with one that fits.
 */
export function readStateKeys(option: readonly string[] | undefined): readonly string[] | undefined {
  const keys = option ?? environmentKeys();
  const weak = keys?.findIndex((key) => !looksRandom(key)) ?? -1;
  if (weak < 0) return keys;
  const name = option === undefined ? variable : "stateKeys";
  throw new McpError(
    "invalid-definition",
    `key ${weak + 1} of ${name} must be 32 random bytes or more, in hex or base64; make one with: openssl rand -base64 32`,
  );
}

const variable = "PLUGBAY_STATE_KEYS";

/** Where the platform has an environment, keys may come from there. */
function environmentKeys(): readonly string[] | undefined {
  const { process } = globalThis as { readonly process?: { readonly env?: Readonly<Record<string, string>> } };
  const keys = process?.env?.[variable]?.split(",").map((key) => key.trim());
  return keys?.filter((key) => key !== "");
}

const hex = /^[\da-f]{64,}$/i;
/** Of 32 random bytes in base64, one in a billion lacks either case; words that somebody made up mostly do. */
const base64 = /^(?=.*[a-z])(?=.*[A-Z])[\w+/-]{43,}={0,2}$/;
const MIN_CHARACTERS = 10;

/** Whether a text may be 32 random bytes: that it is cannot be told, that it is not mostly can. */
function looksRandom(key: string): boolean {
  return new Set(key).size >= MIN_CHARACTERS && (hex.test(key) || base64.test(key));
}
