import { type DetailedTask, isFinal, type Task } from "../model/task.ts";
import type { CallToolResult } from "../model/tool.ts";
import type { CallOptions } from "./call-options.ts";
import { cancelled } from "./exchange.ts";
import { isDetailed } from "./follow-task.ts";
import { latest } from "./latest.ts";
import type { Requests } from "./request.ts";
import { onSignal } from "./shared-signal.ts";
import type { FollowOptions, TaskHandle } from "./tasks.ts";

export interface TaskHandleParts {
  readonly send: Requests["send"];
  /** Throws or rejects when the result is not what the tool promised. */
  check(result: CallToolResult): CallToolResult | Promise<CallToolResult>;
  status(taskId: string, options?: CallOptions): Promise<DetailedTask>;
  cancel(taskId: string, options?: CallOptions): Promise<void>;
  readonly options: FollowOptions | undefined;
}

/** A handle whose users share one following: it starts with the first of them and ends with the last. */
export function createTaskHandle(parts: TaskHandleParts, first: Task): TaskHandle {
  const { send, check, options = {} } = parts;
  const { taskId } = first;
  const states = latest<DetailedTask>();
  let task = first;
  let following: { readonly result: Promise<CallToolResult>; readonly abort: AbortController } | undefined;
  let users = 0;
  /** True when the task was followed to its end: what it came to stays. */
  let isOver = false;

  const learn = (state: Task): void => {
    if (state === task) return;
    task = state;
    if (isDetailed(state)) states.push(state);
  };

  const follow = (): Promise<CallToolResult> => {
    const abort = new AbortController();
    const { timeoutMs, maxTotalMs = 0, onTask } = options;
    const tell = (state: Task): void => {
      learn(state);
      isOver ||= isFinal(state) && isDetailed(state);
      onTask?.(state);
    };
    const callOptions = { signal: abort.signal, timeoutMs, maxTotalMs, onTask: tell };
    const service = async () => ({ kind: "task" as const, task });
    const result = send("tools/call", { name: taskId }, callOptions, { service, keeps: true, aside: true }).then(check);
    following = { result, abort };
    result.catch(() => {
      // A task that is only lost from sight can be found again.
      if (!isOver && following?.abort === abort) following = undefined;
    });
    return result;
  };

  const leave = (): void => {
    following?.abort.abort();
    following = undefined;
  };

  /** Follows the task for as long as `use` lasts. */
  const using = async <T>(use: (result: Promise<CallToolResult>) => Promise<T>): Promise<T> => {
    users++;
    try {
      return await use(following?.result ?? follow());
    } finally {
      users--;
      if (users === 0 && !isOver) leave();
    }
  };

  return {
    id: taskId,
    get task() {
      return task;
    },
    result: ({ signal } = {}) => using((result) => until(result, signal)),
    async status(callOptions) {
      const state = await parts.status(taskId, callOptions);
      if (!isFinal(task)) learn(state);
      return state;
    },
    async cancel(callOptions) {
      if (!isFinal(task)) await parts.cancel(taskId, callOptions);
    },
    [Symbol.asyncIterator]() {
      const reader = states.read(isDetailed(task) ? task : undefined);
      void using((result) => Promise.race([result, reader.left])).then(
        () => reader.end(),
        (error: unknown) => reader.end(isOver ? undefined : error),
      );
      return reader;
    },
  };
}

/** Waits no longer than the signal allows. */
function until<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(cancelled("tools/call", signal));
    if (signal.aborted) return leave();
    promise.then(resolve, reject).finally(onSignal(signal, leave));
  });
}

/** The handle of a call that was answered at once. */
export function finishedHandle(result: CallToolResult): TaskHandle {
  const now = new Date().toISOString();
  const task: DetailedTask = {
    taskId: "",
    status: "completed",
    createdAt: now,
    lastUpdatedAt: now,
    ttlMs: 0,
    result,
  };
  return {
    id: undefined,
    task,
    result: async () => result,
    status: async () => task,
    cancel: async () => {},
    async *[Symbol.asyncIterator]() {
      yield task;
    },
  };
}
