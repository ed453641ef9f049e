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
  /** Aborts when the caller stops waiting, or when no answer arrives in time. */
  readonly signal: AbortSignal;
  /**
   * Asks the caller: directly where it can be asked during the call, else by the outcome of the call. Resolves with the
   * answer unchanged. Throws `missing-capability` where the caller does not support the question. Questions without a
   * key are numbered.
   */
  ask(question: Question, key?: string): Promise<QuestionAnswer>;
  /** Does something once, also when the work is done again for answers that reached another process. */
  step<T>(key: string, work: () => T | Promise<T>): Promise<T>;
  /** Sends a notification to the caller during the call. */
  notify(method: string, params: JsonObject): Promise<void> | undefined;
}

/**
 * Does work for a call, over several calls where the caller can only be asked by an outcome.
 *
 * Answers that reach the process where the work waits let it continue. Answers that reach another process, or the same
 * one after a restart, run the work again there, with the earlier answers.
 */
export interface QuestionRuns {
  run<M extends Method>(call: CallOf<M>, work: (run: QuestionRun) => Promise<OutcomeOf<M>>): Promise<OutcomeOf<M>>;
  /** The id of the run that gave the state which a call brings. Undefined when it is none of these runs. */
  runOf(state: string): Promise<string | undefined>;
}

export interface QuestionRunsOptions {
  /** The store for data that other processes need to continue. It is not closed. */
  readonly store: () => Promise<Store>;
  /** True when other processes use the store. */
  readonly isShared: boolean;
  /** Whose runs these are: the state of others is refused. */
  readonly audience: string;
  /** The first key seals, all of them open. Processes that continue each other's work need the same keys. */
  readonly stateKeys: readonly string[];
  readonly clock: Clock;
  /** How long a caller may take to answer, in milliseconds. Default 600,000 (10 min). */
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
