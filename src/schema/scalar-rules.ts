import { isObject, type Json } from "../json/json.ts";
import { boundedPattern, codePoints, isMultipleOf, isSameJson } from "./assertions.ts";
import { loadedFormats } from "./formats.ts";
import { fail, type Maker, type Rule, type Step, type Use } from "./step.ts";

/** The keywords about a value as a whole. */
export const scalarRules: readonly (readonly [string, Rule])[] = [
  [
    "const",
    ({ name, operand }) => assertion(name, `must be ${listed([operand])}`, (value) => isSameJson(value, operand)),
  ],
  ["enum", enumRule],
  ["type", typeRule],
  ["minimum", numberRule("must be at least", (value, limit) => value >= limit)],
  ["exclusiveMinimum", numberRule("must be greater than", (value, limit) => value > limit)],
  ["maximum", numberRule("must be at most", (value, limit) => value <= limit)],
  ["exclusiveMaximum", numberRule("must be less than", (value, limit) => value < limit)],
  ["multipleOf", numberRule("must be a multiple of", isMultipleOf)],
  ["minLength", lengthRule("must have at least", (length, limit) => length >= limit)],
  ["maxLength", lengthRule("must have at most", (length, limit) => length <= limit)],
  ["format", formatRule],
  ["pattern", patternRule],
];

function assertion(keyword: string, message: string, holds: (value: unknown) => boolean): Step {
  return (value, place) => holds(value) || fail(place, keyword, message);
}

function enumRule({ name, operand }: Use): Step {
  const allowed = Array.isArray(operand) ? operand : [];
  const scalars = new Set<unknown>(allowed.filter((option) => typeof option !== "object"));
  const others = allowed.filter((option) => typeof option === "object");
  const holds = (value: unknown): boolean => scalars.has(value) || others.some((option) => isSameJson(value, option));
  return assertion(name, `must be one of ${listed(allowed)}`, holds);
}

function listed(values: readonly Json[]): string {
  const text = values
    .slice(0, 50)
    .map((value) => JSON.stringify(value))
    .join(", ");
  return text.length > 300 || values.length > 50 ? `${text.slice(0, 300)}…` : text;
}

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  number: Number.isFinite,
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
};

function typeRule({ name, operand }: Use): Step {
  const names = [operand].flat().map(String);
  const tests = names.flatMap((type) => types[type] ?? []);
  const [only = () => true] = tests;
  const holds = tests.length === 1 ? only : (value: unknown) => tests.some((test) => test(value));
  return assertion(name, `must be ${names.join(" or ")}`, holds);
}

function numberRule(words: string, holds: (value: number, limit: number) => boolean): Rule {
  return ({ name, operand }) => {
    const limit = Number(operand);
    return assertion(name, `${words} ${limit}`, (value) => typeof value !== "number" || holds(value, limit));
  };
}

function lengthRule(words: string, holds: (length: number, limit: number) => boolean): Rule {
  return ({ name, operand }) => {
    const limit = Number(operand);
    return assertion(
      name,
      `${words} ${limit} characters`,
      (value) => typeof value !== "string" || holds(codePoints(value, limit), limit),
    );
  };
}

/** The formats are loaded before a schema that names one is compiled. */
function formatRule({ name, operand }: Use): Step {
  const format = String(operand);
  return assertion(
    name,
    `must be in the format ${format}`,
    (value) => typeof value !== "string" || loadedFormats()?.(format, value) === true,
  );
}

function patternRule({ name, operand }: Use, maker: Maker): Step {
  const source = String(operand);
  const pattern = boundedPattern(source, maker);
  return (value, place) => {
    if (typeof value !== "string" || pattern.test(value)) return true;
    const problem = pattern.isTooLong(value) ? "is too long to be matched with" : "must match";
    return fail(place, name, `${problem} the pattern ${source}`);
  };
}
