import { isObject, type JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import { notificationToChange } from "../protocol/subscription.ts";
import type { DetailedTask, Task } from "../protocol/task.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import type { Clock } from "../std/clock.ts";
import type { LazyAbort } from "../std/lazy-abort.ts";
import type { CallOptions, NotificationListener, Send } from "./call-options.ts";
import type { ClientRequestHandlers } from "./request-handlers.ts";

type TaskListener = (task: DetailedTask) => void;

/** Notifications about tasks. A server need not send any. */
export interface TaskNotifications {
  /** Calls the listener with states of a task until the returned function is called. */
  follow(taskId: string, onTask: TaskListener): () => void;
  /** The server has just answered: a subscription that it ended may be opened again. */
  renew(): void;
}

interface TaskSubscription {
  readonly ids: ReadonlySet<string>;
  readonly abort: AbortController;
}

/**
 * Notifications about all followed tasks, by one subscription.
 *
 * A new task joins after a short delay, because others may follow, and the next subscription opens before the previous
 * one ends. When the server ends or rejects a subscription, the next one opens after a pause. A legacy server may or
 * may not send notifications.
 */
export function createTaskNotifications({
  send,
  clock,
  isModern,
}: Pick<FollowContext, "send" | "clock" | "isModern">): TaskNotifications {
  const followers = createFollowers();
  let current: TaskSubscription | undefined;
  let closedUntil = Number.NEGATIVE_INFINITY;
  let stopTimer: (() => void) | undefined;

  const open = (): void => {
    stopTimer?.();
    stopTimer = undefined;
    if (followers.ids.length === 0 || clock.now() < closedUntil) return;
    const before = current?.abort;
    const subscription = { ids: new Set(followers.ids), abort: new AbortController() };
    current = subscription;

    const end = (pauseMs: number): void => {
      before?.abort();
      if (current !== subscription) return;
      current = undefined;
      closedUntil = clock.now() + pauseMs;
    };
    const onNotification: NotificationListener = (method, params) => {
      const change = notificationToChange(method, params);
      if (change?.kind === "task") followers.onTask(change.task);
      if (method !== "notifications/subscriptions/acknowledged") return;
      before?.abort();
      if (isModern && !hasTasks(params)) subscription.abort.abort();
    };
    const { signal } = subscription.abort;
    const params = { notifications: { taskIds: followers.ids } };
    send(
      "subscriptions/listen",
      params,
      { signal, timeoutMs: 0, maxTotalMs: 0 },
      { skipsQueue: true, isSubscription: true, onNotification },
    ).then(
      () => end(reopenMs),
      (error: unknown) => end(signal.aborted || isTransientFailure(error) ? reopenMs : rejectedMs),
    );
  };

  return {
    follow(taskId, onTask) {
      const leave = followers.add(taskId, onTask);
      if (current === undefined) open();
      else if (!current.ids.has(taskId)) stopTimer ??= clock.after(joinMs, open);
      return () => {
        leave();
        if (followers.ids.length > 0) return;
        stopTimer?.();
        stopTimer = undefined;
        current?.abort.abort();
        current = undefined;
      };
    },
    renew() {
      if (current === undefined) open();
    },
  };
}

const joinMs = 250;
const reopenMs = 5_000;
const rejectedMs = 60_000;

function hasTasks({ notifications }: JsonObject): boolean {
  return isObject(notifications) && Array.isArray(notifications.taskIds) && notifications.taskIds.length > 0;
}

/** The listeners of each task. */
function createFollowers() {
  const listeners = new Map<string, Set<TaskListener>>();
  return {
    get ids(): readonly string[] {
      return [...listeners.keys()];
    },
    add(taskId: string, onTask: TaskListener): () => void {
      const same = listeners.get(taskId) ?? new Set();
      listeners.set(taskId, same.add(onTask));
      return () => {
        if (same.delete(onTask) && same.size === 0) listeners.delete(taskId);
      };
    },
    onTask(task: DetailedTask): void {
      for (const onTask of listeners.get(task.taskId) ?? []) onTask(task);
    },
  };
}

/** True for a transient failure: the same request may succeed later. */
export function isTransientFailure(error: unknown): boolean {
  if (!(error instanceof McpError)) return false;
  const { code, data } = error;
  if (code === "connection-closed" || code === "timeout") return true;
  const isStatus = code === "http-error" || code === "limit-reached";
  const status = isStatus && isObject(data) && typeof data.status === "number" ? data.status : 0;
  return status >= 500 || status === 429 || status === 408;
}

/** True for a failure in which the server says when to retry. Tools may fail in this way, too. */
export function hasRetryDelay(error: unknown): boolean {
  return error instanceof McpError && isObject(error.data) && typeof error.data.retryAfterMs === "number";
}

/**
 * The delay before the next attempt after `failures` failures in a row: from one to 30 seconds, with jitter, and never
 * less than the server asks for.
 */
export function retryDelayMs(error: unknown, failures: number): number {
  return Math.max(serverDelayMs(error), Math.min(1_000 * 2 ** (failures - 1), 30_000) * (0.5 + Math.random() / 2));
}

function serverDelayMs(error: unknown): number {
  const data = error instanceof McpError ? error.data : undefined;
  return isObject(data) && typeof data.retryAfterMs === "number" ? data.retryAfterMs : 0;
}

/** What following tasks needs of a client. */
export interface FollowContext {
  readonly send: Send;
  readonly handlers: Pick<ClientRequestHandlers, "answer">;
  readonly clock: Clock;
  readonly maxRounds: number;
  readonly isModern: boolean;
}

/** A caller that waits for the end of a task. */
export interface Watcher {
  /** Aborts when the caller stops waiting. */
  readonly abort: LazyAbort;
  /** True when the task continues after that. */
  readonly keeps: boolean;
  /** Headers for all requests about the task. */
  readonly headers: CallOptions["headers"];
  /** Called with each new state of the task. */
  onTask(task: Task): void;
  /** A request was sent: the idle timeout applies. */
  onRequestSent(): void;
  /** The server has responded or sent a notification: the idle timeout does not apply. */
  onResponse(): void;
}

/** Waits for the result of a task. Rejects with an `McpError` when there will be none. Need not settle once aborted. */
export type Follow = (task: Task, watcher: Watcher) => Promise<CallToolResult>;
