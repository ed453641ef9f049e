import { McpError } from "./errors.ts";
import type { AllLimits, Limits } from "./limits.ts";
import { checkOptionNames } from "./option-names.ts";

/** The bounds that were given, and the defaults of the others. Throws `invalid-definition` for one that is none. */
export function toLimits(given: Limits | undefined, defaults: AllLimits, owner: string): AllLimits {
  if (given === undefined) return defaults;
  checkOptionNames(`limits of ${owner}`, given, defaults);
  const limits: { -readonly [L in keyof AllLimits]: number } = { ...defaults };
  for (const name of Object.keys(defaults) as (keyof AllLimits)[]) {
    const limit = given[name] ?? defaults[name];
    if (typeof limit !== "number" || !(limit >= 0))
      throw new McpError("invalid-definition", `limits.${name} of ${owner} must be 0 or more; 0 is off`);
    limits[name] = limit === 0 ? Number.POSITIVE_INFINITY : limit;
  }
  return limits;
}
