import { isObject, type Json } from "../json/json.ts";

/** A keyword that takes part in checking. All others are annotations and may have any value. */
interface Keyword {
  /** The requirement on the value of the keyword, for messages. */
  readonly expected: string;
  /** Whether a value meets the requirement. Subschemas are inspected separately. */
  fits(value: Json, draft: number): boolean;
  /** The subschemas in the value of the keyword, each with its JSON Pointer relative to the value. */
  subschemas(value: Json): readonly Subschema[];
  /** True if the subschemas apply to the value that the schema applies to, not to a part of it. */
  readonly inPlace: boolean;
}

type Subschema = readonly [at: string, schema: Json];

const isString = (value: Json): boolean => typeof value === "string";
const isStrings = (value: Json): boolean => Array.isArray(value) && value.every(isString);
const isFilled = (value: Json): boolean => Array.isArray(value) && value.length > 0;
const isCount = (value: Json): boolean => Number.isInteger(value) && Number(value) >= 0;
const isType = (value: Json): boolean => isString(value) && typeNames.includes(String(value));
const typeNames = ["string", "number", "integer", "boolean", "null", "array", "object"];

const single = (value: Json): readonly Subschema[] => [["", value]];
const several = (value: Json): readonly Subschema[] => entries(value).map(([key, item]) => [token(key), item]);

const isNumber = (value: Json): boolean => typeof value === "number";

const number = plain("a number", isNumber);
/** A number; in draft 4 a boolean that makes `minimum` or `maximum` exclusive. */
const exclusive = plain("a number, or a boolean in draft 4", (value, draft) =>
  draft === 4 ? typeof value === "boolean" : isNumber(value),
);
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

/** The keywords of JSON Schema 2020-12, and those of older drafts. */
export const vocabulary: ReadonlyMap<string, Keyword> = new Map<string, Keyword>([
  ["$schema", string],
  ["$id", string],
  ["id", plain("a string", (value, draft) => draft > 4 || isString(value))],
  ["$ref", string],
  ["$dynamicRef", string],
  ["$recursiveRef", string],
  ["$anchor", string],
  ["$dynamicAnchor", string],
  ["$recursiveAnchor", boolean],
  ["$defs", schemaMap],
  ["definitions", schemaMap],
  ["type", plain(`one of ${typeNames.join(", ")}, or an array of them`, isTypes)],
  ["enum", plain("an array", Array.isArray)],
  ["const", plain("JSON", () => true)],
  ["multipleOf", plain("a number greater than 0", (value) => isNumber(value) && Number(value) > 0)],
  ["maximum", number],
  ["exclusiveMaximum", exclusive],
  ["minimum", number],
  ["exclusiveMinimum", exclusive],
  ["maxLength", count],
  ["minLength", count],
  ["pattern", string],
  ["format", string],
  ["prefixItems", schemaList],
  [
    "items",
    {
      ...schema,
      expected: "a schema; use prefixItems for a tuple",
      fits: (value, draft) => draft < 2020 || !Array.isArray(value),
      subschemas: (value) => (Array.isArray(value) ? several(value) : single(value)),
    },
  ],
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

/**
 * Keyword of the normal form for a `$dynamicRef` with several possible targets. Its value maps the base URI of each
 * resource that defines the anchor to a reference, and `""` to the reference for a scope without such a resource.
 */
export const dynamicReference = "~dynamicRef";

/** Keyword of the normal form for the base URI of the resource of a schema. Present only with dynamic references. */
export const resourceName = "~resource";

/** True for the keywords whose value is a reference to a schema. */
export function isReference(keyword: string): boolean {
  return keyword === "$ref" || keyword === "$dynamicRef" || keyword === "$recursiveRef";
}

function plain(expected: string, fits: Keyword["fits"]): Keyword {
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

/** The members of a JSON object, or the items of an array by index, without `undefined` values. Empty for a scalar. */
export function entries(value: Json | undefined): readonly (readonly [string, Json])[] {
  if (typeof value !== "object" || value === null) return [];
  const found = Object.entries<Json | undefined>(value);
  // Members are rarely undefined, so the copy by `filter` is usually avoided.
  return (found.some(isAbsent) ? found.filter((entry) => !isAbsent(entry)) : found) as [string, Json][];
}

function isAbsent([, member]: readonly [string, Json | undefined]): boolean {
  return member === undefined;
}

/** One reference token of a JSON Pointer (RFC 6901), escaped and with its slash. */
export function token(key: PropertyKey): string {
  const text = String(key);
  return /[~/]/.test(text) ? `/${text.replaceAll("~", "~0").replaceAll("/", "~1")}` : `/${text}`;
}
