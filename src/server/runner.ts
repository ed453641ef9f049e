import { McpError } from "../model/errors.ts";
import { callKey } from "../model/meta.ts";
import type { Call, Outcome } from "../model/service.ts";
import type { Deadlines } from "../std/deadlines.ts";
import type { Store } from "../store/store.ts";
import type { DurableRounds } from "./durable-rounds.ts";
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
  /** What all processes share. Called when a call is continued or named, and {@link RunnerOptions.shared} is set. */
  store?(): Promise<Store>;
  /** True when there may be other processes that go on with a call. */
  readonly shared?: boolean;
  /** How long a process that does not renew it holds a run. Default 15 s. */
  readonly leaseMs?: number | undefined;
}

/** Runs handlers, over several calls where questions need it. */
export interface Runner {
  run(call: Call, job: Job): Outcome | Promise<Outcome>;
}

const LEASE_MS = 15_000;

/** A shorter secret can be guessed by whoever holds a sealed text. */
const MIN_SECRET = 16;

/** Throws `invalid-definition` when a secret is too short. What several rounds need is loaded for the first of them. */
export function createRunner(given: RunnerOptions): Runner {
  const options = { ...given, stateKeys: readKeys(given.stateKeys) };
  const { deadlines, leaseMs = LEASE_MS } = options;
  const store = options.shared === true ? options.store : undefined;

  const durable =
    store &&
    once(() => import("./durable-rounds.ts").then((it) => it.createDurableRounds({ ...options, store, leaseMs })));
  const load: () => Promise<Rounds> =
    durable ?? once(() => import("./rounds.ts").then(({ createRounds }) => createRounds(options)));
  const suspend = async (execution: Execution): Promise<Outcome> => (await load()).suspend(execution);
  const reach = { deadlines, suspend };

  const later = <T extends Rounds>(rounds: Promise<T>, job: Job, run: (rounds: T) => Promise<Outcome>) =>
    rounds.then(run).catch((error: unknown) => job.fail(error));
  const start = (key: string, call: Call, job: Job, rounds: Promise<DurableRounds>) =>
    later(rounds, job, (it) => it.start(call, job, key));

  return {
    run(call, job) {
      if (call.state !== undefined && call.ask === undefined) return later(load(), job, (it) => it.resume(call, job));
      const key = durable && call.meta[callKey];
      if (durable !== undefined && typeof key === "string") return start(key, call, job, durable());
      return new Execution(call, job, reach).run();
    },
  };
}

/** Secrets of the option, else of the environment. None when there are none. */
function readKeys(option: readonly string[] | undefined): readonly string[] | undefined {
  const keys = option ?? environmentKeys();
  if (keys?.some((secret) => secret.length < MIN_SECRET)) {
    const place = option === undefined ? variable : "stateKeys";
    throw new McpError("invalid-definition", `each of ${place} must have at least ${MIN_SECRET} characters`);
  }
  return keys;
}

const variable = "PLUGBAY_STATE_KEYS";

/** Where the platform has an environment, keys may come from there. */
function environmentKeys(): readonly string[] | undefined {
  const { process } = globalThis as { readonly process?: { readonly env?: Readonly<Record<string, string>> } };
  const keys = process?.env?.[variable]?.split(",").map((key) => key.trim());
  return keys?.filter((key) => key !== "");
}

/** Does something when it is first asked for, and never again. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
