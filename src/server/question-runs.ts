import type { JsonObject } from "../json/json.ts";
import type { ScopeBudgets } from "../protocol/budget.ts";
import { type ErrorCode, McpError, toFailure } from "../protocol/errors.ts";
import type { Question, QuestionAnswer } from "../protocol/input.ts";
import type { Method } from "../protocol/methods.ts";
import { createSealer } from "../protocol/seal.ts";
import type { Call, CallOf, Outcome, OutcomeOf } from "../protocol/service.ts";
import type { Clock } from "../std/clock.ts";
import { createDeadlines } from "../std/deadlines.ts";
import { lazy } from "../std/lazy.ts";
import type { Store } from "../store/store.ts";
import { lazyQuestions } from "./context.ts";
import type { Execution, Job } from "./runs/execution.ts";
import { createRunner } from "./runs/runner.ts";

/** Work that may ask its caller questions. */
export interface QuestionRun {
  /** The call of the moment: the one that began the work, or the one that brought answers. */
  readonly call: Call;
  /** Aborts when the caller gives up, or nobody comes back with answers. */
  readonly signal: AbortSignal;
  /**
   * Asks the caller: at once where it can be asked while it waits, else by the outcome of the call. Gives the answer as it
   * came. Throws `missing-capability` where the caller did not say that it can answer. Questions without a key are numbered.
   */
  ask(question: Question, key?: string): Promise<QuestionAnswer>;
  /** Does something once, also when the work is done again for answers that reached another process. */
  step<T>(key: string, work: () => T | Promise<T>): Promise<T>;
  /** Tells the caller something while it waits. */
  notify(method: string, params: JsonObject): Promise<void> | undefined;
}

/**
 * Does work for a call, over several calls where the caller can only be asked by an outcome.
 *
 * Answers that reach the process where the work waits let it go on. Answers that reach another process, or the same after
 * a restart, do the work again there, with what was answered before.
 */
export interface QuestionRuns {
  run<M extends Method>(call: CallOf<M>, work: (run: QuestionRun) => Promise<OutcomeOf<M>>): Promise<OutcomeOf<M>>;
  /** The id of the run that gave the state which a call brings. Undefined when it is none of these runs. */
  runOf(state: string): Promise<string | undefined>;
}

export interface QuestionRunsOptions {
  /** Keeps what others may have to go on with. It is not closed. */
  readonly store: () => Promise<Store>;
  /** True when other processes use the store. */
  readonly isShared: boolean;
  /** Whose runs these are: the state of others is refused. */
  readonly audience: string;
  /** The first seals, all open. Processes that go on with each other's work need the same. */
  readonly stateKeys: readonly string[];
  readonly clock: Clock;
  /** How long a caller may take to come back. Default 10 minutes. */
  readonly askTimeoutMs?: number | undefined;
  /** Of calls that wait for answers: `maxParkedCalls`. */
  readonly budgets?: ScopeBudgets | undefined;
}

export function createQuestionRuns(options: QuestionRunsOptions): QuestionRuns {
  const { store, isShared, audience, stateKeys, clock, askTimeoutMs = 600_000, budgets } = options;
  const { date: now = Date.now } = clock;
  const runner = createRunner({
    stateKeys,
    audience,
    deadlines: createDeadlines(clock),
    askTimeoutMs,
    shares: lazy(lazyQuestions.load, (parts) => parts.createServerShares(budgets, undefined, clock)),
    requestBound: clock.requestBound,
    now,
    store: lazy(store),
    isShared,
  });
  const sealer = createSealer(stateKeys);

  return {
    run<M extends Method>(call: CallOf<M>, work: (run: QuestionRun) => Promise<OutcomeOf<M>>) {
      return Promise.resolve(runner.run(call as Call, new WorkJob(work as Work))) as Promise<OutcomeOf<M>>;
    },
    async runOf(state) {
      const ticket = await sealer.open(state);
      return ticket?.audience === audience ? String(ticket.id) : undefined;
    },
  };
}

type Work = (run: QuestionRun) => Promise<Outcome>;

/** Has no time limit: the work sets its own. */
class WorkJob implements Job {
  readonly timeoutMs = 0;
  readonly #work: Work;

  constructor(work: Work) {
    this.#work = work;
  }

  start(execution: Execution): Promise<Outcome> {
    return this.#work(new ExecutionRun(execution));
  }

  finish(value: unknown): Outcome {
    return value as Outcome;
  }

  fail(error: unknown): Outcome {
    const isTold = error instanceof McpError;
    const code: ErrorCode = "internal";
    return { kind: "failed", failure: isTold ? toFailure(error) : { code, message: "the call failed" }, cause: error };
  }
}

class ExecutionRun implements QuestionRun {
  readonly #execution: Execution;

  constructor(execution: Execution) {
    this.#execution = execution;
  }

  get call(): Call {
    return this.#execution.call;
  }

  get signal(): AbortSignal {
    return this.#execution.signal;
  }

  async ask(question: Question, key?: string): Promise<QuestionAnswer> {
    return (await lazyQuestions.load()).pass(this.#execution, question, key);
  }

  async step<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    return (await (await lazyQuestions.load()).step(this.#execution, key, work)) as T;
  }

  notify(method: string, params: JsonObject): Promise<void> | undefined {
    return this.#execution.notify(method, params);
  }
}
