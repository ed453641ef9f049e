/** What turns an inspected schema into a check. */
export type Engine = typeof import("./compile.ts");

let engine: Engine | undefined;
let loading: Promise<Engine> | undefined;

/** The compiler for plain JSON Schema if it is loaded. */
export function loadedEngine(): Engine | undefined {
  return engine;
}

/**
 * Loads the compiler, which is too large to load before it is needed. Whoever
 * asks while it is under way gets the same promise. Calling it when a server
 * starts spares the first call the wait.
 */
export function loadEngine(): Promise<Engine> {
  loading ??= import("./compile.ts").then(
    (loaded) => {
      engine = loaded;
      return loaded;
    },
    (error) => {
      loading = undefined;
      throw error;
    },
  );
  return loading;
}
