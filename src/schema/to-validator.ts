import { isObject } from "../json/json.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import type { AnySchema } from "./infer.ts";
import { type Inspected, inspectSchema, type SchemaLimits } from "./inspect.ts";
import { copyJson, type Direction, isStandardSchema, readStandardSchema, ZOD_3 } from "./standard-schema.ts";
import { type Checked, type ReadSchema, refused, type Validator } from "./validator.ts";

export interface ToValidatorOptions {
  /** Side of a Standard Schema that is published: its input type or its output type. Default `input`. */
  readonly direction?: Direction;
  /** Bounds on a plain JSON Schema. Default {@link defaultSchemaLimits}. */
  readonly limits?: SchemaLimits;
  /** Whether a Standard Schema may match patterns without a proof that they are safe. Patterns of plain JSON Schemas are always proved. Default false. */
  readonly trustPatterns?: boolean;
}

/**
 * Reads a schema when it is defined, so that an invalid schema is reported then and
 * not at the first call. References and the safety of patterns are checked later,
 * by {@link Validator.prove} or the first check.
 *
 * Accepts a Standard Schema that can convert itself to JSON Schema, or a plain JSON
 * Schema. A schema that is read with default limits is read once: later changes to
 * it have no effect, and reading it again returns the same validator.
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
 * Reads a schema like {@link toValidator}, and also runs {@link Validator.prove}. For
 * schemas that arrive while the program runs.
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

/** Reads a plain JSON Schema. It is inspected now; the first check proves its patterns and compiles it. */
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

/** The module that checks plain JSON Schemas. */
export type Compiler = typeof import("./compile.ts");

/** Loads the compiler at its first use, because it is large. */
export const lazyCompiler: Lazy<Compiler> = lazy(() => import("./compile.ts"));

/** The compiler for plain JSON Schemas, or undefined until it is loaded. With `formats`, also until the formats are loaded. */
export function loadedCompiler(formats = false): Compiler | undefined {
  const compiler = lazyCompiler.loaded;
  return formats && compiler?.lazyFormats.loaded === undefined ? undefined : compiler;
}

/** Loads the compiler, and with `formats` the formats too. A server that calls it at its start does not delay its first call. */
export async function loadCompiler(formats = false): Promise<Compiler> {
  const compiler = await lazyCompiler.load();
  if (formats) await compiler.lazyFormats.load();
  return compiler;
}

const NOT_LOADED = "cannot be checked: the code for that could not be loaded";

/** Recognizes values that are often passed in place of a schema, and returns the correction. */
function mistakeIn(schema: unknown): string | undefined {
  if (isZod3(schema)) return ZOD_3;
  const isShape =
    isObject(schema) && Object.values(schema).some((member) => isStandardSchema(member) || isZod3(member));
  return isShape ? "these are the members of a schema, not a schema: wrap them in z.object({ … })" : undefined;
}

/** True for a schema of zod 3, which does not implement Standard Schema. */
function isZod3(schema: unknown): boolean {
  return typeof schema === "object" && schema !== null && "_def" in schema && "safeParse" in schema;
}

/** The problem of the references or patterns of a schema, if there is one. */
async function problemOf(inspected: Inspected): Promise<string | undefined> {
  const loaded = await lazyCompiler.load().catch(() => undefined);
  if (loaded === undefined) return `it ${NOT_LOADED}`;
  const proof = loaded.proveSchema(inspected);
  return proof.ok ? undefined : proof.problem;
}
