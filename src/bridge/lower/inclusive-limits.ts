import { hintsFor, type Notes } from "./notes.ts";
import type { NumberOption } from "./shape.ts";

/**
 * The limits of a number where only inclusive ones can be said. Integers have
 * nothing between them, so for those it is exact.
 */
export function inclusiveLimits(option: NumberOption): { readonly minimum?: number; readonly maximum?: number } {
  const { kind, minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = option;
  const isWhole = kind === "integer";
  const lowest = [minimum, above !== undefined && isWhole ? Math.floor(above) + 1 : above];
  const highest = [maximum, below !== undefined && isWhole ? Math.ceil(below) - 1 : below];
  return { ...limit("minimum", lowest, Math.max), ...limit("maximum", highest, Math.min) };
}

function limit(
  keyword: "minimum" | "maximum",
  values: readonly (number | undefined)[],
  choose: (...values: number[]) => number,
): { readonly minimum?: number; readonly maximum?: number } {
  const said = values.filter((value) => value !== undefined);
  return said.length === 0 ? {} : { [keyword]: choose(...said) };
}

/** What is lost by that, and what has no word at all. */
export function limitHints(option: NumberOption, notes: Notes): readonly string[] {
  const { at, kind, exclusiveMinimum, exclusiveMaximum, multipleOf } = option;
  const isWhole = kind === "integer";
  return hintsFor(at, notes, [
    ["exclusiveMinimum", isWhole ? undefined : exclusiveMinimum],
    ["exclusiveMaximum", isWhole ? undefined : exclusiveMaximum],
    ["multipleOf", multipleOf],
  ]);
}
