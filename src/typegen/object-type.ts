import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { entries } from "../schema/entries.ts";
import { union } from "./combine.ts";
import { inside, isComposed, type Place, type Reading, tooLarge } from "./reading.ts";
import { docOf } from "./schema-doc.ts";
import { anyObject, isUnknown, type Member, type Type, word } from "./type-tree.ts";

/** The type of objects that a schema describes. Members that it does not name are told only where it speaks of them. */
export function objectType(schema: JsonObject, reading: Reading, place: Place): Type {
  const named = namedMembers(schema, place);
  const others = otherMembers(schema);
  if (!reading.spend(cost(named) + others.length)) return tooLarge;
  const within = inside(place);
  const read = (member: Json): Type => reading.read(member, within);
  const members = named.map((member) => ({
    name: member.name,
    type: memberType(member, reading, place),
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
function memberType({ name, schema, isOptional }: NamedMember, reading: Reading, place: Place): Type {
  const type = reading.read(schema, inside(place));
  if (isOptional || !isUnknown(type)) return type;
  const told = place.around.map((outer) => reading.property(outer, name)).find((found) => found !== undefined);
  return told === undefined ? type : reading.read(told, inside(place));
}

interface NamedMember {
  readonly name: string;
  readonly schema: Json;
  readonly isOptional: boolean;
}

function namedMembers(schema: JsonObject, { around }: Place): readonly NamedMember[] {
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
