import { McpError } from "../../protocol/errors.ts";
import { callKey } from "../../protocol/meta.ts";
import type { Outcome } from "../../protocol/service.ts";
import { lazy } from "../../std/lazy.ts";
import { Execution, type Job, type Runner } from "./execution.ts";
import type { InputRounds, InputRoundsOptions } from "./input-rounds.ts";

export interface RunnerOptions extends Omit<InputRoundsOptions, "leaseMs"> {
  /** How long a process that does not renew it holds a run. Default 15 s. */
  readonly leaseMs?: number | undefined;
}

const LEASE_MS = 15_000;

/** Throws `invalid-definition` when a key can be guessed. What several rounds need is loaded for the first of them. */
export function createRunner(given: RunnerOptions): Runner {
  const { deadlines, isShared, leaseMs = LEASE_MS } = given;
  const options = { ...given, leaseMs, stateKeys: readStateKeys(given.stateKeys) };
  const rounds = lazy(
    () => import("../lazy-parts.ts"),
    ({ createInputRounds }) => createInputRounds(options),
  );
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
