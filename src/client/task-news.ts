import { isObject, type JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import { notificationToChange } from "../protocol/subscription.ts";
import type { DetailedTask, Task } from "../protocol/task.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import type { Clock } from "../std/clock.ts";
import type { LazyAbort } from "../std/lazy-abort.ts";
import type { CallOptions, Hear, Send } from "./call-options.ts";
import type { ClientRequestHandlers } from "./request-handlers.ts";

type Tell = (task: DetailedTask) => void;

/** What a server says of its tasks without being asked. It need not say anything. */
export interface TaskNotifications {
  /** Hears of a task until the returned function is called. */
  follow(taskId: string, tell: Tell): () => void;
  /** The server has just answered: if it is not listened to any more, it may be again. */
  renew(): void;
}

interface Listening {
  readonly ids: ReadonlySet<string>;
  readonly abort: AbortController;
}

/**
 * News of a server, by one subscription for all tasks that are followed.
 *
 * A task that joins waits for a moment, for more may come, and the next
 * subscription opens before the last one ends. A server that hangs up or refuses
 * is asked again, but not at once. Whether a legacy server will say anything
 * nobody knows.
 */
export function createTaskNotifications({
  send,
  clock,
  isModern,
}: Pick<FollowContext, "send" | "clock" | "isModern">): TaskNotifications {
  const followers = createFollowers();
  let current: Listening | undefined;
  let closedUntil = Number.NEGATIVE_INFINITY;
  let stopTimer: (() => void) | undefined;

  const open = (): void => {
    stopTimer?.();
    stopTimer = undefined;
    if (followers.ids.length === 0 || clock.now() < closedUntil) return;
    const before = current?.abort;
    const listening = { ids: new Set(followers.ids), abort: new AbortController() };
    current = listening;

    const end = (pauseMs: number): void => {
      before?.abort();
      if (current !== listening) return;
      current = undefined;
      closedUntil = clock.now() + pauseMs;
    };
    const hear: Hear = (method, params) => {
      const change = notificationToChange(method, params);
      if (change?.kind === "task") followers.tell(change.task);
      if (method !== "notifications/subscriptions/acknowledged") return;
      before?.abort();
      if (isModern && !hasTasks(params)) listening.abort.abort();
    };
    const { signal } = listening.abort;
    const params = { notifications: { taskIds: followers.ids } };
    send(
      "subscriptions/listen",
      params,
      { signal, timeoutMs: 0, maxTotalMs: 0 },
      { aside: true, listens: true, hear },
    ).then(
      () => end(restMs),
      (error: unknown) => end(signal.aborted || isPassing(error) ? restMs : refusedMs),
    );
  };

  return {
    follow(taskId, tell) {
      const leave = followers.add(taskId, tell);
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
const restMs = 5_000;
const refusedMs = 60_000;

function hasTasks({ notifications }: JsonObject): boolean {
  return isObject(notifications) && Array.isArray(notifications.taskIds) && notifications.taskIds.length > 0;
}

/** Who follows which task. Two may follow the same. */
function createFollowers() {
  const tells = new Map<string, Set<Tell>>();
  return {
    get ids(): readonly string[] {
      return [...tells.keys()];
    },
    add(taskId: string, tell: Tell): () => void {
      const same = tells.get(taskId) ?? new Set();
      tells.set(taskId, same.add(tell));
      return () => {
        if (same.delete(tell) && same.size === 0) tells.delete(taskId);
      };
    },
    tell(task: DetailedTask): void {
      for (const tell of tells.get(task.taskId) ?? []) tell(task);
    },
  };
}

/** True for a failure that says nothing of the request: the same may succeed a moment later. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof McpError)) return false;
  const { code, data } = error;
  if (code === "connection-closed" || code === "timeout") return true;
  const isStatus = code === "http-error" || code === "limit-reached";
  const status = isStatus && isObject(data) && typeof data.status === "number" ? data.status : 0;
  return status >= 500 || status === 429 || status === 408;
}

/** True for a failure with which the server says when to retry. A tool may fail so, too. */
export function isPutOff(error: unknown): boolean {
  return error instanceof McpError && isObject(error.data) && typeof error.data.retryAfterMs === "number";
}

/**
 * How long to wait before the same is tried again, after so many failures in a
 * row: from a second to half a minute, differently for clients that failed
 * together, and no less than the server says.
 */
export function retryMs(error: unknown, failures: number): number {
  return Math.max(toldMs(error), Math.min(1_000 * 2 ** (failures - 1), 30_000) * (0.5 + Math.random() / 2));
}

function toldMs(error: unknown): number {
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

/** Who waits for the end of a task. */
export interface Watcher {
  /** Aborts when nobody waits any more. */
  readonly abort: LazyAbort;
  /** True when the task is to go on all the same. */
  readonly keeps: boolean;
  /** Sent with everything that is asked about the task. */
  readonly headers: CallOptions["headers"];
  /** Takes how the task stands, whenever that has changed. */
  tell(task: Task): void;
  /** From now on the server owes an answer. */
  asks(): void;
  /** The server has answered, or spoken by itself: nothing is owed. */
  hears(): void;
}

/** Waits for the result of a task. Rejects with an `McpError` when there will be none. Need not settle once aborted. */
export type Follow = (task: Task, watcher: Watcher) => Promise<CallToolResult>;
