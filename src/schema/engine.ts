import { type Lazy, lazy } from "../std/lazy.ts";
import { lazyFormats } from "./formats.ts";

/** What checks plain JSON Schemas. */
export type Compiler = typeof import("./compile.ts");

/** It is too large to load before it is needed. */
export const lazyCompiler: Lazy<Compiler> = lazy(() => import("./compile.ts"));

/** The compiler for plain JSON Schema, if all is loaded that a schema needs of it. */
export function loadedCompiler(formats = false): Compiler | undefined {
  return formats && lazyFormats.loaded === undefined ? undefined : lazyCompiler.loaded;
}

/** Loads the compiler, and formats where a schema names some. Calling it when a server starts spares the first call the wait. */
export async function loadCompiler(formats = false): Promise<Compiler> {
  if (formats) await lazyFormats.load();
  return lazyCompiler.load();
}
