import { canonicalText } from "../../json/canonical.ts";
import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { own } from "../../schema/json-pointer.ts";
import { entries, token } from "../../schema/vocabulary.ts";
import { hintOf, type Notes } from "./notes.ts";

/** A schema, and where it stands in the document. */
export interface LocatedSchema {
  readonly schema: JsonObject;
  /** JSON Pointer. */
  readonly at: string;
}

/** Schemas that all apply to one value, none of them composed of others. */
export interface Variant {
  readonly schemas: readonly LocatedSchema[];
  /** What was left out. */
  readonly hints: readonly string[];
  /** True if that could say more about properties. */
  readonly isPartial: boolean;
}

/** The document that schemas are in. */
export interface Source {
  readonly root: JsonObject;
  /** What every `$ref` leads to. */
  readonly targets: ReadonlyMap<string, Json>;
  readonly notes: Notes;
  /** Maximum number of schemas that are expanded, for all variants of one document together. */
  readonly work: { left: number };
}

/** Enough for the largest tools that there are, and done in a moment. */
export const maxWork = 100_000;

/** Maximum number of combinations that are kept as separate variants. */
const maxVariants = 32;

/** More schemas than this are not joined. */
const maxSchemas = 200;

/**
 * Takes composition apart: what is valid for all schemas is valid for one of the
 * variants. `allOf` and references add schemas, `anyOf` and `oneOf` make variants.
 * No variant means that no value is valid.
 */
export function variantsOf(schemas: readonly LocatedSchema[], source: Source): readonly Variant[] {
  return expand({ done: [], open: schemas, hints: [], isPartial: false, width: 1 }, source);
}

/** Half way: what is taken apart, what is not, and how many variants there are beside this one. */
interface Expansion {
  readonly done: readonly LocatedSchema[];
  readonly open: readonly LocatedSchema[];
  readonly hints: readonly string[];
  readonly isPartial: boolean;
  readonly width: number;
}

function expand(expansion: Expansion, source: Source): readonly Variant[] {
  const { done, hints, isPartial } = expansion;
  const [located, ...rest] = expansion.open;
  if (located === undefined) return [{ schemas: done, hints, isPartial }];
  if (--source.work.left < 0 || done.length >= maxSchemas) {
    source.notes.add(located.at, "allOf", "left out: the schema is too large");
    return [{ schemas: done, hints, isPartial: true }];
  }
  const always = conjoined(located, source);
  if (always === undefined) return [];
  let open: readonly Expansion[] = [{ ...expansion, done: [...done, located], open: [...always, ...rest] }];
  for (const keyword of ["anyOf", "oneOf"]) {
    open = open.flatMap((one) => fork(one, located, keyword, source));
  }
  return open.flatMap((one) => expand(one, source));
}

/** What applies as well wherever a schema does. Undefined when that is nothing that can be valid. */
function conjoined({ schema, at }: LocatedSchema, { targets }: Source): readonly LocatedSchema[] | undefined {
  const referred = ["$ref", "$dynamicRef"].flatMap((keyword): Found => {
    const reference = own(schema, keyword);
    return typeof reference === "string" ? [[pointerOf(reference, at, keyword), targets.get(reference) ?? false]] : [];
  });
  return locatedSchemas([...referred, ...subschemas(schema, at, "allOf")]);
}

type Found = readonly (readonly [at: string, schema: Json])[];

/** One expansion for each branch of a keyword, or the same expansion when it has no branches or too many. */
function fork(
  expansion: Expansion,
  { schema, at }: LocatedSchema,
  keyword: string,
  source: Source,
): readonly Expansion[] {
  const branches = subschemas(schema, at, keyword);
  if (branches.length === 0) return [expansion];
  const possible = branches.flatMap((branch) => {
    const schemas = locatedSchemas([branch]);
    return schemas === undefined ? [] : [schemas];
  });
  const width = expansion.width * possible.length;
  const isIrrelevant = possible.every((schemas) => schemas.every(isCondition));
  if (isIrrelevant || width > maxVariants) {
    source.notes.add(
      at,
      keyword,
      isIrrelevant ? "left out: it only adds conditions" : "left out: there are too many variants",
    );
    const hints = [...expansion.hints, ...hintOf(keyword, own(schema, keyword) ?? null)];
    return [{ ...expansion, hints, isPartial: expansion.isPartial || !isIrrelevant }];
  }
  if (keyword === "oneOf" && possible.length > 1) source.notes.add(at, keyword, "said as anyOf");
  return possible.map((schemas) => ({ ...expansion, open: [...expansion.open, ...schemas], width }));
}

/** True for a branch that says which properties go together, and nothing about what they are. */
function isCondition({ schema }: LocatedSchema): boolean {
  return entries(schema).every(([keyword]) => conditions.has(keyword));
}

const conditions: ReadonlySet<string> = new Set([
  ...["required", "dependentRequired", "minProperties", "maxProperties", "not"],
  ...["title", "description", "$comment"],
]);

function subschemas(schema: JsonObject, at: string, keyword: string): Found {
  return entries(own(schema, keyword)).map(([key, subschema]) => [at + token(keyword) + token(key), subschema]);
}

/** Schemas with where they are: `true` says nothing, and with `false` nothing is valid. */
export function locatedSchemas(found: Found): readonly LocatedSchema[] | undefined {
  if (found.some(([, schema]) => schema === false)) return undefined;
  return found.flatMap(([at, schema]) => (isObject(schema) ? [{ schema, at }] : []));
}

/** Where a reference leads; for an anchor, where it is used. */
function pointerOf(reference: string, at: string, keyword: string): string {
  return reference === "#" || reference.startsWith("#/") ? reference.slice(1) : at + token(keyword);
}

/** The strictest of several lower limits. Undefined for an empty list. */
export function greatest<K extends string>(
  schemas: readonly LocatedSchema[],
  keyword: K,
): { readonly [key in K]?: number } {
  return limit(schemas, keyword, Math.max);
}

/** The strictest of several upper limits. Undefined for an empty list. */
export function least<K extends string>(
  schemas: readonly LocatedSchema[],
  keyword: K,
): { readonly [key in K]?: number } {
  return limit(schemas, keyword, Math.min);
}

function limit<K extends string>(
  schemas: readonly LocatedSchema[],
  keyword: K,
  choose: (...values: number[]) => number,
): { readonly [key in K]?: number } {
  const values = schemas.map(({ schema }) => own(schema, keyword)).filter((value) => typeof value === "number");
  return values.length === 0 ? {} : single(keyword, choose(...values));
}

/** A keyword of which only one can be said. Others are noted, and checked on the way back. */
export function first<K extends string, V extends Json>(
  schemas: readonly LocatedSchema[],
  keyword: K,
  notes: Notes,
): { readonly [key in K]?: V } {
  const found = schemas.filter(({ schema }) => own(schema, keyword) !== undefined);
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
