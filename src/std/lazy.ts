/** Something that is loaded when it is first needed. */
export interface Lazy<T> {
  /** What was loaded, if it was: who finds it here need not wait. */
  readonly loaded: T | undefined;
  /** Loads it, unless it is loaded. Rejects when that fails; the next call tries again. */
  load(): Promise<T>;
  /** Waits for loading that has begun. Undefined when nobody needed it so far, or it could not be loaded. */
  settled(): Promise<T | undefined>;
}

/**
 * Loads something once, and makes of it what is needed.
 *
 * Until it is there, everybody who needs it calls `load`, which is an `import()` that gives all of them the same module:
 * in Workers a request must not wait for a promise of another one. `make` is called once.
 */
export function lazy<M, T = M>(load: () => Promise<M>, make = (module: M) => module as unknown as T): Lazy<T> {
  let made: T | undefined;
  let last: Promise<T> | undefined;

  const get = async (): Promise<T> => {
    const module = await load();
    made ??= make(module);
    return made;
  };

  return {
    get loaded() {
      return made;
    },
    load() {
      last = made === undefined ? get() : Promise.resolve(made);
      return last;
    },
    settled: async () => last?.catch(() => undefined),
  };
}
