import { createFuel, OutOfFuel } from "./fuel.ts";
import { type Check, loadedGenerator, loadGenerator } from "./generator.ts";
import type { Inspected } from "./inspect.ts";
import { interpret } from "./interpret.ts";
import { provePatterns } from "./prove-patterns.ts";
import { type Checked, refused } from "./validator.ts";

/** Steps that following a reference takes. */
const perReference = { generated: 128, interpreted: 400 };

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
  const proof = provePatterns(inspected.patterns);
  if (!proof.ok) return () => refused("schema", `cannot be checked: ${proof.problem}`);
  const proved = { ...inspected, costs: proof.costs };
  const fuel = createFuel();
  const explain = interpret(proved, fuel);
  let generated: Check | undefined;
  let checks = 0;

  /** Interpreting goes on until the code is there, and for good where there can be none. */
  const heatUp = (): void => {
    const generate = loadedGenerator();
    if (generate !== undefined) generated = generate(proved, fuel);
    else
      void loadGenerator().then((loaded) => {
        generated = loaded?.(proved, fuel);
      });
  };

  return (value) => {
    if (checks++ === hotAfter) heatUp();
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

function reason(error: unknown): string {
  if (error instanceof OutOfFuel) return "it takes too many steps";
  if (error instanceof RangeError) return "it is nested too deeply";
  return "reading it failed";
}
