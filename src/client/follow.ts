import type { Task } from "../model/task.ts";
import type { CallToolResult } from "../model/tool.ts";
import type { Clock } from "../std/clock.ts";
import type { LazyAbort } from "../std/lazy-abort.ts";
import type { AnswerDesk } from "./answers.ts";
import type { Requests } from "./request.ts";

/** What following tasks needs of a client. */
export interface FollowLine {
  readonly send: Requests["send"];
  readonly desk: AnswerDesk;
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
  /** Takes how the task stands, whenever that has changed. */
  tell(task: Task): void;
  /** From now on the server owes an answer. */
  asks(): void;
  /** The server has answered, or spoken by itself: nothing is owed. */
  hears(): void;
}

/** Waits for the result of a task. Rejects with an `McpError` when there will be none. Need not settle once aborted. */
export type Follow = (task: Task, watcher: Watcher) => Promise<CallToolResult>;

/** How the tasks of one client are followed. What does it is loaded when the first one comes. */
export function createFollow(line: FollowLine): Follow {
  let loading: Promise<Follow> | undefined;

  const load = async (): Promise<Follow> => {
    try {
      const { createFollower } = await import("./follow-task.ts");
      return createFollower(line);
    } catch (error) {
      loading = undefined;
      throw error;
    }
  };

  return async (task, watcher) => {
    loading ??= load();
    const follow = await loading;
    return follow(task, watcher);
  };
}
