import { isObject, type Json } from "../json/json.ts";
import { entries } from "../schema/entries.ts";
import { referencesOf, type SchemaDocument } from "./document.ts";

/** What one definition may be made of, to be compared with others. A value counts as one, a long text as more. */
const maxCost = 2_000;

/** What all definitions of a schema may be made of. */
const maxTotalCost = 50_000;

/**
 * Tells definitions of one schema from those of others: the same text for the
 * same definition, which is what it says and all that it refers to. None where
 * that is too much to compare.
 */
export function createIdentities(document: SchemaDocument): (reference: string) => string | undefined {
  let total = maxTotalCost;

  return (reference) => {
    const reached = new Map<string, Json | undefined>([[reference, document.resolve(reference)]]);
    const tally: Tally = {
      left: Math.min(maxCost, total),
      refer: (next) => reached.set(next, document.resolve(next)),
    };
    total -= tally.left;
    for (const [, schema] of reached) if (schema !== undefined) visit(schema, tally);
    total += Math.max(0, tally.left);
    return tally.left < 0 ? undefined : JSON.stringify([...reached]);
  };
}

interface Tally {
  left: number;
  refer(reference: string): void;
}

function visit(value: Json, tally: Tally): void {
  tally.left -= 1 + (typeof value === "string" ? value.length / 16 : 0);
  if (isObject(value)) for (const reference of referencesOf(value)) tally.refer(reference);
  for (const [name, member] of entries(value)) {
    tally.left -= name.length / 16;
    if (tally.left < 0) return;
    visit(member, tally);
  }
}
