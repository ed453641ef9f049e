/** Something that changes, for any number of readers. What one has not read when it changes again is passed over. */
export interface Latest<T> {
  push(value: T): void;
  /** Reads what is pushed from now on, after `first` if there is one. */
  read(first?: T): LatestReader<T>;
}

export interface LatestReader<T> extends AsyncIterator<T, undefined> {
  /** Resolves when the reader has gone. */
  readonly left: Promise<void>;
  /** The reader gets what waits, then the end or the error. */
  end(error?: unknown): void;
}

export function latest<T>(): Latest<T> {
  const readers = new Set<(value: T) => void>();

  return {
    push(value) {
      for (const tell of readers) tell(value);
    },
    read(first) {
      let waiting = first;
      let over: { readonly error?: unknown } | undefined;
      let wake = (): void => {};
      let leave = (): void => {};
      const left = new Promise<void>((resolve) => {
        leave = resolve;
      });
      const tell = (value: T): void => {
        waiting = value;
        wake();
      };
      readers.add(tell);

      return {
        left,
        end(error) {
          readers.delete(tell);
          over ??= { error };
          wake();
        },
        async next() {
          while (waiting === undefined && over === undefined) {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
          const value = waiting;
          waiting = undefined;
          if (value !== undefined) return { done: false, value };
          if (over?.error !== undefined) throw over.error;
          return { done: true, value: undefined };
        },
        async return() {
          readers.delete(tell);
          leave();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
