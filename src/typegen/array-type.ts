import type { Json, JsonObject } from "../json/json.ts";
import { inside, type Place, type Reading, tooLarge } from "./reading.ts";
import { type Type, unknown } from "./type-tree.ts";

/** The type of arrays that a schema describes: a list, or a tuple where items are told by their place. */
export function arrayType(schema: JsonObject, reading: Reading, place: Place): Type {
  const { prefix, items } = itemsOf(schema);
  const within = inside(place);
  const read = (item: Json | undefined): Type => reading.read(item, within);
  if (!reading.spend((prefix?.length ?? 0) + 1)) return tooLarge;
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
