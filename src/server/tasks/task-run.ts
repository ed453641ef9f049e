import type { JsonObject } from "../../json/json.ts";
import { type Failure, McpError } from "../../protocol/errors.ts";
import { type Call, createCall, type Outcome, setTaskId } from "../../protocol/service.ts";
import type { Task } from "../../protocol/task.ts";
import type { Deadline } from "../../std/deadlines.ts";
import { type HttpRequestInfo, holdRequest } from "../../std/http-request-info.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import { StoreError } from "../../store/store.ts";
import type { DurableRun } from "../runs/durable-run.ts";
import { Execution, isThenable, type Job, type SuspendContext } from "../runs/execution.ts";
import { type Arrival, inputStateOf, type ReplayState } from "../runs/input-state.ts";
import { entriesOf, leaseLost } from "../runs/journal.ts";
import { createThrottle, every, type TaskContext, type Throttle } from "./task-events.ts";
import { checkAnswers } from "./task-methods.ts";
import {
  asProgress,
  brief,
  endOf,
  type Progress,
  type TaskEvent,
  type TaskRecord,
  type TaskState,
} from "./task-record.ts";

export interface TaskRunOptions {
  readonly context: TaskContext;
  readonly record: TaskRecord;
  /** What the task is the public side of. */
  readonly run: DurableRun;
  readonly http?: HttpRequestInfo | undefined;
  /** Called once, when this process is done with the task. */
  ended(isFinal: boolean): void;
}

/** How this process is done with a task. */
type End =
  /** It is final. */
  | "final"
  /** Another process has taken it over. */
  | "lost"
  /** Another process is to take it over. */
  | "left"
  /** The handler waits for answers and cannot outlive its request: the request with the answers runs it again. */
  | "parked";

/**
 * One task that runs in this process.
 *
 * It changes the task in sequence, and only while no other process has continued it. Changes by others arrive as
 * events, or are found by polling.
 */
export class TaskRun {
  readonly id: string;
  /** The outcome for the caller. */
  readonly task: Task;
  /** The call of the handler, which is independent of the caller's. */
  readonly #call: Call<"tools/call">;
  readonly #options: TaskRunOptions;
  readonly #abort = new LazyAbort();
  readonly #reach: SuspendContext;
  readonly #progress: Throttle<Progress>;
  readonly #cleanup: (() => void)[] = [];
  #execution: Execution | undefined;
  /** Continues with the outcome, while the handler waits for answers. */
  #resume: ((outcome: Outcome | Promise<Outcome>) => void) | undefined;
  #stopWaiting: Deadline | undefined;
  #left: Promise<void> | undefined;
  /** Lets the platform end the request that the handler runs in. */
  readonly #releaseProcess: () => void;
  #isOver = false;
  #isClosing = false;

  constructor(options: TaskRunOptions) {
    const { context, record, run, http } = options;
    const { clock, deadlines } = context.env;
    const { leaseMs, pollIntervalMs } = context.limits;
    this.#options = options;
    this.id = record.id;
    this.task = brief(record, pollIntervalMs);
    const { params, meta, peer } = record;
    /** A handler that is run again repeats what was reported before. */
    const reported = record.progress?.progress ?? Number.NEGATIVE_INFINITY;
    const notify = (method: string, said: JsonObject): undefined => {
      if (method === "notifications/progress" && Number(said.progress) > reported) this.#progress.put(asProgress(said));
    };
    const abort = this.#abort;
    this.#releaseProcess = holdRequest(http);
    this.#call = createCall({ method: "tools/call", params, meta, peer, http, abort, notify, wantsProgress: true });
    setTaskId(this.#call, record.id);
    this.#reach = { deadlines, suspend: (execution) => this.#suspend(execution) };
    // Memory is written without delay. A shared store is written at most as often as clients poll.
    this.#progress = createThrottle(clock, context.store.durable ? pollIntervalMs : 0, (progress) => {
      void this.#inTurn(() => this.#note({ type: "report", progress }));
    });
    this.#cleanup.push(() => this.#progress.stop());
    this.#cleanup.push(context.events.watch(this.id, (what) => what !== "changed" && this.check()));
    // Events may have been lost with the store.
    if (context.store.durable) this.#cleanup.push(every(clock, leaseMs, () => this.#inTurn(() => this.#applyRecord())));
    run.onLost = () => this.#end("lost");
  }

  /** Runs the handler, with what an earlier run has done. */
  start(job: TaskJob): void {
    job.useTaskTimeout();
    const { history, journal } = this.#options.run;
    const execution = new Execution(this.#call, job, this.#reach, { ...history, journal });
    this.#execution = execution;
    void Promise.resolve(execution.run()).then((outcome) => this.#finish(outcome));
  }

  /** Continues a run that a call began, and ends that call with the task. False when the call is over. */
  takeOver(execution: Execution, job: TaskJob): boolean {
    const answer = (): Promise<Outcome> => {
      job.useTaskTimeout();
      const inputState = inputStateOf(execution);
      inputState.keepIn(this.#options.run.journal);
      return this.#remember(inputState.replayState()).then(() => ({ kind: "task", task: this.task }));
    };
    const rest = execution.handOver({ call: this.#call, suspendContext: this.#reach, answer });
    if (rest === undefined) return false;
    this.#execution = execution;
    void rest.then((outcome) => this.#finish(outcome));
    return true;
  }

  /** Checks whether another process has answered or ended the task. */
  check(): void {
    void this.#inTurn(() => this.#applyRecord());
  }

  /** The task was ended elsewhere: aborts the handler. */
  stop(): void {
    this.#end("final");
  }

  /** Its request has ended without notice. */
  lose(): void {
    this.#end("lost");
  }

  /** Drops a task that was never announced. */
  async discard(): Promise<void> {
    this.#end("lost");
    await this.#options.context.records.discard(this.id);
    await this.#options.run.release();
  }

  /** Leaves the task to other processes, once the current steps are recorded. */
  async close(): Promise<void> {
    const { clock } = this.#options.context.env;
    this.#isClosing = true;
    this.#execution?.abandon("the server is closing");
    const tooLong = new Promise<void>((resolve) => clock.after(this.#options.context.limits.leaseMs, resolve));
    await Promise.race([this.#execution?.inputState?.idle(), tooLong]);
    await this.#inTurn(async () => this.#end("left"));
    await this.#left;
  }

  /** The handler waits: its questions become the task's. */
  async #suspend(execution: Execution): Promise<Outcome> {
    const { record, context } = this.#options;
    const rest = new Promise<Outcome>((resolve) => {
      this.#resume = resolve;
    });
    if (record.ttlMs !== null) {
      const totalMs = Math.max(1, record.created + record.ttlMs - context.env.now());
      const failure: Failure = { code: "timeout", message: "no answer came in time" };
      const giveUp = (): void => void this.#inTurn(() => this.#note({ type: "fail", failure }));
      this.#stopWaiting = context.env.deadlines.start({ idleMs: 0, totalMs }, giveUp);
    }
    const ask = (): Promise<void> => this.#note({ type: "ask", questions: inputStateOf(execution).questions() });
    const asked = this.#options.run.inTurn(ask);
    await asked.catch((error: unknown) => {
      if (!this.#isOver) throw error;
    });
    const checked = this.#inTurn(() => this.#applyRecord());
    if (context.env.clock.requestBound === true) await checked;
    if (context.env.clock.requestBound === true && this.#resume !== undefined) this.#end("parked");
    return rest;
  }

  async #applyRecord(): Promise<void> {
    const record = await this.#options.context.records.read(this.id);
    if (record?.state.stage === "open") await this.#deliver(record.state);
    else this.#end("final");
  }

  /** Hands answers to the handler. Those that are malformed, or were given to another question, are asked for again. */
  async #deliver({ answers }: Extract<TaskState, { stage: "open" }>): Promise<void> {
    const execution = this.#execution;
    if (execution === undefined) return;
    const { good, bad } = await checkAnswers(inputStateOf(execution), answers);
    if (good.length === 0 && Object.keys(bad).length === 0) return;
    await this.#remember({ results: {}, answers: Object.fromEntries(good.map(({ key, given }) => [key, given])) });
    await this.#note({ type: "take", good: good.map(({ key }) => key), bad });
    if (good.length > 0 && !this.#isOver) this.#resumeWith(execution, good);
  }

  #resumeWith(execution: Execution, arrivals: readonly Arrival[]): void {
    const resume = this.#resume;
    this.#resume = undefined;
    this.#stopWaiting?.stop();
    if (resume === undefined) inputStateOf(execution).deliver(arrivals);
    else resume(execution.resume(this.#call, arrivals));
  }

  async #finish(outcome: Outcome): Promise<void> {
    // The outcome of a handler that was aborted for another process is ignored.
    if (this.#isClosing && outcome.kind !== "complete") return;
    this.#progress.flush();
    await this.#inTurn(async () => {
      try {
        await this.#note(endOf(outcome as Outcome<"tools/call">));
      } catch (error) {
        if (this.#isOver || error instanceof StoreError) throw error;
        await this.#note({ type: "fail", failure: this.#failureOf(error) });
      }
    });
  }

  /** Changes the task, and notifies all processes. */
  async #note(event: TaskEvent): Promise<void> {
    const { context, run } = this.#options;
    const changed = await run.persist(() => context.records.change(this.id, event, run.fence));
    if (changed.kind === "changed") await context.events.publish(this.id, "changed");
    if (changed.kind === "fenced" || changed.kind === "unknown") this.#end("lost");
    else if (changed.record.state.stage !== "open") this.#end("final");
  }

  /** Records the context so that another process finds it. */
  async #remember(known: ReplayState): Promise<void> {
    const entries = entriesOf(known);
    if (entries.length > 0) await this.#options.run.append(...entries).catch(() => {});
  }

  /** Never rejects. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    return this.#options.run.inTurn(work).catch((error: unknown) => {
      if (!this.#isOver && !(error instanceof StoreError)) this.#failureOf(error);
    });
  }

  #failureOf(error: unknown): Failure {
    return this.#options.context.env.errors.failureOf(error, "tools/call", this.#call.params.name);
  }

  #end(end: End): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.run.leave();
    this.#stopWaiting?.stop();
    for (const stop of this.#cleanup) stop();
    const reason = end === "final" ? "the task was cancelled" : leaseLost().message;
    if (end !== "parked") {
      this.#abort.abort(new McpError("cancelled", reason));
      this.#execution?.abandon(reason);
    }
    // A table that this run was in may keep it for long: then it does not keep what the handler returned.
    this.#execution = undefined;
    this.#options.ended(end === "final");
    this.#left = this.#leave(end);
  }

  /** A cleanup that fails now is repeated when the mark of the task is found. */
  async #leave(end: End): Promise<void> {
    const { context, run } = this.#options;
    try {
      if (end === "final") await context.records.tidy(this.id);
    } catch {}
    if (end !== "lost") await run.release();
    this.#releaseProcess();
  }
}

/** A job that may continue as a task. */
export interface TaskJob extends Job {
  /** From now on only its own time limit applies, because long work reports nothing for long. */
  useTaskTimeout(): void;
  /** Called with the process that runs the job, and the time. */
  watch?: Watch;
}

export interface Watch {
  works(execution: Execution, job: TaskJob): void;
  /** It is done, however that went. */
  rests(execution: Execution): void;
}

/** The job of a task that is continued, or undefined when it is over. */
export type Prepared =
  | { readonly kind: "job"; readonly job: Job }
  | { readonly kind: "over"; readonly outcome: Outcome<"tools/call"> };

export function taskJob(job: Job): TaskJob {
  return new TaskModeJob(job);
}

class TaskModeJob implements TaskJob {
  timeoutMs: number;
  watch?: Watch;
  readonly #job: Job;

  constructor(job: Job) {
    this.timeoutMs = job.timeoutMs;
    this.#job = job;
  }

  get scopes(): readonly string[] | undefined {
    return this.#job.scopes;
  }

  useTaskTimeout(): void {
    this.timeoutMs = this.#job.taskTimeoutMs ?? 0;
  }

  start(execution: Execution): unknown {
    const value = this.#job.start(execution);
    if (isThenable(value)) this.resumed(execution);
    const rest = (): void => this.watch?.rests(execution);
    if (value instanceof Promise) value.then(rest, rest);
    return value;
  }

  resumed(execution: Execution): void {
    this.watch?.works(execution, this);
  }

  finish(value: unknown): Outcome | Promise<Outcome> {
    return this.#job.finish(value);
  }

  fail(error: unknown): Outcome {
    return this.#job.fail(error);
  }
}
