import { canonicalText } from "../json/canonical.ts";
import type { Json, JsonObject } from "../json/json.ts";
import { own, pointerKeys } from "../schema/json-pointer.ts";
import { toMatcher } from "../std/glob.ts";
import type { ArgumentCondition } from "./rule.ts";

/** Tells which argument does not fit a rule. Undefined when all do. */
export type ArgumentsCheck = (args: JsonObject | undefined) => string | undefined;

/**
 * Conditions on arguments. Where a path has a `*`, what allows must hold for every item, and there must be one; what does
 * anything else, for one of them.
 */
export function createArgumentsCheck(
  conditions: Readonly<Record<string, ArgumentCondition>>,
  holdsForAll: boolean,
): ArgumentsCheck {
  const checks = Object.entries(conditions).map(([path, condition]) => {
    const keys = keysOf(path);
    const isMet = toCheck(condition);
    const holds = (values: readonly (Json | undefined)[]): boolean =>
      holdsForAll ? values.length > 0 && values.every(isMet) : values.some(isMet);
    return { path, holds: (args: JsonObject): boolean => holds(valuesAt(args, keys)) };
  });
  return (args = {}) => checks.find(({ holds }) => !holds(args))?.path;
}

/** The keys of a JSON Pointer, or of a name with dots. */
export function keysOf(path: string): readonly string[] {
  return path.startsWith("/") ? pointerKeys(path) : path.split(".");
}

function valuesAt(value: Json | undefined, [key, ...rest]: readonly string[]): readonly (Json | undefined)[] {
  if (key === undefined) return [value];
  if (key !== "*") return valuesAt(own(value, key), rest);
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((item) => valuesAt(item, rest));
}

function toCheck({ equals, glob, oneOf, absent }: ArgumentCondition): (value: Json | undefined) => boolean {
  if (absent !== undefined) return (value) => (value === undefined) === absent;
  if (glob !== undefined) {
    const fits = toMatcher([glob].flat());
    return (value) => isPlain(value) && fits(String(value));
  }
  const texts = new Set((oneOf ?? [equals]).map((value) => canonicalText(value)));
  return (value) => value !== undefined && texts.has(canonicalText(value));
}

function isPlain(value: Json | undefined): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
