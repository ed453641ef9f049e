import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { arrayType } from "./array-type.ts";
import { intersect, union } from "./combine.ts";
import { referencesOf } from "./document.ts";
import { literalType, sizeOf } from "./literal.ts";
import { objectType } from "./object-type.ts";
import { isComposed, type Place, type Reading, tooLarge } from "./reading.ts";
import { beyond, never, type Scalar, type Type, unknown, word } from "./type-tree.ts";

/** The compiler gives up at ten times as many. */
const maxCombinations = 10_000;

/**
 * The type of what a JSON Schema describes. It is what `InferIn` infers from the
 * schema as a literal, and more exact where that cannot tell.
 *
 * Nothing in a schema is an error: what makes no sense is `unknown`.
 */
export function toType(schema: Json | undefined, reading: Reading, place: Place): Type {
  if (schema === false) return never;
  if (!isObject(schema)) return unknown;
  if (place.depth > reading.maxDepth) return beyond(`nested deeper than ${reading.maxDepth} levels`);
  const type = described(schema, reading, place);
  return schema.nullable === true ? union([type, word("null")]) : type;
}

function described(schema: JsonObject, reading: Reading, place: Place): Type {
  const { const: value, enum: values, not } = schema;
  if (value !== undefined) return choice([value], reading);
  if (Array.isArray(values)) return choice(values, reading);
  if (not === true || (isObject(not) && Object.keys(not).length === 0)) return never;
  if (!isComposed(schema)) return ownType(schema, reading, place);
  if (reading.combinations(schema) > maxCombinations) return beyond("has too many combinations");
  const branch = { depth: place.depth + 1, around: [schema, ...place.around] };
  const read = (part: Json): Type => reading.read(part, branch);
  const parts = branchesOf(schema);
  if (!reading.spend(parts.flat().length)) return tooLarge;
  return intersect([
    ownType(schema, reading, place),
    ...referencesOf(schema).map(reading.refer),
    ...parts.map((branches) => union(branches.map(read))),
  ]);
}

function choice(values: readonly Json[], { spend }: Reading): Type {
  const size = values.reduce<number>((sum, value) => sum + sizeOf(value), 0);
  return spend(size) ? union(values.map((value) => literalType(value))) : tooLarge;
}

/** Branches of which one must hold, and that for each list. */
function branchesOf({ allOf, anyOf, oneOf }: JsonObject): readonly (readonly Json[])[] {
  const all: readonly (readonly Json[])[] = Array.isArray(allOf) ? allOf.map((part: Json) => [part]) : [];
  return [...all, ...[anyOf, oneOf].filter((branches): branches is readonly Json[] => Array.isArray(branches))];
}

/** What a schema says without its branches. */
function ownType(schema: JsonObject, reading: Reading, place: Place): Type {
  const { type = impliedType(schema) } = schema;
  if (type === undefined) return unknown;
  const names: readonly Json[] = Array.isArray(type) ? type : [type];
  return union(names.map((name) => ofType(schema, name, reading, place)));
}

function ofType(schema: JsonObject, name: Json, reading: Reading, place: Place): Type {
  if (name === "object") return objectType(schema, reading, place);
  if (name === "array") return arrayType(schema, reading, place);
  const scalar = scalars.get(name);
  return scalar === undefined ? unknown : word(scalar);
}

const scalars: ReadonlyMap<Json, Scalar> = new Map<Json, Scalar>([
  ["string", "string"],
  ["number", "number"],
  ["integer", "number"],
  ["boolean", "boolean"],
  ["null", "null"],
]);

/** What is meant by a schema that has keywords of one type only, and forgets to name it. */
function impliedType(schema: JsonObject): "object" | "array" | undefined {
  const { properties, patternProperties, required, additionalProperties, items, prefixItems } = schema;
  const isClosing = additionalProperties === false || additionalProperties === true;
  const forObject = [properties, patternProperties, required, isClosing ? undefined : additionalProperties];
  const isObjectLike = forObject.some((keyword) => keyword !== undefined);
  const isArrayLike = items !== undefined || prefixItems !== undefined;
  if (isObjectLike === isArrayLike) return undefined;
  return isObjectLike ? "object" : "array";
}
