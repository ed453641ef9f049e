import type { Json } from "../json/json.ts";

/** The members of a JSON object, or the items of an array by their index. Nothing for a scalar. */
export function entries(value: Json | undefined): readonly (readonly [string, Json])[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries<Json | undefined>(value).flatMap(([key, member]) =>
    member === undefined ? [] : [[key, member]],
  );
}
