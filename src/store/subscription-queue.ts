import { asyncQueue } from "../std/async-queue.ts";
import type { TopicMessage, TopicSubscription } from "./store.ts";

/** What one subscriber has yet to read. */
export interface SubscriptionQueue {
  readonly subscription: TopicSubscription;
  deliver(text: string): void;
  /** Something was missed. */
  miss(): void;
  /** Nothing comes any more: reading ends. */
  end(): void;
}

/** How many unread messages a subscriber may have. */
export const QUEUE_MAX = 10_000;

/**
 * A subscriber that reads too slowly does not take all memory: with more than {@link QUEUE_MAX} unread messages it gets
 * `gap` in the place of all of them. `left` is called once, when the subscriber closes.
 */
export function createSubscriptionQueue(left: () => void): SubscriptionQueue {
  let queue = asyncQueue<TopicMessage>();
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
      if (queue.size >= QUEUE_MAX && !ended) drop();
      queue.push({ kind: "message", text });
    },
    miss: () => queue.push(gap),
    end,
  };
}

const gap: TopicMessage = { kind: "gap" };
