/**
 * A queue with one writing side and one `for await` reader at a time.
 *
 * Values that are pushed before they are read are queued. Iteration ends after `end`, or throws after `fail`, once the
 * queue is empty.
 */
export interface AsyncQueue<T> extends AsyncIterable<T> {
  push(item: T): void;
  end(): void;
  fail(error: unknown): void;
  /** How many items wait for the reader. */
  readonly size: number;
}

type End = { readonly kind: "done" } | { readonly kind: "failed"; readonly error: unknown };

/** A reader that found nothing. */
interface Waiter<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(error: unknown): void;
}

export function asyncQueue<T>(): AsyncQueue<T> {
  let arrived: T[] = [];
  /** Reversed, so that the next item is the last: `shift` on a long array would move all of it. */
  let backlog: T[] = [];
  let end: End | undefined;
  let waiting: Waiter<T> | undefined;

  const size = (): number => backlog.length + arrived.length;

  /** Who waits, if anybody does. It is theirs to be told, and nobody else's. */
  const takeWaiter = (): Waiter<T> | undefined => {
    const waiter = waiting;
    waiting = undefined;
    return waiter;
  };

  const settle = (how: End): void => {
    end ??= how;
    const waiter = takeWaiter();
    if (waiter !== undefined) tell(waiter, end);
  };

  const shift = (): T => {
    if (backlog.length === 0) [backlog, arrived] = [arrived.reverse(), []];
    return backlog.pop() as T;
  };

  const next = (): Promise<IteratorResult<T, undefined>> => {
    if (size() > 0) return Promise.resolve({ done: false, value: shift() });
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject };
      if (end === undefined) waiting = waiter;
      else tell(waiter, end);
    });
  };

  return {
    push(item) {
      if (end !== undefined) return;
      // Straight into the hands of a reader that waits: one promise for each item, not one for being woken and one more.
      const waiter = takeWaiter();
      if (waiter === undefined) arrived.push(item);
      else waiter.resolve({ done: false, value: item });
    },
    end: () => settle({ kind: "done" }),
    fail: (error) => settle({ kind: "failed", error }),
    get size() {
      return size();
    },
    [Symbol.asyncIterator]: () => ({ next, return: async () => ({ done: true, value: undefined }) }),
  };
}

function tell<T>({ resolve, reject }: Waiter<T>, end: End): void {
  if (end.kind === "failed") reject(end.error);
  else resolve({ done: true, value: undefined });
}
