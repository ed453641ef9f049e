import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { entries } from "../../schema/vocabulary.ts";
import {
  type Definitions,
  isNullable,
  type ObjectOption,
  type Option,
  type Outline,
  type Property,
  type Shape,
} from "./shape.ts";

/** What `null` means for a property that may be absent, and also `null`. */
export type Reading = "null" | "absent";

/**
 * Arguments as they were meant, from arguments as strict mode has them: `null` for
 * a property that may be absent, but not `null`, is absent. If it may be either,
 * `reading` decides. Everything else stays.
 */
export function liftStrict(input: JsonObject, outline: Outline, reading: Reading = "null"): JsonObject {
  const { root, variants, definitions } = outline;
  const context: Context = { definitions, reading, work: { left: maxWork } };
  const found = variants
    .map((variant) => [variant, withoutForeign(input, variant)] as const)
    .find(([variant, own]) => fitsObject(own, variant, context));
  const [option, meant] = found ?? [root, input];
  return liftObject(meant, option, context);
}

interface Context {
  readonly definitions: Definitions;
  readonly reading: Reading;
  /** How many values may still be looked at. Branches in branches could take forever; then nothing more fits. */
  readonly work: { left: number };
}

const maxWork = 200_000;

/** Arguments without those that only other variants have. */
function withoutForeign(input: JsonObject, { properties }: ObjectOption): JsonObject {
  return Object.fromEntries(entries(input).filter(([key, value]) => value !== null || properties.has(key)));
}

function liftObject(value: JsonObject, { properties }: ObjectOption, context: Context): JsonObject {
  const members = entries(value).flatMap(([key, member]): readonly (readonly [string, Json])[] => {
    const property = properties.get(key);
    if (property === undefined) return [[key, member]];
    return isAbsent(member, property, context) ? [] : [[key, lift(member, property.shape, context)]];
  });
  return Object.fromEntries(members);
}

function isAbsent(member: Json, { shape, required }: Property, { definitions, reading }: Context): boolean {
  return member === null && !required && (reading === "absent" || !isNullable(shape, definitions));
}

function lift(value: Json, shape: Shape, context: Context): Json {
  const option = shape.kind === "choice" ? shape.options.find((one) => fits(value, one, context)) : undefined;
  if (option?.kind === "object" && isObject(value)) return liftObject(value, option, context);
  if (option?.kind === "array" && Array.isArray(value)) return liftItems(value, option, context);
  const target = option?.kind === "reference" ? context.definitions.get(option.name) : undefined;
  return target === undefined ? value : lift(value, target, context);
}

function liftItems(items: readonly Json[], option: Option & { kind: "array" }, context: Context): Json {
  return items.map((item) => {
    const fitting = shapesIn(option).find((shape) => fitsShape(item, shape, context));
    return fitting === undefined ? item : lift(item, fitting, context);
  });
}

function shapesIn({ prefix, items }: Option & { kind: "array" }): readonly Shape[] {
  return items === undefined ? prefix : [...prefix, items];
}

/** True if a value has the structure of an option. Limits do not count: they tell no branches apart. */
function fits(value: Json, option: Option, context: Context): boolean {
  if (--context.work.left < 0) return false;
  switch (option.kind) {
    case "object":
      return isObject(value) && fitsObject(value, option, context);
    case "array":
      return (
        Array.isArray(value) &&
        value.every((item: Json) => shapesIn(option).some((shape) => fitsShape(item, shape, context)))
      );
    case "reference": {
      const target = context.definitions.get(option.name);
      return target !== undefined && fitsShape(value, target, context);
    }
    case "integer":
      return Number.isInteger(value) && isListed(value, option.values);
    default:
      return typeof value === option.kind && isListed(value, option.values);
  }
}

function fitsShape(value: Json, shape: Shape, context: Context): boolean {
  if (shape.kind === "anything") return true;
  if (value === null && shape.nullable) return true;
  return shape.options.some((option) => fits(value, option, context));
}

function fitsObject(value: JsonObject, { properties }: ObjectOption, context: Context): boolean {
  if (Object.keys(value).some((key) => !properties.has(key))) return false;
  return [...properties].every(([key, property]) => {
    const member = Object.hasOwn(value, key) ? value[key] : undefined;
    if (member === undefined || (member === null && !property.required)) return !property.required;
    return fitsShape(member, property.shape, context);
  });
}

function isListed(value: Json, values: readonly Json[] | undefined): boolean {
  return values === undefined || values.includes(value);
}
