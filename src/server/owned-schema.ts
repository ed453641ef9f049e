import { McpError } from "../model/errors.ts";
import type { AnySchema } from "../schema/infer.ts";
import { type ToValidatorOptions, toValidator } from "../schema/to-validator.ts";
import type { Validator } from "../schema/validator.ts";

/** A part of a definition that may turn out to be unusable when it is looked at more closely. */
export interface Provable extends Pick<Validator, "prove"> {
  /** For messages: `tool add: input`. */
  readonly owner: string;
}

/** A schema of a definition. */
export interface OwnedSchema extends Validator, Provable {}

/** Reads a schema of a definition, if it has one. Throws `invalid-definition` when it is not usable. */
export function readSchema(
  owner: string,
  schema: AnySchema | undefined,
  options?: ToValidatorOptions,
): OwnedSchema | undefined {
  if (schema === undefined) return undefined;
  const read = toValidator(schema, options);
  if (!read.ok) throw unusable(owner, read.problem);
  return { ...read.value, owner };
}

/** What is wrong with the first schema that turns out to be unusable after all, when what was put off is made up for. */
export async function findFlaw(schemas: Iterable<Provable | undefined>): Promise<McpError | undefined> {
  for (const schema of schemas) {
    const problem = await schema?.prove?.();
    if (schema !== undefined && problem !== undefined) return unusable(schema.owner, problem);
  }
  return undefined;
}

function unusable(owner: string, problem: string): McpError {
  return new McpError("invalid-definition", `${owner} is no usable schema: ${problem}`);
}
