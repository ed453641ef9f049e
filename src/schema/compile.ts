import { Compile } from "typebox/schema";
import { toBounded } from "./bounded.ts";
import { createFuel, type Fuel, OutOfFuel } from "./fuel.ts";
import type { Inspected } from "./inspect.ts";
import { interpret } from "./interpret.ts";
import { type Proved, provePatterns } from "./prove-patterns.ts";
import { type Checked, refused } from "./validator.ts";

/** Steps that following a reference takes. */
const perReference = { generated: 128, interpreted: 400 };

/**
 * Makes the function that checks values. It never throws. A schema with a pattern
 * that is not safe to match refuses every value.
 *
 * Generated code tells in well under a microsecond that a value is valid. If it
 * is not, or if no code can be generated, the schema is interpreted, which takes
 * some microseconds and tells what is wrong.
 */
export function compile(inspected: Inspected): (value: unknown) => Checked {
  const proof = provePatterns(inspected.patterns);
  if (!proof.ok) return () => refused("schema", `cannot be checked: ${proof.problem}`);
  const proved = { ...inspected, costs: proof.costs };
  const fuel = createFuel();
  const generated = generate(proved, fuel);
  const explain = interpret(proved, fuel);

  return (value) => {
    try {
      fuel.fill(perReference.generated);
      if (generated?.(value)) return { ok: true, value };
      fuel.fill(perReference.interpreted);
      const issues = explain(value);
      if (issues.length > 0) return { ok: false, issues };
      return generated ? refused("schema", "does not match the schema") : { ok: true, value };
    } catch (error) {
      return refused("schema", `cannot be checked: ${reason(error)}`);
    }
  };
}

/**
 * Code that checks a value, if generating code is allowed here and the schema is
 * not too large for it. The generator takes inherited properties for own ones and
 * arrays for objects with unevaluated properties, so such schemas are not for it.
 */
function generate(schema: Proved, fuel: Fuel): ((value: unknown) => boolean) | undefined {
  if (schema.inherited || schema.unevaluated) return undefined;
  try {
    const validator = Compile(toBounded(schema, fuel));
    return validator.IsAccelerated() ? (value) => validator.Check(value) : undefined;
  } catch {
    return undefined;
  }
}

function reason(error: unknown): string {
  if (error instanceof OutOfFuel) return "it takes too many steps";
  if (error instanceof RangeError) return "it is nested too deeply";
  return "reading it failed";
}
