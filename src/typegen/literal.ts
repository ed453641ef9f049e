import type { Json } from "../json/json.ts";
import { entries } from "../schema/entries.ts";
import { beyond, type Type, word } from "./type-tree.ts";
import { withoutTricks } from "./visible.ts";

const maxDepth = 16;
const maxLength = 1_000;

/** The type of exactly this value. What is too long for a literal is any of its kind. */
export function literalType(value: Json, depth = 0): Type {
  switch (typeof value) {
    case "string":
      return value.length > maxLength ? word("string") : { kind: "literal", text: quote(value), of: "string" };
    case "number":
      return Number.isFinite(value) ? { kind: "literal", text: String(value), of: "number" } : word("number");
    case "boolean":
      return { kind: "literal", text: String(value), of: "boolean" };
    default:
      return value === null ? word("null") : structure(value, depth + 1);
  }
}

/** Values in a schema are what `as const` makes of them. */
function structure(value: Json, depth: number): Type {
  if (depth > maxDepth) return beyond(`nested deeper than ${maxDepth} levels`);
  const members = entries(value).map(([name, member]) => ({
    name,
    type: literalType(member, depth),
    isReadonly: true,
  }));
  if (!Array.isArray(value)) return { kind: "object", members };
  return { kind: "tuple", items: members.map(({ type }) => type), required: members.length, isReadonly: true };
}

/** How many values there are in a value, itself included. */
export function sizeOf(value: Json, depth = 0): number {
  if (depth > maxDepth) return 1;
  return entries(value).reduce((sum, [, member]) => sum + sizeOf(member, depth + 1), 1);
}

/** The name of a member, in quotes when it needs them. */
export function memberName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name);
}

/** A text as a string of the language. */
export function quote(text: string): string {
  return withoutTricks(JSON.stringify(text));
}
