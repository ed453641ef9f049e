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
  isPassing,
  isPutOff,
  retryMs,
  type TaskNotifications,
  type Watcher,
} from "./task-news.ts";

/**
 * Follows tasks to their end.
 *
 * A task is asked about as often as its server wants, and news that come without
 * asking count too. What it asks is answered: a modern server is sent the
 * answers; a legacy one asks by itself while it is waited for, so that starts at
 * once. What fails because nobody answers, or can tell now, is tried again: time
 * limits are for the watcher to set.
 */
export function createFollower(line: FollowContext): Follow {
  const news = createTaskNotifications(line);
  return (task, watcher) =>
    new Promise((resolve, reject) => new Following({ line, news, watcher, resolve, reject }, task).begin());
}

interface FollowingParts {
  readonly line: FollowContext;
  readonly news: TaskNotifications;
  readonly watcher: Watcher;
  resolve(result: CallToolResult): void;
  reject(error: unknown): void;
}

class Following {
  readonly #parts: FollowingParts;
  readonly #taskId: string;
  readonly #questions: TaskQuestions;
  /** Ends what is under way. */
  readonly #abort = new AbortController();
  /** What is to happen later, by how not to do it. */
  readonly #timers = new Set<() => void>();
  #leaveNews = (): void => {};
  #last: Task;
  /** How often the task was seen. */
  #seen = 0;
  #isOver = false;

  constructor(parts: FollowingParts, task: Task) {
    const { handlers, maxRounds } = parts.line;
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
    const { line, news, watcher } = this.#parts;
    const task = this.#last;
    watcher.abort.onAbort(() => this.#leave(watcher.abort.reason));
    if (this.#isOver) return;
    watcher.tell(task);
    this.#leaveNews = news.follow(this.#taskId, (state) => this.#take(state));
    if (isDetailed(task)) this.#take(task);
    if (this.#isOver) return;
    if (!line.isModern) void this.#awaitResult();
    if (isDetailed(task)) this.#pollLater();
    else void this.#poll();
  }

  #pollLater(): void {
    this.#parts.watcher.hears();
    this.#later(intervalOf(this.#last), () => void this.#poll());
  }

  async #poll(failures = 0): Promise<void> {
    const { watcher, news } = this.#parts;
    const seen = this.#seen;
    if (failures === 0) watcher.asks();
    try {
      const task = await this.#send("tasks/get", { taskId: this.#taskId });
      // What was heard meanwhile is no older than this, unless this says so.
      if (seen === this.#seen || timeOf(task) > timeOf(this.#last)) this.#take(task);
      if (this.#isOver) return;
      news.renew();
      if (this.#waitsForResult()) watcher.asks();
      else this.#pollLater();
    } catch (error) {
      this.#retry(error, failures, (more) => void this.#poll(more));
    }
  }

  #take(task: DetailedTask): void {
    if (this.#isOver || timeOf(task) < timeOf(this.#last)) return;
    const isNews = !isSame(task, this.#last);
    this.#last = task;
    this.#seen++;
    if (this.#waitsForResult()) return;
    if (isNews) this.#parts.watcher.tell(task);
    if (isFinal(task)) this.#end(() => this.#settle(task));
    else this.#questions.list(task.status === "input_required" ? task.questions : {});
  }

  /** A legacy server says that a task is over, but not with what. */
  #waitsForResult(): boolean {
    return !this.#parts.line.isModern && isFinal(this.#last) && !isDetailed(this.#last);
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
      if (this.#isOver || isPassing(error)) return this.#tryLater(error, failures, again);
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
    this.#parts.watcher.tell(task);
    this.#end(() => this.#settle(task));
  }

  /** How it stands, if the server says so. For all we know it is working where nobody can tell now. */
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
   * Tries again what failed without the server having said anything of it. True when
   * that will be done, or nobody waits; else the following ends, unless told not to.
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
    this.#later(Math.max(retryMs(error, failures + 1), intervalOf(this.#last)), () => again(failures + 1));
  }

  /** Ends before the task does, and so ends the task, unless it is to go on. */
  #leave(error: unknown): void {
    const { line, watcher, reject } = this.#parts;
    if (this.#isOver) return;
    this.#end(() => reject(error));
    if (watcher.keeps) return;
    line.send("tasks/cancel", { taskId: this.#taskId }, { headers: watcher.headers }, aside).catch(ignore);
  }

  #end(settle: () => void): void {
    this.#isOver = true;
    this.#leaveNews();
    for (const stop of this.#timers) stop();
    this.#questions.list({});
    this.#abort.abort();
    settle();
  }

  #later(ms: number, task: () => void): void {
    const stop = this.#parts.line.clock.after(ms, () => {
      this.#timers.delete(stop);
      task();
    });
    this.#timers.add(stop);
  }

  readonly #send: FollowContext["send"] = (method, params, options) => {
    const { line, watcher } = this.#parts;
    return line.send(method, params, { ...options, headers: watcher.headers, signal: this.#abort.signal }, aside);
  };
}

function errorOf(task: DetailedTask): McpError {
  if (task.status === "failed" && task.failure !== undefined) return toError(task.failure);
  if (task.status === "cancelled") return new McpError("cancelled", task.statusMessage ?? "the task was cancelled");
  return new McpError("invalid-response", `the task is ${task.status}, but the server does not say with what`);
}

/** True for failures of methods of tasks that say nothing of the task. */
function canBeTriedAgain(error: unknown): boolean {
  return isPassing(error) || isPutOff(error);
}

const aside = { aside: true };

function ignore(): void {}

/** How long to wait between two looks at a task: as long as the server says, but for one that says nonsense. */
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
  /** Answers those that are new. Those that are not listed stand no longer: whoever answers them may stop. */
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
