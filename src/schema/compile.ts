import { Check, Compile, Errors } from "typebox/schema";
import { type Bounded, toBounded } from "./bounded.ts";
import { createFuel, OutOfFuel } from "./fuel.ts";
import type { Inspected } from "./inspect.ts";
import { toIssues } from "./issues.ts";
import { type Checked, refused } from "./validator.ts";

/** Steps that following a reference takes: compiled, interpreted, and interpreted to find the issues. */
const perReference = { compiled: 256, interpreted: 1024, explained: 4096 };

/** Makes the function that checks values. It never throws. */
export function compile(inspected: Inspected): (value: unknown) => Checked {
  const fuel = createFuel();
  const schema = toBounded(inspected, fuel);
  const matcher = createMatcher(schema);

  return (value) => {
    try {
      fuel.fill(matcher.perReference);
      if (matcher.matches(value)) return { ok: true, value };
    } catch (error) {
      return refused("schema", `cannot be checked: ${reason(error)}`);
    }
    try {
      fuel.fill(perReference.explained);
      const issues = toIssues(Errors(schema, value)[1]);
      return issues.length > 0 ? { ok: false, issues } : mismatch;
    } catch {
      return mismatch;
    }
  };
}

const mismatch: Checked = refused("schema", "does not match the schema");

function reason(error: unknown): string {
  if (error instanceof OutOfFuel) return "it takes too many steps";
  if (error instanceof RangeError) return "it is nested too deeply";
  return "reading it failed";
}

interface Matcher {
  matches(value: unknown): boolean;
  readonly perReference: number;
}

/** Generates code where that is allowed and the schema is not too large for it; interprets otherwise. */
function createMatcher(schema: Bounded): Matcher {
  try {
    const compiled = Compile(schema);
    const { compiled: fast, interpreted: slow } = perReference;
    return { matches: (value) => compiled.Check(value), perReference: compiled.IsAccelerated() ? fast : slow };
  } catch {
    return { matches: (value) => Check(schema, value), perReference: perReference.interpreted };
  }
}
