import type { JsonObject } from "../json/json.ts";
import type { Icon } from "../protocol/content.ts";
import { McpError } from "../protocol/errors.ts";
import type { AnySchema } from "../schema/infer.ts";
import { isStandardSchema } from "../schema/standard-schema.ts";
import { type ToValidatorOptions, toValidator } from "../schema/to-validator.ts";
import type { Issue, Validator } from "../schema/validator.ts";
import { defined } from "../std/defined.ts";

/** What every definition may say of itself. */
interface Describable {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly icons?: readonly Icon[] | undefined;
  readonly meta?: JsonObject | undefined;
}

/** The same as lists show it. */
interface Description {
  readonly title?: string;
  readonly description?: string;
  readonly icons?: readonly Icon[];
  readonly _meta?: JsonObject;
}

/** What lists show of a definition; `owner` names it. Throws `invalid-definition` when that is malformed. */
export function describe(owner: string, { title, description, icons, meta }: Describable): Description {
  if (icons !== undefined && !Array.isArray(icons)) throw badDefinition(owner, "icons must be an array");
  return defined({ title, description, icons, _meta: meta });
}

/** The error for a definition that cannot be served. */
export function badDefinition(owner: string, problem: string): McpError {
  return new McpError("invalid-definition", `${owner}: ${problem}`);
}

/**
 * Where a definition has what it takes to serve its kind. It comes with the
 * definition, so that programs that define none of a kind do not carry it.
 */
export const kit: unique symbol = Symbol("plugbay.kit");

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

/** What to do with a schema that should describe an object. */
export function howToWrap(schema: unknown): string {
  return isStandardSchema(schema) ? ": wrap it in z.object({ … })" : "";
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
  return new McpError("invalid-definition", `${owner} is not a usable schema: ${problem}`);
}

/** Issues as text, for the caller that has to correct its input. */
export function issueText(issues: readonly Issue[]): string {
  return issues.map(({ path, message }) => (path === "" ? message : `${path} ${message}`)).join("; ");
}
