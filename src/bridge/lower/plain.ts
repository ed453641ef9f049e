import { canonicalText } from "../../json/canonical.ts";
import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { entries, token } from "../../schema/vocabulary.ts";
import { createNotes, describe } from "./notes.ts";
import { createExactness, type PlainDialect, type RewriteContext, rewrite } from "./rewrite.ts";
import { createDefinitionNames, own, type Place, type Source, type Variant, variantsOf } from "./schema-place.ts";
import { typesOf } from "./shape-options.ts";
import { oneForAll, toOutline } from "./to-shape.ts";

/**
 * A schema for arguments as an object at the root, without composition there, and
 * otherwise nearly as it is. Undefined when no object can be valid.
 */
export function lowerPlain(source: Source, dialect: PlainDialect): JsonObject | undefined {
  const names = createDefinitionNames(source.targets);
  const context: RewriteContext = { ...createExactness(source, dialect), dialect, names, notes: source.notes };
  const root = lowerRoot(source, context);
  if (root === undefined) return undefined;
  const $defs: [string, Json][] = [];
  // Grows while it is read: what is referred to may refer to more.
  for (const [target, { name, at }] of context.names.known) $defs.push([name, rewrite(target, at, context)]);
  return $defs.length === 0 ? root : { ...root, $defs: Object.fromEntries($defs) };
}

const composition = ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf"];

/** Keywords that providers refuse at the root. */
const refused = [...composition, "not", "enum", "const"];

function lowerRoot(source: Source, context: RewriteContext): JsonObject | undefined {
  const { root, notes } = source;
  const variants = variantsOf([{ schema: root, at: "" }], source).filter(({ places }) => allowsObject(places));
  const [only] = variants;
  if (only === undefined) return undefined;
  if (variants.length > 1 || only.places.length > 1) return flatten(variants, source, context);
  const kept = entries(root).filter(([keyword]) => !refused.includes(keyword));
  for (const keyword of ["not", "enum", "const"]) {
    if (own(root, keyword) !== undefined) notes.add("", keyword, "left out");
  }
  const lowered = rewrite(Object.fromEntries(kept), "", context);
  const said = typeof lowered.description === "string" ? { description: lowered.description } : {};
  return { ...lowered, ...describe({ ...said, hints: only.hints }), type: "object" };
}

function allowsObject(places: readonly Place[]): boolean {
  return (typesOf(places) ?? ["object"]).includes("object");
}

/** One object for all variants: with all properties, requiring what all of them do. */
function flatten(variants: readonly Variant[], source: Source, context: RewriteContext): JsonObject {
  const keys = new Set(variants.flatMap(keysOf));
  const properties = [...keys].map((key) => [key, propertyOf(key, variants, context)] as const);
  const needed = variants.map(requiredOf);
  const required = [...(needed[0] ?? [])].filter((key) => needed.every((one) => one.has(key)));
  if (variants.length > 1) source.notes.add("", "anyOf", oneForAll);
  for (const { places } of variants) noteOthers(places, source);
  return {
    type: "object",
    ...summary(source),
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    ...(variants.every(isClosed) && { additionalProperties: false }),
  };
}

/** Keywords that {@link flatten} looks at, or that say nothing. */
const handled: ReadonlySet<string> = new Set([
  ...[...composition, "type", "properties", "required", "additionalProperties", "title", "description"],
  ...["$schema", "$id", "$anchor", "$dynamicAnchor", "$comment", "$defs", "definitions", "default", "examples"],
]);

function noteOthers(places: readonly Place[], { notes }: Source): void {
  for (const { schema, at } of places) {
    for (const [keyword] of entries(schema)) if (!handled.has(keyword)) notes.add(at, keyword, "left out");
  }
}

/** The description of the whole, with a word about its variants. */
function summary(source: Source): { readonly description?: string } {
  const outline = toOutline({ ...source, notes: createNotes() });
  return outline === undefined ? {} : describe(outline.root);
}

function keysOf({ places }: Variant): readonly string[] {
  return places.flatMap(({ schema }) => entries(own(schema, "properties")).map(([key]) => key));
}

function requiredOf({ places }: Variant): ReadonlySet<string> {
  return new Set(places.flatMap(({ schema }) => [own(schema, "required") ?? []].flat().map(String)));
}

function isClosed({ places }: Variant): boolean {
  return places.some(
    ({ schema }) => own(schema, "additionalProperties") === false && own(schema, "patternProperties") === undefined,
  );
}

/** A property as any of the variants has it. Those without it say nothing about it. */
function propertyOf(key: string, variants: readonly Variant[], context: RewriteContext): JsonObject {
  const found = variants.flatMap(({ places }) => {
    const all = places.flatMap(({ schema, at }) => {
      const properties = own(schema, "properties");
      const property = isObject(properties) ? own(properties, key) : undefined;
      return property === undefined ? [] : [rewrite(property, `${at}/properties${token(key)}`, context)];
    });
    const [only] = all;
    if (only === undefined) return [];
    return [all.length === 1 ? only : { allOf: all }];
  });
  const distinct = [...new Map(found.map((schema) => [canonicalText(schema), schema])).values()];
  const [only] = distinct;
  return distinct.length === 1 && only !== undefined ? only : (joinedLists(distinct) ?? { anyOf: distinct });
}

/** The tags of variants as one list. Undefined when that is not all there is to them. */
function joinedLists(schemas: readonly JsonObject[]): JsonObject | undefined {
  const lists = schemas.map(({ type = "string", const: constant, enum: list, ...more }) => {
    const values: readonly Json[] = constant === undefined ? (Array.isArray(list) ? list : []) : [constant];
    const isList = type === "string" && values.length > 0 && values.every((value) => typeof value === "string");
    return isList && Object.keys(more).every((key) => key === "description" || key === "title") ? values : undefined;
  });
  if (lists.some((list) => list === undefined)) return undefined;
  const description = schemas.find((schema) => typeof schema.description === "string")?.description;
  return {
    type: "string",
    enum: [...new Set(lists.flatMap((list) => list ?? []))],
    ...(description !== undefined && { description }),
  };
}
