import { isObject, type Json } from "./json.ts";

/** Estimates the memory that a value takes, in bytes. The cost does not depend on the length of its strings. */
export function weightOf(value: Json): number {
  let weight = 0;
  const pending: Json[] = [value];
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    weight += VALUE_BYTES;
    if (typeof current === "string") {
      weight += current.length;
    } else if (Array.isArray(current)) {
      for (const item of current) pending.push(item);
    } else if (isObject(current)) {
      for (const name in current) {
        weight += name.length;
        pending.push(current[name] as Json);
      }
    }
  }
  return weight;
}

/** Bytes for an empty object, or for a number together with the slot that holds it. */
const VALUE_BYTES = 24;
