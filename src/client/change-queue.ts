import type { Change } from "../model/subscription.ts";
import { asyncQueue } from "../std/async-queue.ts";

/** Changes between the server that tells of them and one reader. Each thing waits at most once. */
export interface ChangeQueue {
  /** False when the change found no room: the reader is too far behind. */
  push(change: Change): boolean;
  /** The reader gets what waits, then the end or the error. */
  end(error?: unknown): void;
  /** Reads on, through `pick`. `leave` runs when the reader goes before the end. */
  read<T>(pick: (change: Change) => T, leave: () => void): AsyncIterator<T, undefined>;
}

export function createChangeQueue(maxUnread: number): ChangeQueue {
  const queue = asyncQueue<Change>();
  const waiting = new Set<string>();
  const items = queue[Symbol.asyncIterator]();

  return {
    push(change) {
      const key = keyOf(change);
      if (waiting.has(key)) return true;
      if (waiting.size >= maxUnread) return false;
      waiting.add(key);
      queue.push(change);
      return true;
    },
    end(error) {
      if (error === undefined) queue.end();
      else queue.fail(error);
    },
    read: (pick, leave) => ({
      async next() {
        const item = await items.next();
        if (item.done) return { done: true, value: undefined };
        waiting.delete(keyOf(item.value));
        return { done: false, value: pick(item.value) };
      },
      async return() {
        leave();
        return { done: true, value: undefined };
      },
    }),
  };
}

function keyOf(change: Change): string {
  if (change.kind === "task") return `task ${change.task.taskId}`;
  return change.kind === "resource" ? `resource ${change.uri}` : change.kind;
}
