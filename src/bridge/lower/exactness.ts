import { isObject, type Json } from "../../json/json.ts";
import { entries } from "../../schema/entries.ts";
import { isReference, vocabulary } from "../../schema/vocabulary.ts";
import type { Source } from "./place.ts";
import { isPortablePattern } from "./portable-pattern.ts";
import type { PlainDialect } from "./rewrite.ts";

/** What can be said exactly. Where less exact would mean stricter, that has to be known. */
export interface Exactness {
  /** True if everything can. Else nothing is said about what other keywords have not looked at. */
  readonly exact: boolean;
  /** True if a schema can, with all it refers to. */
  isExact(schema: Json): boolean;
}

export function createExactness({ root, targets }: Source, dialect: PlainDialect): Exactness {
  const isSaid = (keyword: string, value: Json): boolean => !isForeign(keyword, value, dialect);
  if (createLook(targets, isSaid)(root)) return { exact: true, isExact: () => true };
  const isKept = (keyword: string, value: Json): boolean =>
    !keyword.startsWith("unevaluated") && isSaid(keyword, value);
  return { exact: false, isExact: createLook(targets, isKept) };
}

/** True for what is left out because the provider cannot read it, or because `items` are added where there are none. */
function isForeign(keyword: string, value: Json, { portablePatterns, itemsRequired }: PlainDialect): boolean {
  if (keyword === "unevaluatedItems") return itemsRequired;
  if (!portablePatterns) return false;
  if (keyword === "pattern") return !isPortablePattern(String(value));
  return keyword === "patternProperties" && !entries(value).every(([source]) => isPortablePattern(source));
}

/** Looks whether a condition holds for all keywords of a schema, and of all that is in it or that it refers to. */
function createLook(
  targets: Source["targets"],
  holds: (keyword: string, value: Json) => boolean,
): (schema: Json) => boolean {
  const known = new Map<Json, boolean>();
  /** What is being looked at counts as fine, which is true in the end unless something else is not. */
  const look = (schema: Json, seen: Set<Json>): boolean => {
    if (!isObject(schema) || seen.has(schema)) return true;
    const before = known.get(schema);
    if (before !== undefined) return before;
    seen.add(schema);
    const isFine = entries(schema).every(([keyword, value]) => {
      if (!holds(keyword, value)) return false;
      if (isReference(keyword)) return look(targets.get(String(value)) ?? true, seen);
      return (vocabulary.get(keyword)?.subschemas(value) ?? []).every(([, inside]) => look(inside, seen));
    });
    if (!isFine) known.set(schema, false);
    return isFine;
  };
  return (schema) => {
    const seen = new Set<Json>();
    const isFine = look(schema, seen);
    if (isFine) for (const one of seen) known.set(one, true);
    return isFine;
  };
}
