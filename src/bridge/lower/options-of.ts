import type { Json } from "../../json/json.ts";
import { arrayOption } from "./array-option.ts";
import { first, greatest, least } from "./limits.ts";
import { leaveOut, objectOption } from "./object-option.ts";
import type { OptionMaker } from "./option-maker.ts";
import { own, type Place, type Variant } from "./place.ts";
import type { Choice, NumberOption, Option, Shape, StringOption } from "./shape.ts";
import { type JsonType, typesOf, valuesOf } from "./types-of.ts";

/** The types that a variant allows, each with what applies to it. */
export function optionsOf(
  variant: Variant,
  maker: OptionMaker,
): Pick<Choice, "options" | "nullable" | "description"> | "anything" {
  const { places } = variant;
  const types = typesOf(places);
  const values = valuesOf(places, types);
  const hints = [...variant.hints, ...leaveOut(places, generalKeywords, maker.notes)];
  if (values === undefined && types === undefined && !places.some(isTelling)) return "anything";
  const typed: Variant = { ...variant, hints };
  const kinds = types ?? everyType;
  const options =
    values === undefined ? kinds.flatMap((type) => typedOption(type, typed, maker)) : listed(values, typed, maker);
  return {
    options,
    nullable: values === undefined ? kinds.includes("null") : values.includes(null),
    ...described(places),
  };
}

/** Keywords that apply to every type and that no provider takes everywhere. */
export const generalKeywords: readonly string[] = ["not", "if", "then", "else"];

const everyType: readonly JsonType[] = ["object", "array", "string", "number", "boolean", "null"];

/** True if something is said about one of the types. */
function isTelling({ schema }: Place): boolean {
  return telling.some((keyword) => own(schema, keyword) !== undefined);
}

const telling = [
  ...["properties", "required", "additionalProperties", "items", "prefixItems", "minItems", "maxItems"],
  ...["minLength", "maxLength", "pattern", "format"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
];

/** The last place is the branch; what comes before is said about the whole. */
function described(places: readonly Place[]): { readonly description?: string } {
  const last = places.length > 1 ? places.at(-1) : undefined;
  const description = last === undefined ? undefined : own(last.schema, "description");
  return typeof description === "string" ? { description } : {};
}

function typedOption(type: JsonType, variant: Variant, maker: OptionMaker): readonly Option[] {
  switch (type) {
    case "object":
      return [objectOption(variant, maker) ?? []].flat();
    case "array":
      return [arrayOption(variant, maker)];
    case "string":
      return [stringOption(variant, maker)];
    case "number":
    case "integer":
      return [numberOption(type, variant, maker)];
    case "boolean":
      return [{ kind: "boolean", ...placed(variant) }];
    case "null":
      return [];
  }
}

function placed({ places, hints }: Variant): { readonly at: string; readonly hints: readonly string[] } {
  return { at: places.at(-1)?.at ?? "", hints };
}

function stringOption(variant: Variant, { notes }: OptionMaker): StringOption {
  const { places } = variant;
  return {
    kind: "string",
    ...placed(variant),
    ...greatest(places, "minLength"),
    ...least(places, "maxLength"),
    ...first<"pattern", string>(places, "pattern", notes),
    ...first<"format", string>(places, "format", notes),
  };
}

function numberOption(kind: "number" | "integer", variant: Variant, { notes }: OptionMaker): NumberOption {
  const { places } = variant;
  return {
    kind,
    ...placed(variant),
    ...greatest(places, "minimum"),
    ...least(places, "maximum"),
    ...greatest(places, "exclusiveMinimum"),
    ...least(places, "exclusiveMaximum"),
    ...first<"multipleOf", number>(places, "multipleOf", notes),
  };
}

/** Options for a list of values. Objects and arrays in it cannot be listed; their type is all that is said. */
function listed(values: readonly Json[], variant: Variant, maker: OptionMaker): readonly Option[] {
  const at = placed(variant);
  const strings = values.filter((value) => typeof value === "string");
  const numbers = values.filter((value) => typeof value === "number");
  const booleans = values.filter((value) => typeof value === "boolean");
  const containers = values.filter((value) => typeof value === "object" && value !== null);
  const isWhole = numbers.every((value) => Number.isInteger(value));
  if (containers.length > 0) maker.notes.add(at.at, "enum", "left out: it lists objects or arrays");
  return [
    ...(strings.length > 0 ? [{ kind: "string" as const, ...at, values: strings }] : []),
    ...(numbers.length > 0
      ? [{ kind: isWhole ? ("integer" as const) : ("number" as const), ...at, values: numbers }]
      : []),
    ...(booleans.length === 0
      ? []
      : [{ kind: "boolean" as const, ...at, ...(booleans.length < 2 && { values: booleans }) }]),
    ...(containers.some((value) => !Array.isArray(value)) ? [objectOf(variant, values)] : []),
    ...(containers.some((value) => Array.isArray(value)) ? [arrayOf(variant, values)] : []),
  ];
}

function objectOf({ places, hints }: Variant, values: readonly Json[]): Option {
  const at = places.at(-1)?.at ?? "";
  return {
    kind: "object",
    at,
    hints: [...hints, ...listHint(values)],
    properties: new Map(),
    further: "some",
    undeclared: [],
  };
}

function arrayOf({ places, hints }: Variant, values: readonly Json[]): Option {
  const at = places.at(-1)?.at ?? "";
  const items: Shape = { kind: "anything", at, hints: [] };
  return { kind: "array", at, hints: [...hints, ...listHint(values)], prefix: [], items };
}

function listHint(values: readonly Json[]): readonly string[] {
  const text = `one of ${JSON.stringify(values)}`;
  return text.length > 200 ? [] : [text];
}
