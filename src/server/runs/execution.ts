import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import { methodRow } from "../../protocol/methods.ts";
import { abortReason, type Call, type Outcome, onAbort, signalOf } from "../../protocol/service.ts";
import type { Deadline, Deadlines } from "../../std/deadlines.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import { isAbort } from "../error-reporter.ts";
import type { Arrival, InputState, ReplayContext } from "./input-state.ts";

/** What to run for a call, and how its end becomes an outcome. */
export interface Job {
  readonly timeoutMs: number;
  /** The time limit when the call continues as a task. */
  readonly taskTimeoutMs?: number;
  /** The scopes that a caller needs for the task. */
  readonly scopes?: readonly string[] | undefined;
  start(execution: Execution): unknown;
  /** Called when the run continues for another call. */
  resumed?(execution: Execution): void;
  finish(value: unknown): Outcome | Promise<Outcome>;
  /** Never throws. */
  fail(error: unknown): Outcome;
}

/** Runs handlers, over several calls where questions need it. */
export interface Runner {
  run(call: Call, job: Job): Outcome | Promise<Outcome>;
  /** Runs a job without questions: it cannot ask, and answers in the call are ignored. */
  runOnce(call: Call, job: Job): Outcome | Promise<Outcome>;
}

/** Takes over a run from the call that began it, for example a task. */
export interface Successor {
  /** From now on it may abort the run, and receives progress. */
  readonly call: Call;
  readonly suspendContext: SuspendContext;
  /** How the call that began it ends. Called when it is handed over, and only then. */
  answer(): Outcome | Promise<Outcome>;
}

/** What an execution needs to be suspended, and to be continued by a later call. */
export interface SuspendContext {
  readonly deadlines: Deadlines;
  /** Called when the handler waits for answers that only another call can bring. */
  suspend(execution: Execution): Promise<Outcome>;
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
  /** True when the run ended because an answer it was run again with is malformed. */
  refused = false;
  /** What it goes on from. */
  readonly past: ReplayContext | undefined;
  /** True once the handler looked at who calls, or asked: what it gives may be for this caller only. */
  isPersonal: boolean;
  /** What this run asked, was told and has done. Made by `inputStateOf` when first needed: most runs do without. */
  inputState: InputState | undefined;
  readonly #job: Job;
  #suspendContext: SuspendContext;
  #phase: "running" | "suspended" | "ended" = "running";
  #outcome: Outcome | Promise<Outcome> | undefined;
  #settle: ((outcome: Outcome | Promise<Outcome>) => void) | undefined;
  #abort: LazyAbort | undefined;
  #unlink: (() => void) | undefined;
  #deadline: Deadline | undefined;
  #lastProgress = Number.NEGATIVE_INFINITY;
  /** Pending while the caller is slow to read progress. */
  #slow: Promise<void> | undefined;
  /** Questions the client is being asked right now. */
  #asking = 0;

  constructor(call: Call, job: Job, suspendContext: SuspendContext, past?: ReplayContext) {
    this.call = call;
    this.#job = job;
    this.#suspendContext = suspendContext;
    this.past = past;
    // A handler that is run again may skip what it asked: its steps know the answers.
    this.isPersonal = past !== undefined;
  }

  /** Starts the handler. The outcome comes when it ends or has to wait for another call. */
  run(): Outcome | Promise<Outcome> {
    let value: unknown;
    try {
      value = this.#job.start(this);
    } catch (error) {
      return this.#end(this.#failed(error));
    }
    if (!isThenable(value)) return this.#end(this.#finish(value));
    Promise.resolve(value).then(
      (result) => this.#phase !== "ended" && this.#end(this.#finish(result)),
      (error) => this.#end(this.#failed(error)),
    );
    return this.#wait();
  }

  /** Continues a suspended run, for the call with the answers. */
  resume(call: Call, arrivals: readonly Arrival[]): Outcome | Promise<Outcome> {
    this.call = call;
    if (this.#outcome !== undefined) return this.#outcome;
    this.#phase = "running";
    this.#link();
    const outcome = this.#wait();
    this.#job.resumed?.(this);
    this.inputState?.deliver(arrivals);
    void this.suspendSoon();
    return outcome;
  }

  /** Ends the current call and continues without it, to the outcome that it returns. Undefined when no call waits. */
  handOver({ call, suspendContext, answer }: Successor): Promise<Outcome> | undefined {
    const settle = this.#settle;
    if (this.#phase !== "running" || settle === undefined) return undefined;
    this.#deadline?.stop();
    this.#unlink?.();
    this.call = call;
    this.#link();
    this.#suspendContext = suspendContext;
    const answered = answer();
    const outcome = this.#wait();
    settle(answered);
    return outcome;
  }

  /** Abandons a suspended run: its questions reject, so that `finally` blocks run. */
  abandon(reason: string): void {
    if (this.#phase !== "ended") this.#stop(new McpError("cancelled", reason));
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new LazyAbort();
      if (this.#phase === "running") this.#link();
    }
    return this.#abort.signal;
  }

  /** Reports progress. While the caller is slow to read, values are dropped, because only the latest one matters. */
  progress(progress: number, total?: number, message?: string): Promise<void> | undefined {
    if (this.#phase !== "running") return undefined;
    this.#deadline?.touch();
    if (!this.call.wantsProgress || !(progress > this.#lastProgress) || !Number.isFinite(progress)) return undefined;
    if (this.#slow !== undefined) return this.#slow;
    this.#lastProgress = progress;
    this.#slow = this.notify("notifications/progress", {
      progress,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    })?.finally(() => {
      this.#slow = undefined;
    });
    return this.#slow;
  }

  /** Sends a notification to the caller during the call. A returned promise is backpressure. */
  notify(method: string, params: JsonObject): Promise<void> | undefined {
    return this.#phase === "running" ? this.call.notify(method, params) : undefined;
  }

  /** True when the call may end by asking the client for input. */
  get mayAsk(): boolean {
    return methodRow(this.call.method).asks === true;
  }

  get isOver(): boolean {
    return this.#phase === "ended";
  }

  /** Throws the reason of the abort, if there is one. */
  throwIfStopped(): void {
    if (this.#abort?.aborted) throw this.#abort.signal.reason;
  }

  /** Waits for the user while no time counts: how long an answer takes is not the handler's. */
  async clearDeadline<T>(answer: () => Promise<T>): Promise<T> {
    this.#asking++;
    this.#deadline?.stop();
    try {
      return await answer();
    } finally {
      this.#asking--;
      this.#startDeadline();
    }
  }

  /** Ends the call with the problem of an answer, and aborts the handler, which never sees the answer. */
  refuse(error: unknown): McpError {
    this.refused = true;
    this.#end(this.#job.fail(error));
    return this.#stop(new McpError("cancelled", "an answer was malformed"));
  }

  /** Suspends a run that waits. Questions of the same turn go out together, and no step is left without its result. */
  async suspendSoon(): Promise<void> {
    const { inputState } = this;
    if (!inputState?.isWaiting) return;
    await inputState.idle();
    if (this.#phase !== "running" || !inputState.isWaiting) return;
    if (signalOf(this.call).aborted) this.abandon("the call was cancelled");
    else this.#suspend();
  }

  #wait(): Promise<Outcome> {
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#startDeadline();
    });
  }

  /** Time counts while a call waits for this run, and this run for no user. */
  #startDeadline(): void {
    const { timeoutMs } = this.#job;
    if (timeoutMs <= 0 || this.#asking > 0 || this.#phase !== "running") return;
    this.#deadline = this.#suspendContext.deadlines.start({ idleMs: timeoutMs, totalMs: 0 }, () => {
      const message = `no result and no progress within ${timeoutMs} ms`;
      const error = new McpError("timeout", message, { data: { reason: "timeout" } });
      this.#end(this.#job.fail(error));
      this.#stop(error);
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

  /** An error that a handler throws after it was aborted is not reported. */
  #failed(error: unknown): Outcome {
    const signal = this.#abort?.aborted ? this.#abort.signal : undefined;
    const isReason = signal !== undefined && error === signal.reason;
    if (!isReason && !(isAbort(error) && (signal ?? signalOf(this.call)).aborted)) return this.#job.fail(error);
    return { kind: "failed", failure: { code: "cancelled", message: "the call was cancelled" } };
  }

  /** The first outcome counts. One without a waiting call is retained for the next call. */
  #end(outcome: Outcome | Promise<Outcome>): Outcome | Promise<Outcome> {
    if (this.#outcome !== undefined) return this.#outcome;
    this.#phase = "ended";
    this.#outcome = outcome;
    this.#deadline?.stop();
    this.#unlink?.();
    this.#settle?.(outcome);
    return outcome;
  }

  /** Aborts the handler, and returns the reason. */
  #stop(reason: McpError): McpError {
    this.#abort ??= new LazyAbort();
    this.#abort.abort(reason);
    this.inputState?.giveUp(reason);
    return reason;
  }

  #suspend(): void {
    this.#phase = "suspended";
    this.#deadline?.stop();
    this.#unlink?.();
    const outcome = this.#suspendContext.suspend(this).catch((error: unknown) => {
      this.abandon("the call cannot be continued");
      return this.#job.fail(error);
    });
    this.#settle?.(outcome);
  }

  /** The call of the moment can abort this run. */
  #link(): void {
    const { call } = this;
    const abort = this.#abort;
    if (abort !== undefined) this.#unlink = onAbort(call, () => abort.abort(abortReason(call)));
  }
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
