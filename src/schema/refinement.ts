import { isObject } from "../json/json.ts";
import { type Fuel, maxSteps } from "./fuel.ts";
import type { PatternCost } from "./pattern-cost.ts";
import { patternSteps } from "./safe-pattern.ts";

/** A schema that checks by a function; the compiler knows the keyword. */
export interface Refinement {
  readonly "~refine": readonly [{ check(value: unknown): boolean; error(value: unknown): string }];
}

/** Says what is wrong with a value, if anything. */
type Problem = (value: unknown) => string | undefined;

/** A schema that fails in the name of a keyword. Its error is the keyword, a space, and the problem. */
export function refinement(keyword: string, problem: Problem): Refinement {
  const check = (value: unknown): boolean => problem(value) === undefined;
  return { "~refine": [{ check, error: (value) => `${keyword} ${problem(value)}` }] };
}

/** Exact for integers; otherwise as exact as binary fractions are, so that 0.07 is a multiple of 0.01. */
export function multipleProblem(divisor: number): Problem {
  const isMultiple = (value: number): boolean => {
    if (value % divisor === 0) return true;
    const quotient = value / divisor;
    const error = Math.abs(quotient - Math.round(quotient));
    return !(Number.isInteger(value) && Number.isInteger(divisor)) && error <= Math.abs(quotient) * 1e-15;
  };
  return (value) => (typeof value !== "number" || isMultiple(value) ? undefined : `must be a multiple of ${divisor}`);
}

export function duplicateProblem(value: unknown): string | undefined {
  if (!Array.isArray(value)) return undefined;
  const distinct = new Set(value.map((item) => JSON.stringify(item, sortMembers)));
  return distinct.size === value.length ? undefined : "must not have duplicate items";
}

function sortMembers(_: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Matches within the fuel. A text that could take more than all of it is refused unread. */
export function patternProblem(source: string, cost: PatternCost, fuel: Fuel): Problem {
  const pattern = new RegExp(source, "u");
  return (value) => {
    if (typeof value !== "string") return undefined;
    const steps = patternSteps(cost, value.length);
    if (steps > maxSteps) return `is too long to be matched with the pattern ${source}`;
    fuel.burn(steps);
    return pattern.test(value) ? undefined : `must match the pattern ${source}`;
  };
}
