import type { JsonObject } from "../json/json.ts";
import type { Connection } from "../protocol/connection.ts";
import { McpError, toFailure } from "../protocol/errors.ts";
import type { Method, Params, Result } from "../protocol/methods.ts";
import { eraOf } from "../protocol/revision.ts";
import { abortReason, type CallOf, type Notify, type OutcomeOf, type Service, withCall } from "../protocol/service.ts";
import { type DetailedTask, isFinal, type Task, type TaskTerms, tasksExtension } from "../protocol/task.ts";
import type { CallToolResult, Tool } from "../protocol/tool.ts";
import { callText, cancelled } from "./call-errors.ts";
import { type CallOptions, type NotificationListener, onSignal, toNotificationListener } from "./call-options.ts";
import type { OutputChecks } from "./output-check.ts";
import { type Requests, unsupported, walk } from "./requests.ts";
import { isDetailed } from "./task-follower.ts";
import { isTransientFailure } from "./task-notifications.ts";
import type { FollowOptions, StartOptions, TaskHandle } from "./tasks.ts";
import type { Warn } from "./warning.ts";

export interface TaskHandlesParts {
  readonly connection: Connection;
  readonly send: Requests["send"];
  /** Where lists are asked for. */
  readonly lists: Service;
  readonly checks: OutputChecks;
  readonly checksOutput: boolean;
  readonly maxPages: number;
  readonly warn: Warn;
  listTools(): Promise<readonly Tool[]>;
}

/** See `Tasks`. */
interface TaskHandles {
  start(name: string, args: JsonObject | undefined, options: StartOptions | undefined): Promise<TaskHandle>;
  resume(taskId: string, options: FollowOptions | undefined): Promise<TaskHandle>;
  list(options: CallOptions | undefined): Promise<readonly Task[]>;
}

export function createTaskHandles(parts: TaskHandlesParts): TaskHandles {
  const { connection, send, lists, checks, checksOutput, maxPages } = parts;
  const { server, revision } = connection;
  const isModern = eraOf(revision) === "modern";

  const status = async (taskId: string, options?: CallOptions): Promise<DetailedTask> => {
    const task = await send("tasks/get", { taskId }, options);
    return isDetailed(task) ? task : withResult(task, () => send("tasks/result", { taskId }, options));
  };

  const cancel = async (taskId: string, options?: CallOptions): Promise<void> => {
    try {
      await send("tasks/cancel", { taskId }, options);
    } catch (error) {
      // A legacy server refuses to end what is over.
      if (isModern || !(error instanceof McpError) || error.code !== "invalid-params") throw error;
      await send("tasks/get", { taskId }, options);
    }
  };

  const handleOf = (task: Task, options: FollowOptions | undefined, name?: string): TaskHandle => {
    const check = (result: CallToolResult) =>
      checksOutput && name !== undefined ? checks.check(name, result) : result;
    return createTaskHandle({ send, check, status, cancel, options }, task);
  };

  return {
    async start(name, args, options) {
      const { tools } = server.capabilities;
      if (tools === undefined) throw unsupported(server, "tools/call", "tools");
      let task: Task | undefined;
      const hear = options && toNotificationListener({ onProgress: options.onProgress }, parts.warn);
      const service = withTaskCapture(connection.service, hear, (given, isWanted) => {
        task = given;
        if (!isWanted) cancel(given.taskId, { headers: options?.headers }).catch(() => {});
      });
      const tasks = isModern ? undefined : await legacyTerms(parts, name, options);
      const params: Params<"tools/call"> = args === undefined ? { name } : { name, arguments: args };
      const result = await send("tools/call", params, options, { service, tasks });
      if (task !== undefined) return handleOf(task, options, name);
      return finishedHandle(checksOutput ? await checks.check(name, result) : result);
    },
    async resume(taskId, options) {
      if (!hasTasks(parts)) throw unsupported(server, "tasks/get", tasksExtension);
      return handleOf(await status(taskId, { headers: options?.headers }), options);
    },
    async list(options) {
      if (!hasTasks(parts)) throw unsupported(server, "tasks/list", tasksExtension);
      if (isModern) throw taskListUnsupported(connection);
      const fetchPage = (cursor: string | undefined) =>
        send("tasks/list", cursor === undefined ? {} : { cursor }, options, { service: lists });
      const all: Task[] = [];
      for await (const page of walk(fetchPage, { what: callText("tasks/list", {}, server), maxPages }))
        all.push(...page.tasks);
      return all;
    },
  };
}

function taskListUnsupported({ server, revision }: Connection): McpError {
  const what = callText("tasks/list", {}, server);
  const message = `${what} was not sent: revision ${revision} has no list of tasks; keep the ids of those that you start`;
  return new McpError("unsupported", message, { data: { method: "tasks/list" } });
}

function hasTasks({ connection }: TaskHandlesParts): boolean {
  return connection.server.capabilities.extensions?.[tasksExtension] !== undefined;
}

/** A legacy server creates a task only when asked to, which is allowed only for a tool that supports tasks. */
async function legacyTerms(
  parts: TaskHandlesParts,
  name: string,
  options: StartOptions | undefined,
): Promise<TaskTerms | undefined> {
  const { checks, connection, listTools } = parts;
  if (!hasTasks(parts) || connection.peer.capabilities.extensions?.[tasksExtension] === undefined) return undefined;
  if (!checks.hasLearned) await listTools();
  if (checks.taskSupport(name) === undefined) return undefined;
  return { wanted: true, ...(options?.ttlMs !== undefined && { ttlMs: options.ttlMs }) };
}

/**
 * A service that passes tasks to `take`, and returns an empty result to the caller instead. Notifications that arrive
 * after the call go to `onNotification`.
 */
function withTaskCapture(
  service: Service,
  hear: NotificationListener | undefined,
  take: (task: Task, isWanted: boolean) => void,
): Service {
  return async <M extends Method>(call: CallOf<M>): Promise<OutcomeOf<M>> => {
    let isOver = false;
    const notify: Notify = (method, params) => (isOver ? void hear?.(method, params) : call.notify(method, params));
    const outcome = await service(hear === undefined ? call : withCall(call, { notify }));
    isOver = true;
    if (outcome.kind !== "task" || call.peer.capabilities.extensions?.[tasksExtension] === undefined) return outcome;
    take(outcome.task, abortReason(call) === undefined);
    return { kind: "complete", result: nothing as Result<M> };
  };
}

const nothing: CallToolResult = { content: [] };

/** The end of a legacy task: its result or its failure, which the server returns only for `tasks/result`. */
async function withResult(task: Task, getResult: () => Promise<CallToolResult>): Promise<DetailedTask> {
  if (task.status === "input_required") return { ...task, status: "input_required", questions: {} };
  try {
    return { ...task, status: "completed", result: await getResult() };
  } catch (error) {
    if (!(error instanceof McpError) || error.code === "cancelled" || isTransientFailure(error)) throw error;
    return { ...task, status: "failed", failure: toFailure(error) };
  }
}

interface TaskHandleParts {
  readonly send: Requests["send"];
  /** Throws or rejects when the result is not what the tool promised. */
  check(result: CallToolResult): CallToolResult | Promise<CallToolResult>;
  status(taskId: string, options?: CallOptions): Promise<DetailedTask>;
  cancel(taskId: string, options?: CallOptions): Promise<void>;
  readonly options: FollowOptions | undefined;
}

/** A handle whose users share one follower: it starts with the first user and ends with the last. */
function createTaskHandle(parts: TaskHandleParts, first: Task): TaskHandle {
  const { send, check, options = {} } = parts;
  const { taskId } = first;
  const states = latest<DetailedTask>();
  let task = first;
  let following: { readonly result: Promise<CallToolResult>; readonly abort: AbortController } | undefined;
  let users = 0;
  /** True when the task was followed to its end: its result does not change. */
  let isOver = false;

  const withHeaders = (given: CallOptions = {}): CallOptions => ({
    ...given,
    headers: given.headers ?? options.headers,
  });

  const learn = (state: Task): void => {
    if (state === task) return;
    task = state;
    if (isDetailed(state)) states.push(state);
  };

  const follow = (): Promise<CallToolResult> => {
    const abort = new AbortController();
    const { timeoutMs, maxTotalMs = 0, onTask, headers } = options;
    const onState = (state: Task): void => {
      learn(state);
      isOver ||= isFinal(state) && isDetailed(state);
      onTask?.(state);
    };
    const callOptions = { signal: abort.signal, timeoutMs, maxTotalMs, headers, onTask: onState };
    const service = async () => ({ kind: "task" as const, task });
    const result = send("tools/call", { name: taskId }, callOptions, {
      service,
      keepsTask: true,
      skipsQueue: true,
    }).then(check);
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

  /** Follows the task while `use` runs. */
  const whileFollowing = async <T>(use: (result: Promise<CallToolResult>) => Promise<T>): Promise<T> => {
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
    result: ({ signal } = {}) => whileFollowing((result) => until(result, signal)),
    async status(callOptions) {
      const state = await parts.status(taskId, withHeaders(callOptions));
      if (!isFinal(task)) learn(state);
      return state;
    },
    async cancel(callOptions) {
      if (!isFinal(task)) await parts.cancel(taskId, withHeaders(callOptions));
    },
    [Symbol.asyncIterator]() {
      const reader = states.read(isDetailed(task) ? task : undefined);
      void whileFollowing((result) => Promise.race([result, reader.left])).then(
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
    const leave = (): void => reject(cancelled("waiting for the task", signal));
    if (signal.aborted) return leave();
    promise.then(resolve, reject).finally(onSignal(signal, leave));
  });
}

/** The handle of a call that was answered at once. */
function finishedHandle(result: CallToolResult): TaskHandle {
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

/** Something that changes, for any number of readers. What one has not read when it changes again is passed over. */
interface Latest<T> {
  push(value: T): void;
  /** Reads what is pushed from now on, after `first` if there is one. */
  read(first?: T): LatestReader<T>;
}

interface LatestReader<T> extends AsyncIterator<T, undefined> {
  /** Resolves when the reader has left. */
  readonly left: Promise<void>;
  /** The reader receives the queued state, then the end or the error. */
  end(error?: unknown): void;
}

function latest<T>(): Latest<T> {
  const readers = new Set<(value: T) => void>();

  return {
    push(value) {
      for (const onState of readers) onState(value);
    },
    read(first) {
      let waiting = first;
      let over: { readonly error?: unknown } | undefined;
      let wake = (): void => {};
      let leave = (): void => {};
      const left = new Promise<void>((resolve) => {
        leave = resolve;
      });
      const onState = (value: T): void => {
        waiting = value;
        wake();
      };
      readers.add(onState);

      return {
        left,
        end(error) {
          readers.delete(onState);
          over ??= { error };
          wake();
        },
        async next() {
          while (waiting === undefined && over === undefined) {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
          const value = waiting;
          waiting = undefined;
          if (value !== undefined) return { done: false, value };
          if (over?.error !== undefined) throw over.error;
          return { done: true, value: undefined };
        },
        async return() {
          readers.delete(onState);
          leave();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
