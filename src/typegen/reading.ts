import type { Json, JsonObject } from "../json/json.ts";
import { beyond, type Type } from "./type-tree.ts";

/** What the types of one schema are made with. */
export interface Reading {
  readonly maxDepth: number;
  /** The type of what a schema describes that is somewhere in this one. */
  read(schema: Json | undefined, place: Place): Type;
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
export interface Place {
  readonly depth: number;
  /** In a branch of `allOf`, `anyOf` or `oneOf`, which says only what is new: the schemas that it belongs to. */
  readonly around: readonly JsonObject[];
}

export const top: Place = { depth: 0, around: [] };

/** Where something is read that is in the value: a member, or an item. */
export function inside({ depth }: Place): Place {
  return { depth: depth + 1, around: [] };
}

/** What is more than a schema may have. */
export const tooLarge: Type = beyond("too large");

/** True when others have a say in what a schema describes. */
export function isComposed({ $ref, $dynamicRef, allOf, anyOf, oneOf }: JsonObject): boolean {
  return [$ref, $dynamicRef, allOf, anyOf, oneOf].some((keyword) => keyword !== undefined);
}
