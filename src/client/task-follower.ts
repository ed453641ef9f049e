import { briefly } from "../protocol/brief-task.ts";
import { McpError, toError, toFailure } from "../protocol/errors.ts";
import type { Question, QuestionAnswer } from "../protocol/input.ts";
import { type DetailedTask, isFinal, type Task, type TaskStatus } from "../protocol/task.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { answer, askedTooOften } from "./outgoing-call.ts";
import type { ClientRequestHandlers } from "./request-handlers.ts";
import {
  createTaskNotifications,
  type Follow,
  type FollowContext,
  hasRetryDelay,
  isTransientFailure,
  retryDelayMs,
  type TaskNotifications,
  type Watcher,
} from "./task-notifications.ts";

/**
 * Follows tasks to their end.
 *
 * A task is polled as often as its server wants; notifications about it count, too. Its questions are answered: a
 * modern server is sent the answers; a legacy server asks during `tasks/result`, so that request starts at once.
 * Failures that are transient are retried: time limits are set by the watcher.
 */
export function createFollower(context: FollowContext): Follow {
  const notifications = createTaskNotifications(context);
  return (task, watcher) =>
    new Promise((resolve, reject) =>
      new TaskFollower({ context, notifications, watcher, resolve, reject }, task).begin(),
    );
}

interface TaskFollowerParts {
  readonly context: FollowContext;
  readonly notifications: TaskNotifications;
  readonly watcher: Watcher;
  resolve(result: CallToolResult): void;
  reject(error: unknown): void;
}

class TaskFollower {
  readonly #parts: TaskFollowerParts;
  readonly #taskId: string;
  readonly #questions: TaskQuestions;
  /** Ends what is under way. */
  readonly #abort = new AbortController();
  /** What is to happen later, by how not to do it. */
  readonly #timers = new Set<() => void>();
  #unfollow = (): void => {};
  #last: Task;
  /** How often the task was seen. */
  #seen = 0;
  #isOver = false;

  constructor(parts: TaskFollowerParts, task: Task) {
    const { handlers, maxRounds } = parts.context;
    this.#parts = parts;
    this.#taskId = task.taskId;
    this.#last = task;
    this.#questions = createTaskQuestions({
      handlers,
      maxRounds,
      send: (key, answer) => this.#answer(key, answer),
      fail: (error) => this.#leave(error),
    });
  }

  begin(): void {
    const { context, notifications, watcher } = this.#parts;
    const task = this.#last;
    watcher.abort.onAbort(() => this.#leave(watcher.abort.reason));
    if (this.#isOver) return;
    watcher.onTask(task);
    this.#unfollow = notifications.follow(this.#taskId, (state) => this.#take(state));
    if (isDetailed(task)) this.#take(task);
    if (this.#isOver) return;
    if (!context.isModern) void this.#awaitResult();
    if (isDetailed(task)) this.#pollLater();
    else void this.#poll();
  }

  #pollLater(): void {
    this.#parts.watcher.onResponse();
    this.#later(intervalOf(this.#last), () => void this.#poll());
  }

  async #poll(failures = 0): Promise<void> {
    const { watcher, notifications } = this.#parts;
    const seen = this.#seen;
    if (failures === 0) watcher.onRequestSent();
    try {
      const task = await this.#send("tasks/get", { taskId: this.#taskId });
      // States that arrived meanwhile are newer, unless the timestamps say otherwise.
      if (seen === this.#seen || timeOf(task) > timeOf(this.#last)) this.#take(task);
      if (this.#isOver) return;
      notifications.renew();
      if (this.#waitsForResult()) watcher.onRequestSent();
      else this.#pollLater();
    } catch (error) {
      this.#retry(error, failures, (more) => void this.#poll(more));
    }
  }

  #take(task: DetailedTask): void {
    if (this.#isOver || timeOf(task) < timeOf(this.#last)) return;
    const isChange = !isSame(task, this.#last);
    this.#last = task;
    this.#seen++;
    if (this.#waitsForResult()) return;
    if (isChange) this.#parts.watcher.onTask(task);
    if (isFinal(task)) this.#end(() => this.#settle(task));
    else this.#questions.list(task.status === "input_required" ? task.questions : {});
  }

  /** A legacy server says that a task is over, but not with what. */
  #waitsForResult(): boolean {
    return !this.#parts.context.isModern && isFinal(this.#last) && !isDetailed(this.#last);
  }

  #settle(task: DetailedTask): void {
    const { resolve, reject } = this.#parts;
    if (task.status === "completed" && task.result !== undefined) resolve(task.result);
    else reject(errorOf(task));
  }

  /**
   * Waits for the result of a legacy task. An error may be about the wait, and
   * not about the task: it counts if it comes when the task is known to be over.
   */
  async #awaitResult(failures = 0, isOver = false): Promise<void> {
    try {
      const result = await this.#send("tasks/result", { taskId: this.#taskId }, { timeoutMs: 0, maxTotalMs: 0 });
      this.#conclude({ ...briefly(this.#last), status: "completed", result });
    } catch (error) {
      const again = (more: number): void => void this.#awaitResult(more);
      if (this.#isOver || isTransientFailure(error)) return this.#tryLater(error, failures, again);
      const status = await this.#status();
      if (status === "working" || status === "input_required") return this.#tryLater(error, failures, again);
      if (status !== undefined && status !== "cancelled" && !isOver) return this.#awaitResult(failures, true);
      const task = briefly(this.#last);
      if (status === "cancelled") this.#conclude({ ...task, status });
      else this.#conclude({ ...task, status: "failed", failure: toFailure(error as McpError) });
    }
  }

  #conclude(task: DetailedTask): void {
    if (this.#isOver) return;
    this.#parts.watcher.onTask(task);
    this.#end(() => this.#settle(task));
  }

  /** The state of the task, if the server tells it. Undefined after a transient failure. */
  async #status(): Promise<TaskStatus | undefined> {
    try {
      const { status } = await this.#send("tasks/get", { taskId: this.#taskId });
      return status;
    } catch (error) {
      return canBeTriedAgain(error) ? "working" : undefined;
    }
  }

  async #answer(key: string, answer: QuestionAnswer, failures = 0): Promise<void> {
    try {
      await this.#send("tasks/update", { taskId: this.#taskId, inputResponses: { [key]: answer } });
    } catch (error) {
      const again = (more: number): void => {
        this.#answer(key, answer, more).catch((reason: unknown) => this.#leave(reason));
      };
      if (!this.#isOver && !this.#retry(error, failures, again, false)) throw error;
    }
  }

  /**
   * Retries after a transient failure. True when it will be retried, or when the result is not awaited any more;
   * otherwise the follower ends, unless told not to.
   */
  #retry(error: unknown, failures: number, again: (failures: number) => void, orFail = true): boolean {
    if (this.#isOver) return true;
    if (canBeTriedAgain(error)) {
      this.#tryLater(error, failures, again);
      return true;
    }
    if (orFail) this.#end(() => this.#parts.reject(error));
    return false;
  }

  #tryLater(error: unknown, failures: number, again: (failures: number) => void): void {
    if (this.#isOver) return;
    this.#later(Math.max(retryDelayMs(error, failures + 1), intervalOf(this.#last)), () => again(failures + 1));
  }

  /** Stops following before the task ends, and cancels the task unless it is to continue. */
  #leave(error: unknown): void {
    const { context, watcher, reject } = this.#parts;
    if (this.#isOver) return;
    this.#end(() => reject(error));
    if (watcher.keeps) return;
    context.send("tasks/cancel", { taskId: this.#taskId }, { headers: watcher.headers }, unqueued).catch(ignore);
  }

  #end(settle: () => void): void {
    this.#isOver = true;
    this.#unfollow();
    for (const stop of this.#timers) stop();
    this.#questions.list({});
    this.#abort.abort();
    settle();
  }

  #later(ms: number, task: () => void): void {
    const stop = this.#parts.context.clock.after(ms, () => {
      this.#timers.delete(stop);
      task();
    });
    this.#timers.add(stop);
  }

  readonly #send: FollowContext["send"] = (method, params, options) => {
    const { context, watcher } = this.#parts;
    return context.send(method, params, { ...options, headers: watcher.headers, signal: this.#abort.signal }, unqueued);
  };
}

function errorOf(task: DetailedTask): McpError {
  if (task.status === "failed" && task.failure !== undefined) return toError(task.failure);
  if (task.status === "cancelled") return new McpError("cancelled", task.statusMessage ?? "the task was cancelled");
  return new McpError("invalid-response", `the task is ${task.status}, but the server does not say with what`);
}

/** True for failures of methods of tasks that say nothing of the task. */
function canBeTriedAgain(error: unknown): boolean {
  return isTransientFailure(error) || hasRetryDelay(error);
}

const unqueued = { skipsQueue: true };

function ignore(): void {}

/** The polling interval: the one of the server, or a default where that is out of range. */
function intervalOf({ pollIntervalMs }: Task): number {
  return Number.isFinite(pollIntervalMs) ? Math.max(100, pollIntervalMs ?? 0) : 1_000;
}

/** NaN, which compares to nothing, when the server did not say a time. */
function timeOf({ lastUpdatedAt }: Task): number {
  return Date.parse(lastUpdatedAt);
}

function isSame(one: Task, other: Task): boolean {
  return (
    one.status === other.status &&
    one.statusMessage === other.statusMessage &&
    one.lastUpdatedAt === other.lastUpdatedAt &&
    isDetailed(one) === isDetailed(other)
  );
}

/** True when the task comes with what its status brings. */
export function isDetailed(task: Task): task is DetailedTask {
  switch (task.status) {
    case "working":
    case "cancelled":
      return true;
    case "input_required":
      return "questions" in task;
    case "completed":
      return "result" in task;
    case "failed":
      return "failure" in task;
  }
}

/** The questions of one task. Each is answered once for as long as it stands. */
interface TaskQuestions {
  /** Answers new questions. Answers to questions that are not listed any more are aborted. */
  list(questions: Readonly<Record<string, Question>>): void;
}

interface TaskQuestionsOptions {
  readonly handlers: Pick<ClientRequestHandlers, "answer">;
  readonly maxRounds: number;
  send(key: string, answer: QuestionAnswer): Promise<void>;
  /** Takes why the questions cannot be answered. */
  fail(error: unknown): void;
}

const what = "the task";

function createTaskQuestions({ handlers, maxRounds, send, fail }: TaskQuestionsOptions): TaskQuestions {
  const standing = new Map<string, LazyAbort>();
  let rounds = 0;

  const take = async (key: string, question: Question): Promise<void> => {
    const abort = new LazyAbort();
    standing.set(key, abort);
    try {
      const given = await answer(question, { what, handlers, abort });
      if (!abort.aborted) await send(key, given);
    } catch (error) {
      if (!abort.aborted) fail(error);
    }
  };

  return {
    list(questions) {
      for (const [key, abort] of standing) {
        if (Object.hasOwn(questions, key)) continue;
        standing.delete(key);
        abort.abort("the question stands no longer");
      }
      const fresh = Object.entries(questions).filter(([key]) => !standing.has(key));
      if (fresh.length === 0) return;
      if (++rounds > maxRounds) return fail(askedTooOften(what, maxRounds));
      for (const [key, question] of fresh) void take(key, question);
    },
  };
}
