import type { JsonObject } from "../json/json.ts";
import type { DetailedTask, Task } from "../protocol/task.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import type { CallOptions, ToolCallOptions } from "./call-options.ts";

/** How a task is followed. It starts when somebody waits for the result or reads the changes, and ends with the last of them. */
export interface FollowOptions extends Pick<ToolCallOptions, "onTask" | "headers"> {
  /** The server may owe an answer for this long. Default: the client's. */
  readonly timeoutMs?: number | undefined;
  /** Who waits gives up after this long. Default 0, which is off. */
  readonly maxTotalMs?: number | undefined;
}

/** `onProgress` hears of the task until it ends, where its server says how far it is: those of 2025-11-25 may. */
export interface StartOptions extends ToolCallOptions {
  /** How long the server is to keep the task. Only 2025-11-25 has a place to say so. */
  readonly ttlMs?: number | undefined;
}

/**
 * A task of a server.
 *
 * Reading it gives how it stands, then every change, up to the last, and throws
 * when the task is lost from sight. A state that nobody has read gives way to
 * the next. Nothing but `cancel` ends the task itself.
 */
export interface TaskHandle extends AsyncIterable<DetailedTask> {
  /** Keep it to {@link ClientTasks.resume} the task. Undefined when the server answered at once, without a task. */
  readonly id: string | undefined;
  /** How it stood when last heard of. */
  readonly task: Task;
  /**
   * Waits for the result, answering what is asked meanwhile. Rejects with the
   * failure of the task, with `cancelled` when it was cancelled, or when it is
   * lost from sight: then it can be called again.
   */
  result(options?: Pick<CallOptions, "signal">): Promise<CallToolResult>;
  /** Asks the server how it stands. */
  status(options?: CallOptions): Promise<DetailedTask>;
  /** Asks the server to end it. No error when it is over. */
  cancel(options?: CallOptions): Promise<void>;
}

/** Work that goes on when the call that started it is over, also when the client is. */
export interface ClientTasks {
  /** Starts a tool. The handle is a finished one if the server gave the result at once. */
  start(name: string, args?: JsonObject, options?: StartOptions): Promise<TaskHandle>;
  /** Takes up a task of an earlier connection or process. Rejects when the server does not know it. */
  resume(taskId: string, options?: FollowOptions): Promise<TaskHandle>;
  /** All tasks on all pages. Only 2025-11-25 has it; elsewhere it fails with `unsupported`. */
  list(options?: CallOptions): Promise<readonly Task[]>;
}
