import { asyncQueue } from "./async-queue.ts";
import type { Clock } from "./clock.ts";
import { holding } from "./hold.ts";

/** Sends the same values to many readers, each at its own pace. */
export interface Broadcast<T> {
  tell(item: T): void;
  /**
   * The values from now on, until the reader leaves the loop, the signal aborts or the broadcast ends. A reader too far
   * behind gets `overrun` thrown.
   */
  listen(signal?: AbortSignal): AsyncIterableIterator<T, undefined>;
  end(): void;
  /** How many listen. */
  readonly size: number;
}

export interface BroadcastOptions {
  /** How many items may wait for one reader. */
  readonly maxUnread: number;
  /** The error for a reader that does not keep up. */
  overrun(): Error;
  /** Keeps the process alive while a reader waits. Absent for readers inside this package. */
  readonly clock?: Clock;
}

export function createBroadcast<T>({ maxUnread, overrun, clock }: BroadcastOptions): Broadcast<T> {
  const readers = new Set<{ tell(item: T): void; end(): void }>();
  let isOver = false;

  return {
    tell(item) {
      for (const reader of readers) reader.tell(item);
    },
    listen(signal) {
      const queue = asyncQueue<T>();
      const leave = (): void => {
        readers.delete(reader);
        signal?.removeEventListener("abort", reader.end);
      };
      const reader = {
        tell(item: T): void {
          if (queue.size < maxUnread) {
            queue.push(item);
          } else {
            leave();
            queue.fail(overrun());
          }
        },
        end(): void {
          leave();
          queue.end();
        },
      };
      if (isOver || signal?.aborted === true) queue.end();
      else readers.add(reader);
      signal?.addEventListener("abort", reader.end, { once: true });
      const items = queue[Symbol.asyncIterator]();
      const iterator: AsyncIterableIterator<T, undefined> = {
        next() {
          const item = items.next() as Promise<IteratorResult<T, undefined>>;
          return clock === undefined ? item : holding(clock, item);
        },
        async return() {
          reader.end();
          return { done: true, value: undefined };
        },
        [Symbol.asyncIterator]: () => iterator,
      };
      return iterator;
    },
    end() {
      isOver = true;
      for (const reader of [...readers]) reader.end();
    },
    get size() {
      return readers.size;
    },
  };
}
