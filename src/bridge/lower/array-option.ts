import { entries } from "../../schema/entries.ts";
import { token } from "../../schema/pointer.ts";
import { greatest, least } from "./limits.ts";
import { leaveOut } from "./object-option.ts";
import type { OptionMaker } from "./option-maker.ts";
import { own, type Place, placesOf, type Variant } from "./place.ts";
import type { ArrayOption, Shape } from "./shape.ts";

/** What a variant says about arrays. */
export function arrayOption(variant: Variant, maker: OptionMaker): ArrayOption {
  const { places } = variant;
  const hints = leaveOut(places, unsaid, maker.notes);
  const tuples = places.filter(({ schema }) => tupleOf(schema) !== undefined);
  const [tuple, ...others] = tuples;
  for (const { at } of others) maker.notes.add(at, "prefixItems", "left out: only one can be said");
  const at = places.at(-1)?.at ?? "";
  return {
    kind: "array",
    at,
    hints: [...variant.hints, ...hints],
    prefix: tuple === undefined ? [] : prefixOf(tuple, maker),
    items: itemsOf(tuple === undefined ? places : [tuple], at, maker),
    ...greatest(places, "minItems"),
    ...least(places, "maxItems"),
  };
}

const unsaid = ["uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems"];

/** Where the tuple of a schema is: draft 7 has it in `items`. */
function tupleOf(schema: Place["schema"]): "prefixItems" | "items" | undefined {
  if (own(schema, "prefixItems") !== undefined) return "prefixItems";
  return Array.isArray(own(schema, "items")) ? "items" : undefined;
}

function prefixOf({ schema, at }: Place, maker: OptionMaker): readonly Shape[] {
  const keyword = tupleOf(schema) ?? "prefixItems";
  return entries(own(schema, keyword)).map(([index, item]) => {
    const place = `${at}/${keyword}${token(index)}`;
    const places = placesOf([[place, item]]);
    return places === undefined ? { kind: "anything", at: place, hints: [] } : maker.shapeOf(places);
  });
}

/** The shape of all items, or of those after a tuple. Undefined when there may be none. */
function itemsOf(places: readonly Place[], at: string, maker: OptionMaker): Shape | undefined {
  const found = places.flatMap(({ schema, at: place }) => {
    const keyword = tupleOf(schema) === "items" ? "additionalItems" : "items";
    const items = own(schema, keyword);
    return items === undefined ? [] : [[`${place}/${keyword}`, items] as const];
  });
  const inside = placesOf(found);
  if (inside === undefined) return undefined;
  return inside.length === 0 ? { kind: "anything", at, hints: [] } : maker.shapeOf(inside);
}
