import { isObject, type Json } from "./json.ts";

/** About how many bytes a value takes in memory. A long text costs no more to weigh than a short one. */
export function weightOf(value: Json): number {
  let weight = 0;
  const rest: Json[] = [value];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    weight += VALUE_BYTES;
    if (typeof next === "string") {
      weight += next.length;
    } else if (Array.isArray(next)) {
      for (const item of next) rest.push(item);
    } else if (isObject(next)) {
      for (const name in next) {
        weight += name.length;
        rest.push(next[name] as Json);
      }
    }
  }
  return weight;
}

/** Of an object without members, or of a number and the place it stands in. */
const VALUE_BYTES = 24;
