import { canonicalText } from "../json/canonical.ts";
import { isObject, type Json } from "../json/json.ts";
import { type Fuel, maxSteps } from "./fuel.ts";
import type { PatternCost } from "./pattern-cost.ts";
import { patternSteps } from "./safe-pattern.ts";

/** Exact for integers; otherwise as exact as binary fractions are, so that 0.07 is a multiple of 0.01. */
export function isMultipleOf(value: number, divisor: number): boolean {
  if (value % divisor === 0) return true;
  if (Number.isInteger(value) && Number.isInteger(divisor)) return false;
  const quotient = value / divisor;
  return Math.abs(quotient - Math.round(quotient)) <= Math.abs(quotient) * 1e-15;
}

/** True if no two items are equal as JSON. Linear in the size of the items. */
export function isDistinct(items: readonly unknown[]): boolean {
  const containers = items.filter((item) => typeof item === "object" && item !== null) as Json[];
  return new Set(items).size === items.length && new Set(containers.map(canonicalText)).size === containers.length;
}

/** What patterns cost, and what there is to pay with. */
interface Bounds {
  readonly costs: ReadonlyMap<string, PatternCost>;
  readonly fuel: Fuel;
}

/** A pattern that is matched within the fuel. */
export interface BoundedPattern {
  /** False as well for a text that could take more than all of the fuel; it is not even tried. */
  test(text: string): boolean;
  isTooLong(text: string): boolean;
}

export function boundedPattern(source: string, bounds: Bounds): BoundedPattern {
  const { fuel } = bounds;
  const cost = costOf(source, bounds);
  const pattern = new RegExp(source, "u");
  const isTooLong = (text: string): boolean => patternSteps(cost, text.length) > maxSteps;
  return {
    isTooLong,
    test(text) {
      if (isTooLong(text)) return false;
      fuel.burn(patternSteps(cost, text.length));
      return pattern.test(text);
    },
  };
}

/** What a pattern costs. Throws when nobody has proved it, so that it is never tried. */
export function costOf(source: string, { costs }: Pick<Bounds, "costs">): PatternCost {
  const cost = costs.get(source);
  if (cost === undefined) throw new Error(`the pattern ${source} was not proved safe`);
  return cost;
}

/** Length of a text in code points, or more if it is longer than `enough` in any case. */
export function codePoints(text: string, enough: number): number {
  if (text.length > 2 * enough) return text.length;
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** True if both are the same JSON value. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => isSameJson(item, b[i]));
  if (!isObject(a) || !isObject(b)) return a === b;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSameJson(a[name], b[name]))
  );
}
