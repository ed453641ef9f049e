import { isObject, type JsonObject } from "../../json/json.ts";
import type { Id } from "../../jsonrpc/message.ts";
import type { ServerCodec } from "../../protocol/codec/codec.ts";
import { type Failure, McpError, toFailure } from "../../protocol/errors.ts";
import { changeKeys, metaKeys, metaOf, withMeta } from "../../protocol/meta.ts";
import type { Auth } from "../../protocol/peer.ts";
import { newest } from "../../protocol/revision.ts";
import { createCall, type Outcome, type Service } from "../../protocol/service.ts";
import { isFinal, type Task } from "../../protocol/task.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";

/** A task that a client of 2025-11-25 has begun. */
export interface BegunTask {
  readonly taskId: string;
  /** By which the client hears of progress, until the task ends. */
  readonly progressToken?: Id | undefined;
  /** True when the client may have heard of it before: then the progress of this moment is not told again. */
  readonly isKnown?: boolean;
}

interface FollowTaskOptions {
  readonly service: Service;
  readonly codec: ServerCodec;
  /** Whose task it is. */
  readonly auth: Auth | undefined;
  /** Sends a notification. A promise means that the client is slow. */
  send(method: string, params: JsonObject): Promise<void> | undefined;
  /** Called when it stops, and whether the task is over or gone. */
  ended(isOver: boolean): void;
}

/**
 * Notifies a client of the status and progress of a task, until it is over. While the client is slow to read, only the
 * newest state counts. Returns a function that stops it.
 */
function followTask(task: BegunTask, options: FollowTaskOptions): () => void {
  const { service, auth, send, ended } = options;
  const abort = new LazyAbort();
  const messagesOf = createTaskWriter(task, options.codec);
  let news: JsonObject | undefined;
  let isTelling = false;
  let isOver = false;

  const stop = (): void => abort.abort("nobody follows the task any more");
  const finish = (): void => {
    isOver = true;
    stop();
  };

  const tell = async (): Promise<void> => {
    isTelling = true;
    while (news !== undefined && !abort.aborted) {
      const said = news;
      news = undefined;
      for (const [method, params] of messagesOf(said)) await send(method, params);
      if (isFinal(said as unknown as Task)) finish();
    }
    isTelling = false;
  };

  const call = createCall({
    method: "subscriptions/listen",
    params: { notifications: { taskIds: [task.taskId] } },
    peer: { revision: newest, capabilities: {}, ...(auth !== undefined && { auth }) },
    meta: { [changeKeys.progress]: true },
    tasks: { wanted: false },
    abort,
    notify(method, params) {
      if (method === "notifications/subscriptions/acknowledged") {
        if (!isHonoured(params)) finish();
      } else if (method === "notifications/tasks") {
        news = params;
        if (!isTelling) void tell();
      }
      return undefined;
    },
  });
  void settle(() => service(call)).then(() => ended(isOver));
  return stop;
}

/** The tasks of one session that its client is notified of. */
export interface Following {
  has(taskId: string): boolean;
  follow(task: BegunTask, options: Omit<FollowTaskOptions, "ended">): void;
  stop(): void;
}

/** Follows tasks of a session. `over` is called with the id of a task that will not change any more. */
export function createFollowing(over?: (taskId: string) => void): Following {
  const stops = new Map<string, () => void>();

  return {
    has: (taskId) => stops.has(taskId),
    follow(task, options) {
      const { taskId } = task;
      if (stops.has(taskId)) return;
      const ended = (isOver: boolean): void => {
        stops.delete(taskId);
        if (isOver) over?.(taskId);
      };
      stops.set(taskId, followTask(task, { ...options, ended }));
    },
    stop() {
      for (const stop of stops.values()) stop();
    },
  };
}

/** A task that is not there any more is not watched. */
function isHonoured({ notifications }: JsonObject): boolean {
  return isObject(notifications) && Array.isArray(notifications.taskIds) && notifications.taskIds.length > 0;
}

type Message = readonly [method: string, params: JsonObject];

/** Makes of how a task stands what its client hears: progress that grows, and a status that is another. */
function createTaskWriter({ taskId, progressToken, isKnown = false }: BegunTask, codec: ServerCodec) {
  let progress = Number.NEGATIVE_INFINITY;
  let status = isKnown ? "" : statusText({ status: "working" });
  let isFirst = true;

  const progressOf = (params: JsonObject): Message | undefined => {
    const said = metaOf(params)[changeKeys.progress];
    const isNew = isObject(said) && typeof said.progress === "number" && said.progress > progress;
    if (!isNew) return undefined;
    progress = Number(said.progress);
    if (isFirst && isKnown) return undefined;
    return encoded("notifications/progress", withMeta(said, metaKeys.relatedTask, { taskId }));
  };

  const encoded = (method: string, params: JsonObject): Message | undefined => {
    const content = codec.encodeNotification(method, params, { progressToken });
    return content === undefined ? undefined : [codec.notificationName(method), content];
  };

  return (params: JsonObject): readonly Message[] => {
    const far = progressOf(params);
    isFirst = false;
    const text = statusText(params);
    const stands = text === status ? undefined : encoded("notifications/tasks", params);
    status = text;
    return [far, stands].filter((message) => message !== undefined);
  };
}

function statusText({ status, statusMessage }: JsonObject): string {
  return JSON.stringify([status, statusMessage]);
}

/** Why a call failed, or undefined when it ended as it should. */
export async function settle(serve: () => Promise<Outcome>): Promise<Failure | undefined> {
  try {
    const outcome = await serve();
    return outcome.kind === "failed" ? outcome.failure : undefined;
  } catch (error) {
    return error instanceof McpError ? toFailure(error) : { code: "internal", message: "internal error" };
  }
}
