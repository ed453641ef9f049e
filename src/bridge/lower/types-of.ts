import { canonicalText } from "../../json/canonical.ts";
import type { Json } from "../../json/json.ts";
import { own, type Place } from "./place.ts";

export type JsonType = "object" | "array" | "string" | "number" | "integer" | "boolean" | "null";

/** The types that all places allow, in the order of the first that says some. Undefined when none does. */
export function typesOf(places: readonly Place[]): readonly JsonType[] | undefined {
  const lists = places.flatMap(({ schema }) => {
    const type = own(schema, "type");
    return type === undefined ? [] : [[type].flat() as readonly JsonType[]];
  });
  const [head, ...rest] = lists;
  if (head === undefined) return undefined;
  const common = rest.reduce(intersection, head);
  // Every integer is a number.
  return common.includes("number") ? common.filter((type) => type !== "integer") : common;
}

function intersection(a: readonly JsonType[], b: readonly JsonType[]): readonly JsonType[] {
  return a.flatMap((type): readonly JsonType[] => {
    if (b.includes(type)) return [type];
    if (type === "integer" && b.includes("number")) return ["integer"];
    return type === "number" && b.includes("integer") ? ["integer"] : [];
  });
}

/** The values that all places list, of the given types. Undefined when none lists any. */
export function valuesOf(
  places: readonly Place[],
  types: readonly JsonType[] | undefined,
): readonly Json[] | undefined {
  const lists = places.flatMap(({ schema }) => {
    const constant = own(schema, "const");
    const list = own(schema, "enum");
    return [...(constant === undefined ? [] : [[constant]]), ...(Array.isArray(list) ? [list as readonly Json[]] : [])];
  });
  const [head, ...rest] = lists;
  if (head === undefined) return undefined;
  const common = rest.reduce((values, list) => {
    const texts = new Set(list.map(canonicalText));
    return values.filter((value) => texts.has(canonicalText(value)));
  }, head);
  const distinct = [...new Map(common.map((value) => [canonicalText(value), value])).values()];
  return types === undefined ? distinct : distinct.filter((value) => types.some((type) => isOf(value, type)));
}

function isOf(value: Json, type: JsonType): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
