import type { AnySchema } from "./infer.ts";
import type { SchemaLimits } from "./inspect.ts";
import { readJsonSchema } from "./read-json-schema.ts";
import { type Direction, readStandardSchema } from "./read-standard-schema.ts";
import { isStandardSchema } from "./standard-schema.ts";
import type { ReadSchema, Validator } from "./validator.ts";

export interface ToValidatorOptions {
  /** Which side of a Standard Schema is published: what goes in (default), or what comes out. */
  readonly direction?: Direction;
  /** Bounds on a plain JSON Schema. */
  readonly limits?: SchemaLimits;
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
  const { direction = "input", limits } = options;
  const standard = isStandardSchema(schema) ? schema : undefined;
  const known = validators[standard ? direction : "plain"];
  const validator = limits === undefined ? known.get(schema) : undefined;
  if (validator !== undefined) return { ok: true, value: validator };
  const read = standard ? readStandardSchema(standard, direction) : readJsonSchema(schema, limits);
  if (read.ok && limits === undefined) known.set(schema, read.value);
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
