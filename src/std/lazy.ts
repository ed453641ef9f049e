import { isRequestBound } from "./clock.ts";

/** Something that is loaded when it is first needed. */
export interface Lazy<T> {
  /** The loaded value, if any, so that no wait is needed. */
  readonly loaded: T | undefined;
  /** Loads it, unless it is loaded. Rejects when that fails; the next call tries again. */
  load(): Promise<T>;
  /** Waits for loading that has begun. Undefined when it has not, or when it failed. */
  settled(): Promise<T | undefined>;
}

/**
 * Loads something once, and makes of it what is needed.
 *
 * Who asks while it is loaded waits for the same promise: all go on in the order in which they asked, which two `import()`
 * of one module do not promise. Only in Workers, where a request must not wait for a promise of another one, does
 * everybody call `load`. `make` is called once.
 */
export function lazy<M, T = M>(
  load: () => Promise<M>,
  make = (module: M) => module as unknown as T,
  requestBound: boolean = isRequestBound,
): Lazy<T> {
  let made: T | undefined;
  let last: Promise<T> | undefined;

  const get = async (): Promise<T> => {
    const module = await load();
    made ??= make(module);
    return made;
  };

  const begin = (): Promise<T> => {
    const attempt = get();
    attempt.catch(() => {
      if (last === attempt) last = undefined;
    });
    return attempt;
  };

  return {
    get loaded() {
      return made;
    },
    load() {
      if (made !== undefined) return Promise.resolve(made);
      if (last === undefined || requestBound) last = begin();
      return last;
    },
    settled: async () => last?.catch(() => undefined),
  };
}
