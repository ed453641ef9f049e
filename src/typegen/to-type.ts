import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { entries } from "../schema/vocabulary.ts";
import { inside, isComposed, type Nesting, referencesOf, type TypeReader, tooLarge } from "./read-schema.ts";
import { docOf, literalType, sizeOf, typeText } from "./type-text.ts";
import {
  anyObject,
  beyond,
  isAnyObject,
  isUnknown,
  type Member,
  never,
  type Scalar,
  type Type,
  unknown,
  word,
} from "./type-tree.ts";

/** The compiler gives up at ten times as many. */
const maxCombinations = 10_000;

/**
 * The type of what a JSON Schema describes. It is what `InferIn` infers from the
 * schema as a literal, and more exact where that cannot tell.
 *
 * Nothing in a schema is an error: what makes no sense is `unknown`.
 */
export function toType(schema: Json | undefined, reader: TypeReader, nesting: Nesting): Type {
  if (schema === false) return never;
  if (!isObject(schema)) return unknown;
  if (nesting.depth > reader.maxDepth) return beyond(`nested deeper than ${reader.maxDepth} levels`);
  const type = described(schema, reader, nesting);
  return schema.nullable === true ? union([type, word("null")]) : type;
}

function described(schema: JsonObject, reader: TypeReader, nesting: Nesting): Type {
  const { const: value, enum: values, not } = schema;
  if (value !== undefined) return choice([value], reader);
  if (Array.isArray(values)) return choice(values, reader);
  if (not === true || (isObject(not) && Object.keys(not).length === 0)) return never;
  if (!isComposed(schema)) return ownType(schema, reader, nesting);
  if (reader.combinations(schema) > maxCombinations) return beyond("has too many combinations");
  const branch = { depth: nesting.depth + 1, around: [schema, ...nesting.around] };
  const read = (part: Json): Type => reader.read(part, branch);
  const parts = branchesOf(schema);
  if (!reader.spend(parts.flat().length)) return tooLarge;
  return intersect([
    ownType(schema, reader, nesting),
    ...referencesOf(schema).map(reader.refer),
    ...parts.map((branches) => union(branches.map(read))),
  ]);
}

function choice(values: readonly Json[], { spend }: TypeReader): Type {
  const size = values.reduce<number>((sum, value) => sum + sizeOf(value), 0);
  return spend(size) ? union(values.map((value) => literalType(value))) : tooLarge;
}

/** Branches of which one must hold, and that for each list. */
function branchesOf({ allOf, anyOf, oneOf }: JsonObject): readonly (readonly Json[])[] {
  const all: readonly (readonly Json[])[] = Array.isArray(allOf) ? allOf.map((part: Json) => [part]) : [];
  return [...all, ...[anyOf, oneOf].filter((branches): branches is readonly Json[] => Array.isArray(branches))];
}

/** What a schema says without its branches. */
function ownType(schema: JsonObject, reader: TypeReader, nesting: Nesting): Type {
  const { type = impliedType(schema) } = schema;
  if (type === undefined) return unknown;
  const names: readonly Json[] = Array.isArray(type) ? type : [type];
  return union(names.map((name) => ofType(schema, name, reader, nesting)));
}

function ofType(schema: JsonObject, name: Json, reader: TypeReader, nesting: Nesting): Type {
  if (name === "object") return objectType(schema, reader, nesting);
  if (name === "array") return arrayType(schema, reader, nesting);
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

/** The type of arrays that a schema describes: a list, or a tuple where items are told by their place. */
function arrayType(schema: JsonObject, reader: TypeReader, nesting: Nesting): Type {
  const { prefix, items } = itemsOf(schema);
  const within = inside(nesting);
  const read = (item: Json | undefined): Type => reader.read(item, within);
  if (!reader.spend((prefix?.length ?? 0) + 1)) return tooLarge;
  if (prefix === undefined) return { kind: "array", item: items === undefined ? unknown : read(items) };
  const { minItems, maxItems } = schema;
  const listed = typeof maxItems === "number" ? prefix.slice(0, Math.max(0, maxItems)) : prefix;
  const isClosed = items === undefined || items === false || listed.length === maxItems;
  return {
    kind: "tuple",
    items: listed.map(read),
    // Who lists the items means all of them, unless a number says otherwise.
    required: typeof minItems === "number" ? Math.min(minItems, listed.length) : listed.length,
    rest: isClosed ? undefined : read(items),
  };
}

interface Items {
  readonly prefix?: readonly Json[];
  readonly items?: Json | undefined;
}

/** Draft 7 lists the items of a tuple in `items`. */
function itemsOf({ prefixItems, items, additionalItems }: JsonObject): Items {
  if (Array.isArray(prefixItems)) return { prefix: prefixItems, items };
  return Array.isArray(items) ? { prefix: items, items: additionalItems } : { items };
}

/** The type of objects that a schema describes. Members that it does not name are told only where it speaks of them. */
function objectType(schema: JsonObject, reader: TypeReader, nesting: Nesting): Type {
  const named = namedMembers(schema, nesting);
  const others = otherMembers(schema);
  if (!reader.spend(cost(named) + others.length)) return tooLarge;
  const within = inside(nesting);
  const read = (member: Json): Type => reader.read(member, within);
  const members = named.map((member) => ({
    name: member.name,
    type: memberType(member, reader, nesting),
    isOptional: member.isOptional,
    doc: docOf(member.schema),
  }));
  if (isObject(schema.properties) || members.length > 0) {
    return { kind: "object", members, index: indexOf(members, others.map(read)) };
  }
  return others.length === 0 ? anyObject : { kind: "object", members, index: union(others.map(read)) };
}

/**
 * A branch may want a member that is described elsewhere. It is told again, since
 * `{ a?: string } & { a: unknown }` could still be without it.
 */
function memberType({ name, schema, isOptional }: NamedMember, reader: TypeReader, nesting: Nesting): Type {
  const type = reader.read(schema, inside(nesting));
  if (isOptional || !isUnknown(type)) return type;
  const told = nesting.around.map((outer) => reader.property(outer, name)).find((found) => found !== undefined);
  return told === undefined ? type : reader.read(told, inside(nesting));
}

interface NamedMember {
  readonly name: string;
  readonly schema: Json;
  readonly isOptional: boolean;
}

function namedMembers(schema: JsonObject, { around }: Nesting): readonly NamedMember[] {
  const { properties, required } = schema;
  const needed = new Set(Array.isArray(required) ? required.filter((name) => typeof name === "string") : []);
  const told = isObject(properties) ? entries(properties) : listedNames(schema);
  const names = new Set(told.map(([name]) => name));
  const asked = around.length > 0 ? [...needed].filter((name) => !names.has(name)) : [];
  return [
    ...told.map(([name, member]) => ({ name, schema: member, isOptional: !needed.has(name) })),
    ...asked.map((name) => ({ name, schema: true, isOptional: false })),
  ];
}

/** Members of an object whose names are listed, and which are all the same. */
function listedNames({ propertyNames, additionalProperties = true }: JsonObject): readonly (readonly [string, Json])[] {
  const names = isObject(propertyNames) ? propertyNames.enum : undefined;
  if (!Array.isArray(names) || !names.every((name) => typeof name === "string")) return [];
  return [...new Set(names)].map((name) => [name, additionalProperties]);
}

/** Schemas of the members without a name. None when nothing is said of them, or when there are none. */
function otherMembers(schema: JsonObject): readonly Json[] {
  const { additionalProperties: others, patternProperties, properties } = schema;
  const patterns = entries(patternProperties).map(([, member]) => member);
  const isShut = isObject(properties) || patterns.length > 0 || isComposed(schema) || listedNames(schema).length > 0;
  if (others === undefined || (isShut && others === false)) return patterns;
  return listedNames(schema).length > 0 ? patterns : [...patterns, others];
}

/** Members with a name have to fit among those without. */
function indexOf(members: readonly Member[], others: readonly Type[]): Type | undefined {
  if (others.length === 0) return undefined;
  const isPartial = members.some(({ isOptional }) => isOptional);
  return union([...others, ...members.map(({ type }) => type), ...(isPartial ? [word("undefined")] : [])]);
}

/** Long names count more, so that the text stays bounded, too. */
function cost(members: readonly NamedMember[]): number {
  return members.reduce((sum, { name }) => sum + 1 + Math.floor(name.length / 64), 0);
}

/** One of several. */
function union(types: readonly Type[]): Type {
  const flat = types.flatMap((type) => (type.kind === "union" ? type.of : [type]));
  if (flat.some(isUnknown)) return unknownOf(flat);
  const words = new Set(flat.flatMap((type) => (type.kind === "word" ? [type.text] : [])));
  const isNeeded = (type: Type): boolean => !isNever(type) && !(type.kind === "literal" && words.has(type.of));
  return joined("union", unique(flat.filter(isNeeded)), never);
}

/** All at once. */
function intersect(types: readonly Type[]): Type {
  const flat = types.flatMap((type) => (type.kind === "intersection" ? type.of : [type]));
  if (flat.some(isNever)) return never;
  const telling = unique(flat.filter((type) => !isUnknown(type)));
  const narrow = telling.filter((type) => !isAnyObject(type));
  const needed = narrow.length === 0 ? telling.slice(0, 1) : withoutScalar(narrow);
  return joined("intersection", needed, unknownOf(flat));
}

/** `string & ("a" | 1)` is `"a"`: the compiler knows, readers should not have to. */
function withoutScalar(types: readonly Type[]): readonly Type[] {
  const [first, second, ...more] = types;
  if (first === undefined || second === undefined || more.length > 0) return types;
  const [scalar, other] = first.kind === "word" ? [first, second] : [second, first];
  if (scalar.kind !== "word") return types;
  const choices = other.kind === "union" ? other.of : [other];
  if (!choices.every(({ kind }) => kind === "literal")) return types;
  return [union(choices.filter((choice) => choice.kind === "literal" && choice.of === scalar.text))];
}

function joined(kind: "union" | "intersection", of: readonly Type[], none: Type): Type {
  const [first, ...more] = of;
  if (first === undefined) return none;
  return more.length === 0 ? first : { kind, of };
}

/** The one that says why it is unknown. */
function unknownOf(types: readonly Type[]): Type {
  return types.find((type) => isUnknown(type) && type.kind === "word" && type.note !== undefined) ?? unknown;
}

function isNever(type: Type): boolean {
  return type.kind === "word" && type.text === "never";
}

function unique(types: readonly Type[]): readonly Type[] {
  return types.length < 2 ? types : [...new Map(types.map((type) => [typeText(type), type])).values()];
}
