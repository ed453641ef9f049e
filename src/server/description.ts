import type { JsonObject } from "../json/json.ts";
import type { Icon } from "../model/content.ts";
import { McpError } from "../model/errors.ts";
import { defined } from "../std/defined.ts";

/** What every definition may say of itself. */
interface Describable {
  readonly title?: string;
  readonly description?: string;
  readonly icons?: readonly Icon[];
  readonly meta?: JsonObject;
}

/** The same as lists show it. */
interface Description extends Omit<Describable, "meta"> {
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
