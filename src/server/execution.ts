import type { Json, JsonObject } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import type { Question } from "../model/input.ts";
import { abortReason, type Call, type Outcome, onAbort } from "../model/service.ts";
import type { Deadline, Deadlines } from "../std/deadlines.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { type Inquiry, requireCapability } from "./questions.ts";

/** What to run for a call, and how its end becomes an outcome. */
export interface Job {
  readonly timeoutMs: number;
  start(execution: Execution): unknown;
  finish(value: unknown): Outcome | Promise<Outcome>;
  /** Never throws. */
  fail(error: unknown): Outcome;
}

/** How an execution reaches whoever can continue it later. */
export interface Rounds {
  readonly deadlines: Deadlines;
  /** Called when the handler waits for answers that only another call can bring. */
  suspend(execution: Execution): Promise<Outcome>;
}

/** What a run asked, was told and has done, by key. Most runs need none of it. */
export class Memory {
  /** Answers of earlier rounds, as they were sent. */
  readonly answers: Map<string, unknown> = new Map();
  /** Results of finished steps. */
  readonly results: Map<string, Json | undefined> = new Map();
  readonly steps: Map<string, Promise<Json | undefined>> = new Map();
  readonly waiting: Map<string, Waiting> = new Map();
  readonly keys: Set<string> = new Set();
}

interface Waiting {
  readonly inquiry: Inquiry;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * One run of a handler.
 *
 * It belongs to one call at a time. When the client can only be asked by an
 * outcome, the run is suspended between the call that asks and the call that
 * brings the answers; `signal`, progress and log go to the call of the moment.
 */
export class Execution {
  call: Call;
  readonly #job: Job;
  readonly #rounds: Rounds;
  #memory: Memory | undefined;
  #abort: LazyAbort | undefined;
  #unlink: (() => void) | undefined;
  #deadline: Deadline | undefined;
  #settle: ((outcome: Outcome | Promise<Outcome>) => void) | undefined;
  #end: Outcome | Promise<Outcome> | undefined;
  #asked = 0;
  #lastProgress = Number.NEGATIVE_INFINITY;
  #suspending = false;

  constructor(call: Call, job: Job, rounds: Rounds) {
    this.call = call;
    this.#job = job;
    this.#rounds = rounds;
  }

  get memory(): Memory {
    this.#memory ??= new Memory();
    return this.#memory;
  }

  /** Starts the handler; resolves when it ends or has to wait for another call. */
  run(): Outcome | Promise<Outcome> {
    let value: unknown;
    try {
      value = this.#job.start(this);
    } catch (error) {
      return this.#job.fail(error);
    }
    if (!isThenable(value)) return this.#finish(value);
    value.then(
      (result) => this.#done(this.#finish(result)),
      (error) => this.#done(this.#job.fail(error)),
    );
    return this.#wait();
  }

  /** Goes on with a suspended run, on behalf of the call that brought the answers. */
  async resume(call: Call, answers: ReadonlyMap<string, unknown>): Promise<Outcome> {
    const values = await this.#read(answers);
    this.call = call;
    this.#link();
    if (this.#end !== undefined) return this.#end;
    const outcome = this.#wait();
    for (const [key, { waiting, value, answer }] of values) {
      this.memory.waiting.delete(key);
      this.memory.answers.set(key, answer);
      waiting.resolve(value);
    }
    if (this.memory.waiting.size > 0) this.#suspendSoon();
    return outcome;
  }

  /** Gives up on a suspended run: its questions reject, so that `finally` blocks run. */
  abandon(reason: string): void {
    const error = new McpError("cancelled", reason);
    this.#abort ??= new LazyAbort();
    this.#abort.abort(error);
    for (const { reject } of this.memory.waiting.values()) reject(error);
    this.memory.waiting.clear();
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new LazyAbort();
      this.#link();
    }
    return this.#abort.signal;
  }

  get settled(): boolean {
    return this.#end !== undefined;
  }

  progress(progress: number, total?: number, message?: string): void {
    this.#deadline?.touch();
    if (this.#settle === undefined && this.#end !== undefined) return;
    if (!this.call.wantsProgress || !(progress > this.#lastProgress)) return;
    this.#lastProgress = progress;
    this.call.notify("notifications/progress", {
      progress,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    });
  }

  notify(method: string, params: JsonObject): void {
    if (this.#end === undefined) this.call.notify(method, params);
  }

  /** Puts a question to the client: at once where it can be asked, else by the outcome of this call. */
  async ask<T>(inquiry: Inquiry<T>, key = `ask-${++this.#asked}`): Promise<T> {
    const { keys, answers, waiting } = this.memory;
    if (keys.has(key)) throw new McpError("invalid-definition", `the question key ${key} is used twice`);
    keys.add(key);
    requireCapability(inquiry.question, this.call.peer.capabilities);
    if (this.call.ask !== undefined) return this.#askLive(inquiry, this.call.ask(inquiry.question));
    if (answers.has(key)) return this.#recall(inquiry, answers.get(key));
    return new Promise<T>((resolve, reject) => {
      waiting.set(key, { inquiry, resolve: resolve as (value: unknown) => void, reject });
      this.#suspendSoon();
    });
  }

  /** Runs `work` once for its key, however often the handler is run again. */
  step<T extends Json | undefined>(key: string, work: () => T | Promise<T>): Promise<T> {
    const { steps, results } = this.memory;
    const running = steps.get(key);
    if (running !== undefined) return running as Promise<T>;
    const result = results.has(key) ? Promise.resolve(results.get(key) as T) : this.#perform(key, work);
    steps.set(key, result);
    return result;
  }

  async #perform<T extends Json | undefined>(key: string, work: () => T | Promise<T>): Promise<T> {
    const value = await work();
    this.memory.results.set(key, value);
    return value;
  }

  /** The time a user takes to answer is not the handler's. */
  async #askLive<T>(inquiry: Inquiry<T>, answer: Promise<unknown>): Promise<T> {
    this.#deadline?.stop();
    try {
      return await inquiry.read(await answer);
    } finally {
      if (this.#end === undefined) this.#startDeadline();
    }
  }

  /** A malformed answer ends the call, not the question: the handler never sees it. */
  async #recall<T>(inquiry: Inquiry<T>, answer: unknown): Promise<T> {
    try {
      return await inquiry.read(answer);
    } catch (error) {
      this.#done(this.#job.fail(error));
      return new Promise<T>(() => {});
    }
  }

  async #read(answers: ReadonlyMap<string, unknown>) {
    const values = new Map<string, { waiting: Waiting; value: unknown; answer: unknown }>();
    for (const [key, waiting] of this.memory.waiting) {
      if (!answers.has(key)) continue;
      const answer = answers.get(key);
      values.set(key, { waiting, answer, value: await waiting.inquiry.read(answer) });
    }
    return values;
  }

  #wait(): Promise<Outcome> {
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#startDeadline();
    });
  }

  #startDeadline(): void {
    const { timeoutMs } = this.#job;
    if (timeoutMs <= 0) return;
    this.#deadline?.stop();
    this.#deadline = this.#rounds.deadlines.start({ idleMs: timeoutMs, totalMs: 0 }, () => {
      const message = `no result and no progress within ${timeoutMs} ms`;
      const error = new McpError("timeout", message, { data: { reason: "timeout" } });
      this.#abort ??= new LazyAbort();
      this.#abort.abort(error);
      this.#done(this.#job.fail(error));
    });
  }

  #finish(value: unknown): Outcome | Promise<Outcome> {
    try {
      const outcome = this.#job.finish(value);
      return outcome instanceof Promise ? outcome.catch((error: unknown) => this.#job.fail(error)) : outcome;
    } catch (error) {
      return this.#job.fail(error);
    }
  }

  /** The first end counts. One that comes while no call waits is kept for the next. */
  #done(outcome: Outcome | Promise<Outcome>): void {
    if (this.#end !== undefined) return;
    this.#end = outcome;
    this.#deadline?.stop();
    this.#unlink?.();
    this.#settle?.(outcome);
    this.#settle = undefined;
  }

  /** Questions that are asked in the same turn go out together. */
  #suspendSoon(): void {
    if (this.#suspending) return;
    this.#suspending = true;
    setTimeout(() => {
      this.#suspending = false;
      if (this.#end !== undefined || this.memory.waiting.size === 0) return;
      this.#deadline?.stop();
      this.#unlink?.();
      const settle = this.#settle;
      this.#settle = undefined;
      settle?.(this.#rounds.suspend(this));
    }, 0);
  }

  #link(): void {
    const abort = this.#abort;
    if (abort === undefined || this.#end !== undefined) return;
    const { call } = this;
    this.#unlink?.();
    this.#unlink = onAbort(call, () => abort.abort(abortReason(call)));
  }
}

/** The questions a run waits for, by key. */
export function questionsOf(execution: Execution): Readonly<Record<string, Question>> {
  return Object.fromEntries([...execution.memory.waiting].map(([key, { inquiry }]) => [key, inquiry.question]));
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
