import type { Task } from "../model/task.ts";
import type { CallToolResult } from "../model/tool.ts";
import type { Clock } from "../std/clock.ts";
import type { LazyAbort } from "../std/lazy-abort.ts";
import type { CallOptions, Send } from "./call-options.ts";
import type { AnswerDesk } from "./request-handlers.ts";

/** What following tasks needs of a client. */
export interface FollowLine {
  readonly send: Send;
  readonly desk: Pick<AnswerDesk, "answer">;
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
