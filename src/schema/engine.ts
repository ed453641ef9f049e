import { loadedFormats, loadFormats } from "./formats.ts";
import type { Inspected } from "./inspect.ts";
import type { Checked } from "./validator.ts";

/** Turns an inspected schema into a check. */
export type Compile = (inspected: Inspected) => (value: unknown) => Checked;

let loaded: Compile | undefined;
let loading: Promise<Compile> | undefined;

/** The compiler for plain JSON Schema, if all is loaded that a schema needs of it. */
export function loadedCompiler(formats = false): Compile | undefined {
  return formats && loadedFormats() === undefined ? undefined : loaded;
}

/**
 * Loads the compiler, which is too large to load before it is needed, and formats
 * where a schema names some. Whoever asks while it is under way gets the same
 * promise. Calling it when a server starts spares the first call the wait.
 */
export async function loadCompiler(formats = false): Promise<Compile> {
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
  if (formats) await loadFormats();
  return loading;
}
