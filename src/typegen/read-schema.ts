import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { own, referenceKeys } from "../schema/json-pointer.ts";
import { entries } from "../schema/vocabulary.ts";
import { beyond, type Type } from "./type-tree.ts";

/** One schema with everything its references lead to. */
export interface SchemaDocument {
  /** What a reference leads to. Undefined when that is not in this schema. */
  resolve(reference: string): Json | undefined;
  /** What a schema says of a member by its name: itself, or another that must hold, too. */
  property(schema: JsonObject, name: string): Json | undefined;
  /** True when the same value would come to it over and over, or to too many others. */
  isEndless(reference: string): boolean;
  /** How many pairs, triples and so on the compiler has to form, where a schema joins several unions. */
  combinations(schema: JsonObject): number;
}

/** Schemas that a reference leads to for one and the same value. */
const maxReach = 500;

/** The same, in a row. */
const maxChain = 64;

/** The same, where a member is looked for. */
const maxJoined = 100;

export function createDocument(root: Json): SchemaDocument {
  const resolved = new Map<string, Json | undefined>();
  const applied = new Map<Json, readonly string[]>();
  const endless = new Map<string, boolean>();
  const breadths = new Map<Json, number>();
  let anchors: ReadonlyMap<string, Json> | undefined;

  const find = (reference: string): Json | undefined => {
    if (reference === "#" || reference.startsWith("#/"))
      return referenceKeys(reference).reduce<Json | undefined>(own, root);
    anchors ??= anchorsOf(root);
    return anchors.get(reference);
  };

  const resolve = (reference: string): Json | undefined => {
    if (!resolved.has(reference)) resolved.set(reference, find(reference));
    return resolved.get(reference);
  };

  /** References of the schema that a reference leads to, for the same value. */
  const followed = (reference: string): readonly string[] => {
    const target = resolve(reference) ?? true;
    const known = applied.get(target) ?? appliedReferences(target);
    applied.set(target, known);
    return known;
  };

  const findEnd = (reference: string): boolean => {
    const reached = new Set(followed(reference));
    for (const other of reached) {
      if (reached.has(reference) || reached.size > maxReach) return false;
      for (const further of followed(other)) reached.add(further);
    }
    return !reached.has(reference);
  };

  /** How many cases a schema comes to when it is written as one union. */
  const breadth = (schema: Json, depth: number): number => {
    if (!isObject(schema)) return 1;
    if (depth > maxChain) return Number.POSITIVE_INFINITY;
    const known = breadths.get(schema);
    if (known !== undefined) return known;
    // Counts as one until it is known: what leads to itself is cut there.
    breadths.set(schema, 1);
    const total = product(factors(schema, depth));
    breadths.set(schema, total);
    return total;
  };

  const factors = (schema: JsonObject, depth: number): readonly number[] => {
    const { type, enum: values } = schema;
    const own = [values, type].find((list) => Array.isArray(list)) ?? [];
    const sums = parts(schema).map((branches) => branches.reduce<number>((sum, part) => sum + width(part, depth), 0));
    return [own.length, ...sums].filter((count) => count > 1);
  };

  const width = (part: Json, depth: number): number => {
    const target = typeof part === "string" ? resolve(part) : part;
    return target === undefined ? 1 : breadth(target, depth + 1);
  };

  const property = (schema: JsonObject, name: string): Json | undefined => {
    const joined = new Set<Json>([schema]);
    for (const one of joined) {
      if (!isObject(one)) continue;
      const found = own(one.properties, name);
      if (found !== undefined) return found;
      const others = [...referencesOf(one).map((reference) => resolve(reference) ?? true), ...listOf(one.allOf)];
      for (const other of others.slice(0, Math.max(0, maxJoined - joined.size))) joined.add(other);
    }
    return undefined;
  };

  return {
    resolve,
    property,
    isEndless(reference) {
      const known = endless.get(reference) ?? !findEnd(reference);
      endless.set(reference, known);
      return known;
    },
    combinations(schema) {
      const several = factors(schema, 0);
      return several.length < 2 ? 1 : product(several);
    },
  };
}

function product(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total * number, 1);
}

/** Every reference that a schema has for the value itself, not for what is in it. */
export function referencesOf(schema: JsonObject): readonly string[] {
  return [schema.$ref, schema.$dynamicRef].filter((reference) => typeof reference === "string");
}

/** What applies to the value itself: each of these must hold, by one of its branches. References are texts. */
function parts(schema: JsonObject): readonly (readonly Json[])[] {
  const { allOf, anyOf, oneOf } = schema;
  const all = listOf(allOf).map((part) => [part]);
  const some = [listOf(anyOf), listOf(oneOf)].filter((branches) => branches.length > 0);
  return [...referencesOf(schema).map((reference) => [reference]), ...all, ...some];
}

function listOf(branches: Json | undefined): readonly Json[] {
  return Array.isArray(branches) ? branches.filter((branch) => typeof branch !== "string") : [];
}

function appliedReferences(schema: Json, depth = 0): readonly string[] {
  if (!isObject(schema) || depth > maxChain) return [];
  return parts(schema)
    .flat()
    .flatMap((part) => (typeof part === "string" ? [part] : appliedReferences(part, depth + 1)));
}

/** Schemas with a name of their own, by the reference to it. The first of a name has it. */
function anchorsOf(schema: Json, found = new Map<string, Json>(), depth = 0): ReadonlyMap<string, Json> {
  if (isObject(schema)) {
    const { $anchor, $dynamicAnchor, $id } = schema;
    // Draft 7 writes a name as `$id: "#name"`.
    const names = [$anchor, $dynamicAnchor].filter((name) => typeof name === "string").map((name) => `#${name}`);
    for (const name of [...names, $id]) if (typeof name === "string" && !found.has(name)) found.set(name, schema);
  }
  if (depth > maxAnchorDepth) return found;
  for (const [, member] of entries(schema)) anchorsOf(member, found, depth + 1);
  return found;
}

const maxAnchorDepth = 192;

/** What the types of one schema are made with. */
export interface TypeReader {
  readonly maxDepth: number;
  /** The type of what a schema describes that is somewhere in this one. */
  read(schema: Json | undefined, nesting: Nesting): Type;
  /** The type that a reference leads to. */
  refer(reference: string): Type;
  /** What a schema says of a member by its name: itself, or another that must hold, too. */
  property(schema: JsonObject, name: string): Json | undefined;
  /** How many pairs, triples and so on the compiler has to form, where a schema joins several unions. */
  combinations(schema: JsonObject): number;
  /** Takes as many subschemas or values from what one schema may have. False when so many are not left. */
  spend(count: number): boolean;
}

/** Where in a schema something is read. */
export interface Nesting {
  readonly depth: number;
  /** In a branch of `allOf`, `anyOf` or `oneOf`, which says only what is new: the schemas that it belongs to. */
  readonly around: readonly JsonObject[];
}

export const top: Nesting = { depth: 0, around: [] };

/** Where something is read that is in the value: a member, or an item. */
export function inside({ depth }: Nesting): Nesting {
  return { depth: depth + 1, around: [] };
}

/** What is more than a schema may have. */
export const tooLarge: Type = beyond("too large");

/** True when others have a say in what a schema describes. */
export function isComposed({ $ref, $dynamicRef, allOf, anyOf, oneOf }: JsonObject): boolean {
  return [$ref, $dynamicRef, allOf, anyOf, oneOf].some((keyword) => keyword !== undefined);
}
