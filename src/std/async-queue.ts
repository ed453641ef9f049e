/**
 * A queue with one writing side and one `for await` reader at a time.
 *
 * What is pushed before anybody reads is kept. Iteration ends after `end`, or
 * throws after `fail`, once the backlog is read.
 */
export interface AsyncQueue<T> extends AsyncIterable<T> {
  push(item: T): void;
  end(): void;
  fail(error: unknown): void;
  /** How many items wait for the reader. */
  readonly size: number;
}

type End = { readonly kind: "done" } | { readonly kind: "failed"; readonly error: unknown };

export function asyncQueue<T>(): AsyncQueue<T> {
  let arrived: T[] = [];
  /** Reversed, so that the next item is the last: `shift` on a long array would move all of it. */
  let backlog: T[] = [];
  let end: End | undefined;
  let wake: (() => void) | undefined;

  const size = (): number => backlog.length + arrived.length;

  const settle = (how: End): void => {
    end ??= how;
    wake?.();
  };

  const next = async (): Promise<IteratorResult<T, undefined>> => {
    while (size() === 0 && end === undefined) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    if (backlog.length === 0) [backlog, arrived] = [arrived.reverse(), []];
    if (backlog.length > 0) return { done: false, value: backlog.pop() as T };
    if (end?.kind === "failed") throw end.error;
    return { done: true, value: undefined };
  };

  return {
    push(item) {
      if (end !== undefined) return;
      arrived.push(item);
      wake?.();
    },
    end: () => settle({ kind: "done" }),
    fail: (error) => settle({ kind: "failed", error }),
    get size() {
      return size();
    },
    [Symbol.asyncIterator]: () => ({ next, return: async () => ({ done: true, value: undefined }) }),
  };
}
