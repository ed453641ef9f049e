import { type Check, type Generate, lazyGenerator } from "./generate.ts";
import type { Inspected } from "./inspect.ts";
import { interpret } from "./interpret.ts";
import { normalizeSchema } from "./normalize.ts";
import { type Proved, provePatterns } from "./pattern-cost.ts";
import { createFuel, type Fuel, maxSteps, OutOfFuel } from "./step.ts";
import { type Checked, refused } from "./validator.ts";

export { createHeaderCheck } from "./param-headers.ts";

/** Loading the generator takes as long as some ten thousand checks without it. */
const HOT_AFTER = 5_000;

/**
 * Makes the function that checks values. It never throws. A schema with a pattern
 * that is not safe to match refuses every value.
 *
 * A schema is interpreted, which takes some microseconds and tells what is wrong.
 * One that is checked very often gets code generated for it, which tells in well
 * under a microsecond that a value is valid. Both say the same.
 */
export function compile(inspected: Inspected, hotAfter: number = HOT_AFTER): (value: unknown) => Checked {
  const proof = proveSchema(inspected);
  if (!proof.ok) return unusable(proof.problem);
  const proved = proof.value;
  const fuel = createFuel();
  const explain = interpret(proved, fuel);
  let generated: Check | undefined;
  let checks = 0;

  const use = (generate: Generate): void => {
    generated = generate(proved, fuel);
  };
  /** Interpreting goes on until the code is there, and for good where there can be none. */
  const heatUp = (): void => {
    if (lazyGenerator.loaded !== undefined) use(lazyGenerator.loaded);
    else void lazyGenerator.load().then(use, () => {});
  };

  return (value) => {
    if (checks++ === hotAfter) heatUp();
    try {
      const isValid = generated && quickly(generated, value, fuel);
      if (isValid === true) return { ok: true, value };
      fuel.fill(maxSteps);
      const issues = explain(value);
      if (issues.length > 0) return { ok: false, issues };
      return isValid === false ? refused("schema", "does not match the schema") : { ok: true, value };
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

/** What generated code says. It pays for the worst case beforehand, so it may run out of fuel where interpreting does not. */
function quickly(generated: Check, value: unknown, fuel: Fuel): boolean | undefined {
  try {
    fuel.fill(maxSteps / 4);
    return generated(value);
  } catch (error) {
    if (error instanceof OutOfFuel) return undefined;
    throw error;
  }
}

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
