import { canonicalText } from "../json/canonical.ts";
import { isObject, type Json } from "../json/json.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import { type PatternCost, patternSteps } from "./pattern-cost.ts";
import {
  type Fuel,
  fail,
  type KeywordUse,
  maxSteps,
  OutOfFuel,
  priceOfNames,
  type Rule,
  type RuleContext,
  type Step,
} from "./rule.ts";
import { entries } from "./vocabulary.ts";

/** Rules of the keywords for scalars, and of `const`, `enum` and `type`. */
export const scalarRules: readonly (readonly [string, Rule])[] = [
  ["const", constRule],
  ["enum", enumRule],
  ["type", typeRule],
  ["minimum", numberRule("must be at least", (value, limit) => value >= limit)],
  ["exclusiveMinimum", numberRule("must be greater than", (value, limit) => value > limit)],
  ["maximum", numberRule("must be at most", (value, limit) => value <= limit)],
  ["exclusiveMaximum", numberRule("must be less than", (value, limit) => value < limit)],
  ["multipleOf", numberRule("must be a multiple of", isMultipleOf)],
  ["minLength", lengthRule("must have at least", hasLength)],
  ["maxLength", lengthRule("must have at most", (text, limit, fuel) => !hasLength(text, limit + 1, fuel))],
  ["format", formatRule],
  ["pattern", patternRule],
];

function assertion(keyword: string, message: () => string, holds: (value: unknown) => boolean): Step {
  return (value, state) => holds(value) || fail(state, keyword, message);
}

function constRule({ name, operand }: KeywordUse, { fuel }: RuleContext): Step {
  return assertion(
    name,
    () => `must be ${listed([operand])}`,
    (value) => isSameJson(value, operand, fuel),
  );
}

function enumRule({ name, operand }: KeywordUse, { fuel }: RuleContext): Step {
  const allowed = Array.isArray(operand) ? operand : [];
  return assertion(name, () => `must be one of ${listed(allowed)}`, isAmong(allowed, fuel));
}

function listed(values: readonly Json[]): string {
  const text = values
    .slice(0, 50)
    .map((value) => beginning(value))
    .join(", ");
  return text.length > maxListed || values.length > 50 ? `${text.slice(0, maxListed)}…` : text;
}

const maxListed = 300;

/** The JSON text of a value, cut soon after {@link maxListed} characters. */
function beginning(value: Json): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, maxListed + 1));
  if (typeof value !== "object" || value === null) return String(value);
  let text = "";
  for (const [name, member] of entries(value)) {
    const part = beginning(member);
    text += `${text === "" ? "" : ","}${Array.isArray(value) ? part : `${JSON.stringify(name)}:${part}`}`;
    if (text.length > maxListed) break;
  }
  return Array.isArray(value) ? `[${text}]` : `{${text}}`;
}

const types: Readonly<Record<string, (objection: Step) => Step>> = {
  string: (objection) => (value, state) => typeof value === "string" || objection(value, state),
  number: (objection) => (value, state) => Number.isFinite(value) || objection(value, state),
  integer: (objection) => (value, state) => Number.isInteger(value) || objection(value, state),
  boolean: (objection) => (value, state) => typeof value === "boolean" || objection(value, state),
  null: (objection) => (value, state) => value === null || objection(value, state),
  array: (objection) => (value, state) => Array.isArray(value) || objection(value, state),
  object: (objection) => (value, state) => isObject(value) || objection(value, state),
};

function typeRule({ name, operand }: KeywordUse): Step {
  const names = [operand].flat().map(String);
  const objection: Step = (_, state) => fail(state, name, () => `must be ${names.join(" or ")}`);
  return names.reduceRight((otherwise, type) => types[type]?.(otherwise) ?? otherwise, objection);
}

function numberRule(words: string, holds: (value: number, limit: number) => boolean): Rule {
  return ({ name, operand }) => {
    const limit = Number(operand);
    return assertion(
      name,
      () => `${words} ${limit}`,
      (value) => typeof value !== "number" || holds(value, limit),
    );
  };
}

function lengthRule(words: string, holds: (text: string, limit: number, fuel: Fuel) => boolean): Rule {
  return ({ name, operand }, { fuel }) => {
    const limit = Number(operand);
    return assertion(
      name,
      () => `${words} ${limit} characters`,
      (value) => typeof value !== "string" || holds(value, limit, fuel),
    );
  };
}

function formatRule({ name, operand }: KeywordUse, { fuel }: RuleContext): Step {
  const format = String(operand);
  return assertion(
    name,
    () => `must be in the format ${format}`,
    (value) => typeof value !== "string" || hasFormat(value, format, fuel),
  );
}

function patternRule({ name, operand }: KeywordUse, context: RuleContext): Step {
  const matches = boundedPattern(String(operand), context);
  return assertion(
    name,
    () => `must match the pattern ${operand}`,
    (value) => typeof value !== "string" || matches(value),
  );
}

/** Exact for integers. Fractions are compared within a relative error of 1e-15, so that 0.07 is a multiple of 0.01. */
export function isMultipleOf(value: number, divisor: number): boolean {
  if (value % divisor === 0) return true;
  if (Number.isInteger(value) && Number.isInteger(divisor)) return false;
  const quotient = value / divisor;
  return Math.abs(quotient - Math.round(quotient)) <= Math.abs(quotient) * 1e-15;
}

/** Whether no two items are equal as JSON. Takes time linear in the size of the items. */
export function isDistinct(items: readonly unknown[], fuel: Fuel): boolean {
  fuel.burn(items.length * 50);
  const containers = items.filter((item) => typeof item === "object" && item !== null) as Json[];
  if (new Set(items).size < items.length) return false;
  if (containers.length < 2) return true;
  const texts = new Set<string>();
  for (const item of containers) {
    payForSize(item, fuel);
    texts.add(canonicalText(item));
  }
  return texts.size === containers.length;
}

/** Burns fuel for a traversal of the whole value. */
function payForSize(value: unknown, fuel: Fuel): void {
  fuel.burn(typeof value === "string" ? 130 + value.length * 4 : 130);
  if (Array.isArray(value)) for (const item of value) payForSize(item, fuel);
  else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      fuel.burn(130 + name.length * 4);
      payForSize(value[name], fuel);
    }
  }
}

/** Proved costs of the patterns of a schema, and the fuel of the check. */
interface Bounds {
  readonly costs: ReadonlyMap<string, PatternCost>;
  readonly fuel: Fuel;
}

/** Creates the test whether a text matches a pattern. It burns the worst-case steps before the pattern is tried. */
export function boundedPattern(source: string, bounds: Bounds): (text: string) => boolean {
  const { fuel } = bounds;
  const cost = costOf(source, bounds);
  const pattern = new RegExp(source, "u");
  let matches = 0;
  return (text) => {
    const steps = patternSteps(cost, text.length);
    if (steps > maxSteps)
      throw new OutOfFuel(`a text of ${text.length} characters is too long for the pattern ${source}`);
    fuel.burn(perMatch + steps);
    // The engine compiles a pattern at its first use, and again, to native code, at its second.
    if (matches++ < 2) fuel.burn(perCompilation + source.length * perSourceChar + steps * 6);
    return pattern.test(text);
  };
}

/** Fixed steps of one match, besides the steps that depend on the text. */
export const perMatch = 150;
const perCompilation = 6_000;
const perSourceChar = 200;

/** The proved cost of a pattern. Throws for a pattern without a proof, so that it is never matched. */
export function costOf(source: string, { costs }: Pick<Bounds, "costs">): PatternCost {
  const cost = costs.get(source);
  if (cost === undefined) throw new Error(`the pattern ${source} was not proved safe`);
  return cost;
}

/** Whether a text has at least `least` code points. They are counted only if the number of code units does not decide it. */
export function hasLength(text: string, least: number, fuel: Fuel): boolean {
  if (text.length < least) return false;
  if (text.length >= 2 * least) return true;
  fuel.burn(text.length * 8);
  let count = 0;
  for (const _ of text) count++;
  return count >= least;
}

/** Whether a text has a format. True for an unknown format, which is an annotation only. */
type TestFormat = (format: string, text: string) => boolean;

/** The supported formats, loaded for the first schema with `format`. */
export const lazyFormats: Lazy<TestFormat> = lazy(
  () => import("typebox/format"),
  ({ Format }) => Format.Test,
);

/** Whether a text has a format, or the format is unknown. Formats are loaded before a schema with `format` is compiled. */
export function hasFormat(text: string, format: string, fuel: Fuel): boolean {
  fuel.burn(500 + text.length * 20);
  return lazyFormats.loaded?.(format, text) === true;
}

/** Creates the test whether a value is one of the options of `enum`. */
export function isAmong(options: readonly Json[], fuel: Fuel): (value: unknown) => boolean {
  const scalars = new Set<unknown>(options.filter((option) => !isContainer(option)));
  const containers = options.filter(isContainer);
  return (value) =>
    isContainer(value) ? containers.some((option) => isSameJson(value, option, fuel)) : scalars.has(value);
}

function isContainer(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** Whether both are the same JSON value. */
function isSameJson(a: unknown, b: unknown, fuel: Fuel): boolean {
  fuel.burn(typeof a === "string" ? 20 + a.length / 8 : 20);
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => isSameJson(item, b[i], fuel));
  if (!isObject(a) || !isObject(b)) return a === b;
  const names = Object.keys(a);
  const others = Object.keys(b);
  fuel.burn(priceOfNames(names.length) + priceOfNames(others.length));
  return (
    names.length === others.length &&
    names.every((name) => Object.hasOwn(b, name) && isSameJson(a[name], b[name], fuel))
  );
}
