import type { Json } from "../json/json.ts";
import { entries, isReference, vocabulary } from "./vocabulary.ts";

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
