import type { Fuel } from "./fuel.ts";
import type { Proved } from "./prove-patterns.ts";

/** Tells whether a value is valid. */
export type Check = (value: unknown) => boolean;

/** Generates code for a schema, if that is allowed here and the schema is one for it. */
export type Generate = (schema: Proved, fuel: Fuel) => Check | undefined;

let loaded: Generate | undefined;
let loading: Promise<Generate | undefined> | undefined;

/** The generator if it is loaded. */
export function loadedGenerator(): Generate | undefined {
  return loaded;
}

/** Loads the generator, once. Undefined where typebox is not there: everything can be checked without it. */
export function loadGenerator(): Promise<Generate | undefined> {
  loading ??= load().catch(() => undefined);
  return loading;
}

/** The package is imported here and not by who uses it: a bundle in one file would load it at its start. */
async function load(): Promise<Generate> {
  const [{ createGenerator }, { Compile }] = await Promise.all([import("./generate.ts"), import("typebox/schema")]);
  loaded = createGenerator(Compile);
  return loaded;
}
