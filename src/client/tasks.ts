import type { JsonObject } from "../json/json.ts";
import type { DetailedTask, Task } from "../protocol/task.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import type { CallOptions, ToolCallOptions } from "./call-options.ts";

/**
 * Options for following a task. It starts when the result is awaited or the states are read, and ends with the last
 * reader.
 */
export interface FollowOptions extends Pick<ToolCallOptions, "onTask" | "headers"> {
  /** The server may owe an answer for this long. Default: the client's. */
  readonly timeoutMs?: number | undefined;
  /** Time limit of the wait for the result, in milliseconds. Default 0, which disables it. */
  readonly maxTotalMs?: number | undefined;
}

/**
 * `onProgress` is called until the task ends, where the server reports progress of tasks: servers of 2025-11-25 may.
 */
export interface StartOptions extends ToolCallOptions {
  /** How long the server should retain the task, in milliseconds. Only 2025-11-25 has this option. */
  readonly ttlMs?: number | undefined;
}

/**
 * A task of a server.
 *
 * Iterating over it yields its current state, then every change up to the last, and throws when the task is lost. An
 * unread state is replaced by the next one. Nothing but `cancel` ends the task itself.
 */
export interface TaskHandle extends AsyncIterable<DetailedTask> {
  /** Store it to {@link ClientTasks.resume} the task. Undefined when the server answered directly, without a task. */
  readonly id: string | undefined;
  /** The latest known state. */
  readonly task: Task;
  /**
   * Waits for the result, and answers questions of the server meanwhile. Rejects with the failure of the task, with
   * `cancelled` when it was cancelled, or when it is lost: then it can be called again.
   */
  result(options?: Pick<CallOptions, "signal">): Promise<CallToolResult>;
  /** Asks the server how it stands. */
  status(options?: CallOptions): Promise<DetailedTask>;
  /** Asks the server to end it. No error when it is over. */
  cancel(options?: CallOptions): Promise<void>;
}

/** Tasks, which continue after the call that started them, also when the client is closed. */
export interface ClientTasks {
  /** Calls a tool as a task. The handle has ended already if the server returned the result directly. */
  start(name: string, args?: JsonObject, options?: StartOptions): Promise<TaskHandle>;
  /** Continues with a task of an earlier connection or process. Rejects when the server does not know it. */
  resume(taskId: string, options?: FollowOptions): Promise<TaskHandle>;
  /** All tasks on all pages. Only 2025-11-25 has it; elsewhere it fails with `unsupported`. */
  list(options?: CallOptions): Promise<readonly Task[]>;
}
