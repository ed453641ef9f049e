import { isObject, type Json } from "../json/json.ts";
import { entries } from "./entries.ts";
import { token } from "./pointer.ts";

/** A keyword that takes part in checking. All others are annotations and may hold anything. */
export interface Keyword {
  /** What its value must be, in words. */
  readonly expected: string;
  /** Whether its value is that. Subschemas in it are looked at on their own. */
  fits(value: Json): boolean;
  /** The subschemas in its value, and where they are in it. */
  subschemas(value: Json): readonly Subschema[];
  /** True if the subschemas apply to the value that the schema applies to, not to a part of it. */
  readonly inPlace: boolean;
}

export type Subschema = readonly [at: string, schema: Json];

const isString = (value: Json): boolean => typeof value === "string";
const isStrings = (value: Json): boolean => Array.isArray(value) && value.every(isString);
const isFilled = (value: Json): boolean => Array.isArray(value) && value.length > 0;
const isCount = (value: Json): boolean => Number.isInteger(value) && Number(value) >= 0;
const isType = (value: Json): boolean => isString(value) && typeNames.includes(String(value));
const typeNames = ["string", "number", "integer", "boolean", "null", "array", "object"];

const single = (value: Json): readonly Subschema[] => [["", value]];
const several = (value: Json): readonly Subschema[] => entries(value).map(([key, item]) => [token(key), item]);

const number = plain("a number", (value) => typeof value === "number");
const count = plain("a non-negative integer", isCount);
const boolean = plain("a boolean", (value) => typeof value === "boolean");
const string = plain("a string", isString);
const strings = plain("an array of strings", isStrings);
const stringLists = plain("an object of arrays of strings", (value) => every(value, isStrings));
const schema: Keyword = { expected: "a schema", fits: () => true, subschemas: single, inPlace: false };
const schemaMap: Keyword = { expected: "an object of schemas", fits: isObject, subschemas: several, inPlace: false };
const schemaList: Keyword = {
  expected: "a non-empty array of schemas",
  fits: isFilled,
  subschemas: several,
  inPlace: false,
};

/** The keywords of JSON Schema 2020-12, and those of draft 7 that it renamed. */
export const vocabulary: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  ["$schema", string],
  ["$id", string],
  ["$ref", string],
  ["$dynamicRef", string],
  ["$anchor", string],
  ["$dynamicAnchor", string],
  ["$defs", schemaMap],
  ["definitions", schemaMap],
  ["type", plain(`one of ${typeNames.join(", ")}, or an array of them`, isTypes)],
  ["enum", plain("an array", Array.isArray)],
  ["const", plain("JSON", () => true)],
  ["multipleOf", plain("a number greater than 0", (value) => typeof value === "number" && value > 0)],
  ["maximum", number],
  ["exclusiveMaximum", number],
  ["minimum", number],
  ["exclusiveMinimum", number],
  ["maxLength", count],
  ["minLength", count],
  ["pattern", string],
  ["format", string],
  ["prefixItems", schemaList],
  ["items", { ...schema, subschemas: (value) => (Array.isArray(value) ? several(value) : single(value)) }],
  ["additionalItems", schema],
  ["unevaluatedItems", schema],
  ["contains", schema],
  ["maxContains", count],
  ["minContains", count],
  ["maxItems", count],
  ["minItems", count],
  ["uniqueItems", boolean],
  ["properties", schemaMap],
  ["patternProperties", schemaMap],
  ["additionalProperties", schema],
  ["unevaluatedProperties", schema],
  ["propertyNames", schema],
  ["maxProperties", count],
  ["minProperties", count],
  ["required", strings],
  ["dependentRequired", stringLists],
  ["dependentSchemas", { ...schemaMap, inPlace: true }],
  ["dependencies", { ...schemaMap, subschemas: withoutLists, inPlace: true }],
  ["allOf", { ...schemaList, inPlace: true }],
  ["anyOf", { ...schemaList, inPlace: true }],
  ["oneOf", { ...schemaList, inPlace: true }],
  ["not", { ...schema, inPlace: true }],
  ["if", { ...schema, inPlace: true }],
  ["then", { ...schema, inPlace: true }],
  ["else", { ...schema, inPlace: true }],
]);

/** True for the keywords that apply a schema from elsewhere in the document. */
export function isReference(keyword: string): boolean {
  return keyword === "$ref" || keyword === "$dynamicRef";
}

/**
 * Properties and their schemas, flat ones first. A branch of a recursive union is
 * then refused by its tag, before its children are looked at.
 */
export function flatFirst(properties: Json): readonly (readonly [string, Json])[] {
  return entries(properties).toSorted(([, a], [, b]) => Number(isFlat(b)) - Number(isFlat(a)));
}

function isFlat(schema: Json): boolean {
  return entries(schema).every(
    ([name, value]) => !isReference(name) && !vocabulary.get(name)?.subschemas(value).length,
  );
}

function plain(expected: string, fits: (value: Json) => boolean): Keyword {
  return { expected, fits, subschemas: () => [], inPlace: false };
}

function isTypes(value: Json): boolean {
  return isType(value) || (isFilled(value) && Array.isArray(value) && value.every(isType));
}

function withoutLists(value: Json): readonly Subschema[] {
  return several(value).filter(([, dependency]) => !isStrings(dependency));
}

function every(value: Json, test: (member: Json) => boolean): boolean {
  return isObject(value) && entries(value).every(([, member]) => test(member));
}
