import type { Inspected } from "./inspect.ts";
import type { Checked } from "./validator.ts";

/** Turns an inspected schema into a check. */
export type Compile = (inspected: Inspected) => (value: unknown) => Checked;

let loaded: Compile | undefined;
let loading: Promise<Compile> | undefined;

/** The compiler for plain JSON Schema if it is loaded. */
export function loadedCompiler(): Compile | undefined {
  return loaded;
}

/**
 * Loads the compiler, which is too large to load before it is needed. Whoever
 * asks while it is under way gets the same promise. Calling it when a server
 * starts spares the first call the wait.
 */
export function loadCompiler(): Promise<Compile> {
  loading ??= import("./compile.ts").then(
    ({ compile }) => {
      loaded = compile;
      return compile;
    },
    (error) => {
      loading = undefined;
      throw error;
    },
  );
  return loading;
}
