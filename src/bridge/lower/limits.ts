import { canonicalText } from "../../json/canonical.ts";
import type { Json } from "../../json/json.ts";
import type { Notes } from "./notes.ts";
import { own, type Place } from "./place.ts";

/** The strictest of several lower limits. Nothing when there is none. */
export function greatest<K extends string>(places: readonly Place[], keyword: K): { readonly [key in K]?: number } {
  return limit(places, keyword, Math.max);
}

/** The strictest of several upper limits. Nothing when there is none. */
export function least<K extends string>(places: readonly Place[], keyword: K): { readonly [key in K]?: number } {
  return limit(places, keyword, Math.min);
}

function limit<K extends string>(
  places: readonly Place[],
  keyword: K,
  choose: (...values: number[]) => number,
): { readonly [key in K]?: number } {
  const values = places.map(({ schema }) => own(schema, keyword)).filter((value) => typeof value === "number");
  return values.length === 0 ? {} : single(keyword, choose(...values));
}

/** A keyword of which only one can be said. Others are noted, and checked on the way back. */
export function first<K extends string, V extends Json>(
  places: readonly Place[],
  keyword: K,
  notes: Notes,
): { readonly [key in K]?: V } {
  const found = places.filter(({ schema }) => own(schema, keyword) !== undefined);
  const [head, ...rest] = found;
  if (head === undefined) return {};
  const value = own(head.schema, keyword);
  for (const { schema, at } of rest) {
    if (canonicalText(own(schema, keyword)) !== canonicalText(value))
      notes.add(at, keyword, "left out: only one can be said");
  }
  return single(keyword, value as V);
}

function single<K extends string, V>(key: K, value: V): { readonly [name in K]?: V } {
  return { [key]: value } as { readonly [name in K]?: V };
}
