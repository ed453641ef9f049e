import { isObject } from "../json/json.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import type { AnySchema } from "./infer.ts";
import { type Inspected, inspectSchema, type SchemaLimits } from "./inspect.ts";
import { copyJson, type Direction, isStandardSchema, readStandardSchema, ZOD_3 } from "./standard-schema.ts";
import { type Checked, type ReadSchema, refused, type Validator } from "./validator.ts";

export interface ToValidatorOptions {
  /** Which side of a Standard Schema is published: what goes in (default), or what comes out. */
  readonly direction?: Direction;
  /** Bounds on a plain JSON Schema. */
  readonly limits?: SchemaLimits;
  /** True lets a Standard Schema match patterns that nobody has proved safe. Plain ones are proved always. Default false. */
  readonly trustPatterns?: boolean;
}

/**
 * Reads a schema when it is defined, so that a bad one is noticed then and not at
 * the first call. Whether its patterns are safe to match is found out later, by
 * {@link Validator.prove} or the first check.
 *
 * Takes a Standard Schema that can convert itself to JSON Schema, or a plain JSON
 * Schema 2020-12 or draft 7. A schema is read once: later changes to it are not
 * seen, and reading it again with the same options gives the same validator.
 */
export function toValidator(schema: AnySchema, options: ToValidatorOptions = {}): ReadSchema {
  const { direction = "input", limits, trustPatterns = false } = options;
  const standard = isStandardSchema(schema) ? schema : undefined;
  const known = validators[standard ? direction : "plain"];
  const isUsual = limits === undefined && !trustPatterns;
  const validator = isUsual ? known.get(schema) : undefined;
  if (validator !== undefined) return { ok: true, value: validator };
  const read = standard ? readStandardSchema(standard, direction, trustPatterns) : readJsonSchema(schema, limits);
  if (read.ok && isUsual) known.set(schema, read.value);
  return read;
}

/**
 * Reads a schema to the end: its patterns are proved safe as well, which
 * {@link toValidator} puts off. For schemas that are met while running.
 */
export async function toProvedValidator(schema: AnySchema, options?: ToValidatorOptions): Promise<ReadSchema> {
  const read = toValidator(schema, options);
  const problem = read.ok ? await read.value.prove?.() : undefined;
  return problem === undefined ? read : { ok: false, problem };
}

const validators: Readonly<Record<Direction | "plain", WeakMap<object, Validator>>> = {
  plain: new WeakMap(),
  input: new WeakMap(),
  output: new WeakMap(),
};

/** Reads a plain JSON Schema. It is inspected now and made ready at the first check, which its patterns must be safe for. */
function readJsonSchema(schema: unknown, limits?: SchemaLimits): ReadSchema {
  const mistake = mistakeIn(schema);
  if (mistake !== undefined) return { ok: false, problem: mistake };
  const copied = copyJson(schema);
  if (!copied.ok) return copied;
  const json = copied.value;
  if (!isObject(json)) return { ok: false, problem: "# must be a Standard Schema or a JSON Schema object" };
  const inspection = inspectSchema(json, limits);
  if (!inspection.ok) return inspection;

  const { patterns, refers, formats } = inspection.value;
  let run: ((value: unknown) => Checked) | undefined;
  const compileOnce = ({ compile }: Compiler): ((value: unknown) => Checked) => {
    run ??= compile(inspection.value);
    return run;
  };

  return {
    ok: true,
    value: {
      json,
      check(value) {
        const compiler = loadedCompiler(formats);
        if (compiler !== undefined) return compileOnce(compiler)(value);
        return loadCompiler(formats).then(
          (loaded) => compileOnce(loaded)(value),
          () => refused("schema", NOT_LOADED),
        );
      },
      ...((patterns.size > 0 || refers) && { prove: () => problemOf(inspection.value) }),
    },
  };
}

/** What checks plain JSON Schemas. */
export type Compiler = typeof import("./compile.ts");

/** It is too large to load before it is needed. */
export const lazyCompiler: Lazy<Compiler> = lazy(() => import("./compile.ts"));

/** The compiler for plain JSON Schema, if all is loaded that a schema needs of it. */
export function loadedCompiler(formats = false): Compiler | undefined {
  const compiler = lazyCompiler.loaded;
  return formats && compiler?.lazyFormats.loaded === undefined ? undefined : compiler;
}

/** Loads the compiler, and formats where a schema names some. Calling it when a server starts spares the first call the wait. */
export async function loadCompiler(formats = false): Promise<Compiler> {
  const compiler = await lazyCompiler.load();
  if (formats) await compiler.lazyFormats.load();
  return compiler;
}

const NOT_LOADED = "cannot be checked: the code for that could not be loaded";

/** What was given in place of a JSON Schema, and what to do. */
function mistakeIn(schema: unknown): string | undefined {
  if (isZod3(schema)) return ZOD_3;
  const isShape =
    isObject(schema) && Object.values(schema).some((member) => isStandardSchema(member) || isZod3(member));
  return isShape ? "these are the members of a schema, not a schema: wrap them in z.object({ … })" : undefined;
}

/** True for a schema of zod before it followed Standard Schema. */
function isZod3(schema: unknown): boolean {
  return typeof schema === "object" && schema !== null && "_def" in schema && "safeParse" in schema;
}

/** What is wrong with the references or the patterns of a schema. */
async function problemOf(inspected: Inspected): Promise<string | undefined> {
  const loaded = await lazyCompiler.load().catch(() => undefined);
  if (loaded === undefined) return `it ${NOT_LOADED}`;
  const proof = loaded.proveSchema(inspected);
  return proof.ok ? undefined : proof.problem;
}
