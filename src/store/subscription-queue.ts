import { asyncQueue } from "../std/async-queue.ts";
import type { Message, Subscription } from "./store.ts";

/** What one subscriber has yet to read. */
export interface Inbox {
  readonly subscription: Subscription;
  deliver(text: string): void;
  /** Something was missed. */
  miss(): void;
  /** Nothing comes any more: reading ends. */
  end(): void;
}

/** How many unread messages a subscriber may have. */
export const INBOX_MAX = 10_000;

/**
 * A subscriber that reads too slowly does not take all memory: with more than {@link INBOX_MAX} unread messages it gets
 * `gap` in the place of all of them. `left` is called once, when the subscriber closes.
 */
export function createInbox(left: () => void): Inbox {
  let queue = asyncQueue<Message>();
  let ended = false;

  /** Nobody waits on what is dropped here: a reader waits only while there is nothing to read. */
  const drop = (): void => {
    queue = asyncQueue();
    queue.push(gap);
  };

  const end = (): void => {
    ended = true;
    queue.end();
  };

  const close = async (): Promise<void> => {
    if (ended) return;
    end();
    left();
  };

  return {
    subscription: {
      close,
      [Symbol.asyncDispose]: close,
      [Symbol.asyncIterator]: () => ({
        next: () => queue[Symbol.asyncIterator]().next(),
        return: async () => ({ done: true, value: undefined }),
      }),
    },
    deliver(text) {
      if (queue.size >= INBOX_MAX && !ended) drop();
      queue.push({ kind: "message", text });
    },
    miss: () => queue.push(gap),
    end,
  };
}

const gap: Message = { kind: "gap" };
