import type { Inspected } from "./inspect.ts";
import { interpret } from "./interpret.ts";
import { normalizeSchema } from "./normalize.ts";
import { type Proved, provePatterns } from "./pattern-cost.ts";
import { Fuel, maxSteps, OutOfFuel } from "./step.ts";
import { type Checked, refused } from "./validator.ts";

export { createHeaderCheck } from "./param-headers.ts";

/**
 * Makes the function that checks values. It never throws. A schema with a pattern
 * that is not safe to match refuses every value.
 */
export function compile(inspected: Inspected): (value: unknown) => Checked {
  const proof = proveSchema(inspected);
  if (!proof.ok) return unusable(proof.problem);
  const fuel = new Fuel();
  const issuesOf = interpret(proof.value, fuel);
  return (value) => {
    try {
      fuel.fill(maxSteps);
      const issues = issuesOf(value);
      return issues.length === 0 ? { ok: true, value } : { ok: false, issues };
    } catch (error) {
      return givenUp(error);
    }
  };
}

/** Brings a schema to the form that is checked, and proves that its patterns are safe. Else says what is wrong. */
export function proveSchema(inspected: Inspected): Proof {
  const normal = normalizeSchema(inspected);
  if (!normal.ok) return normal;
  const proof = provePatterns(inspected.patterns);
  return proof.ok ? { ok: true as const, value: { ...normal.value, costs: proof.costs } } : proof;
}

type Proof = { readonly ok: true; readonly value: Proved } | { readonly ok: false; readonly problem: string };

function unusable(problem: string): () => Checked {
  return () => refused("schema", `cannot be checked: ${problem}`);
}

function givenUp(error: unknown): Checked {
  if (error instanceof OutOfFuel) {
    const remedy = `the limit is ${maxSteps} steps; send a smaller value, or simplify the schema`;
    return refused("limit", `the check was given up: ${error.message}; ${remedy}`);
  }
  const problem = error instanceof RangeError ? "it is nested too deeply" : "reading it failed";
  return refused("schema", `cannot be checked: ${problem}`);
}
