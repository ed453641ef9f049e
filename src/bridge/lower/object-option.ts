import { isObject } from "../../json/json.ts";
import { entries } from "../../schema/entries.ts";
import { token } from "../../schema/pointer.ts";
import { hintOf, type Notes } from "./notes.ts";
import type { OptionMaker } from "./option-maker.ts";
import { own, type Place, placesOf, type Variant } from "./place.ts";
import type { Further, ObjectOption, Property } from "./shape.ts";
import { typesOf } from "./types-of.ts";

/** What a variant says about objects. Undefined when it allows none. */
export function objectOption(variant: Variant, maker: OptionMaker): ObjectOption | undefined {
  const { places } = variant;
  if (!(typesOf(places) ?? ["object"]).includes("object")) return undefined;
  const required = new Set(places.flatMap(({ schema }) => [own(schema, "required") ?? []].flat().map(String)));
  const properties = propertiesOf(places, required, maker);
  const hints = leaveOut(places, unsaid, maker.notes);
  return {
    kind: "object",
    at: places.at(-1)?.at ?? "",
    hints: [...variant.hints, ...hints],
    properties,
    further: furtherOf(variant, maker),
    undeclared: [...required].filter((key) => !properties.has(key)),
  };
}

const unsaid = [
  ...["minProperties", "maxProperties", "propertyNames", "patternProperties"],
  ...["dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties"],
];

/** Keywords that can bring in properties of which nothing is said here. */
const sources = ["patternProperties", "then", "else", "dependentSchemas", "dependencies"];

function propertiesOf(
  places: readonly Place[],
  required: ReadonlySet<string>,
  maker: OptionMaker,
): ReadonlyMap<string, Property> {
  const keys = new Set(places.flatMap(({ schema }) => entries(own(schema, "properties")).map(([key]) => key)));
  const found = [...keys].flatMap((key): readonly (readonly [string, Property])[] => {
    const inside = placesOf(places.flatMap((place) => declared(place, key)));
    if (inside !== undefined) {
      const [{ at } = { at: "" }] = inside;
      const shape = inside.length === 0 ? { kind: "anything" as const, at, hints: [] } : maker.shapeOf(inside);
      return [[key, { shape, required: required.has(key) }]];
    }
    maker.notes.add(places.at(-1)?.at ?? "", "properties", `left out: nothing is valid for ${JSON.stringify(key)}`);
    return [];
  });
  return new Map(found);
}

function declared({ schema, at }: Place, key: string): readonly (readonly [string, Place["schema"] | boolean])[] {
  const properties = own(schema, "properties");
  const property = isObject(properties) ? own(properties, key) : undefined;
  if (!isObject(property) && typeof property !== "boolean") return [];
  return [[`${at}/properties${token(key)}`, property]];
}

function furtherOf({ places, isPartial }: Variant, maker: OptionMaker): Further {
  const has = (keywords: readonly string[]) => (place: Place) =>
    keywords.some((keyword) => own(place.schema, keyword) !== undefined);
  const closes = ({ schema }: Place): boolean => own(schema, "additionalProperties") === false;
  if (places.some((place) => closes(place) && !has(["patternProperties"])(place))) return "none";
  if (isPartial || places.some(has(sources))) return "some";
  if (places.some(({ schema }) => own(schema, "unevaluatedProperties") === false)) return "none";
  const said = places.flatMap(({ schema, at }) => {
    const value = own(schema, "additionalProperties");
    return value === undefined ? [] : [[`${at}/additionalProperties`, value] as const];
  });
  if (said.length === 0) return "unsaid";
  const inside = placesOf(said) ?? [];
  return inside.length === 0 ? "some" : maker.shapeOf(inside);
}

/** Notes the keywords that are left out, and gives hints in their place. Those that say nothing do not count. */
export function leaveOut(places: readonly Place[], keywords: readonly string[], notes: Notes): readonly string[] {
  return places.flatMap(({ schema, at }) =>
    keywords.flatMap((keyword) => {
      const value = own(schema, keyword);
      if (value === undefined || value === (keyword !== "uniqueItems")) return [];
      notes.add(at, keyword, "left out");
      return hintOf(keyword, value);
    }),
  );
}
