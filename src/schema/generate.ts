import type { Compile as TypeboxCompile } from "typebox/schema";
import { toBounded } from "./bounded.ts";
import type { Generate } from "./generator.ts";

/**
 * Generates code by typebox. Not for schemas that are too large for it, and not
 * for those it gets wrong: it takes inherited properties for own ones, and arrays
 * for objects with unevaluated properties.
 */
export function createGenerator(compile: typeof TypeboxCompile): Generate {
  return (schema, fuel) => {
    if (schema.inherited || schema.unevaluated) return undefined;
    try {
      const validator = compile(toBounded(schema, fuel));
      return validator.IsAccelerated() ? (value) => validator.Check(value) : undefined;
    } catch {
      return undefined;
    }
  };
}
