import type { Compile as TypeboxCompile } from "typebox/schema";
import type { Json } from "../json/json.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import { toBounded } from "./generated.ts";
import type { Proved } from "./pattern-cost.ts";
import type { Fuel } from "./step.ts";
import { dynamicReference, entries } from "./vocabulary.ts";

/**
 * Generates code by typebox. Not for schemas that are too large for it, and not
 * for those it gets wrong: it takes inherited properties for own ones, and arrays
 * for objects with unevaluated properties. References whose target depends on the
 * way that a check has come are not known to it either.
 */
function createGenerator(compile: typeof TypeboxCompile): Generate {
  return (schema, fuel) => {
    if (schema.unevaluated || !isSuitable(schema)) return undefined;
    try {
      const validator = compile(toBounded(schema, fuel));
      return validator.IsAccelerated() ? (value) => validator.Check(value) : undefined;
    } catch {
      return undefined;
    }
  };
}

/** Values in a schema that code is generated for. Generating takes some ten microseconds for each. */
const maxValues = 2_000;

function isSuitable({ root, targets }: Proved): boolean {
  let left = maxValues;
  const isFine = (value: Json): boolean => {
    if (--left < 0 || (typeof value === "string" && value in {})) return false;
    return entries(value).every(([name, below]) => !(name in {}) && name !== dynamicReference && isFine(below));
  };
  return [root, ...targets.values()].every(isFine);
}

/** Tells whether a value is valid. */
export type Check = (value: unknown) => boolean;

/** Generates code for a schema, if that is allowed here and the schema is one for it. */
export type Generate = (schema: Proved, fuel: Fuel) => Check | undefined;

/**
 * Fails to load where typebox is not there: everything can be checked without it. The package is imported here and not by
 * who uses it: a bundle in one file would load it at its start.
 */
export const lazyGenerator: Lazy<Generate> = lazy(
  () => import("typebox/schema"),
  ({ Compile }) => createGenerator(Compile),
);
