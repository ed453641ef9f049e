import { canonicalText } from "../../json/canonical.ts";
import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { own } from "../../schema/json-pointer.ts";
import { entries, isReference, token, vocabulary } from "../../schema/vocabulary.ts";
import { createNotes, describe, hintsFor, type Notes } from "./notes.ts";
import { typesOf } from "./shape-options.ts";
import { createDefinitionNames, type DefinitionNames, oneForAll, toOutline } from "./to-shape.ts";
import { type LocatedSchema, type Source, type Variant, variantsOf } from "./variants.ts";

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
  const variants = variantsOf([{ schema: root, at: "" }], source).filter(({ schemas }) => allowsObject(schemas));
  const [only] = variants;
  if (only === undefined) return undefined;
  if (variants.length > 1 || only.schemas.length > 1) return flatten(variants, source, context);
  const kept = entries(root).filter(([keyword]) => !refused.includes(keyword));
  for (const keyword of ["not", "enum", "const"]) {
    if (own(root, keyword) !== undefined) notes.add("", keyword, "left out");
  }
  const lowered = rewrite(Object.fromEntries(kept), "", context);
  const said = typeof lowered.description === "string" ? { description: lowered.description } : {};
  return { ...lowered, ...describe({ ...said, hints: only.hints }), type: "object" };
}

function allowsObject(schemas: readonly LocatedSchema[]): boolean {
  return (typesOf(schemas) ?? ["object"]).includes("object");
}

/** One object for all variants: with all properties, requiring what all of them do. */
function flatten(variants: readonly Variant[], source: Source, context: RewriteContext): JsonObject {
  const keys = new Set(variants.flatMap(keysOf));
  const properties = [...keys].map((key) => [key, propertyOf(key, variants, context)] as const);
  const needed = variants.map(requiredOf);
  const required = [...(needed[0] ?? [])].filter((key) => needed.every((one) => one.has(key)));
  if (variants.length > 1) source.notes.add("", "anyOf", oneForAll);
  for (const { schemas } of variants) noteOthers(schemas, source);
  return {
    type: "object",
    ...summary(source),
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    ...(variants.every(isClosed) && { additionalProperties: false }),
  };
}

/** Keywords that {@link flatten} reads, or that constrain nothing. */
const handled: ReadonlySet<string> = new Set([
  ...[...composition, "type", "properties", "required", "additionalProperties", "title", "description"],
  ...["$schema", "$id", "$anchor", "$dynamicAnchor", "$comment", "$defs", "definitions", "default", "examples"],
]);

function noteOthers(schemas: readonly LocatedSchema[], { notes }: Source): void {
  for (const { schema, at } of schemas) {
    for (const [keyword] of entries(schema)) if (!handled.has(keyword)) notes.add(at, keyword, "left out");
  }
}

/** The description of the whole, with a summary of its variants. */
function summary(source: Source): { readonly description?: string } {
  const outline = toOutline({ ...source, notes: createNotes() });
  return outline === undefined ? {} : describe(outline.root);
}

function keysOf({ schemas }: Variant): readonly string[] {
  return schemas.flatMap(({ schema }) => entries(own(schema, "properties")).map(([key]) => key));
}

function requiredOf({ schemas }: Variant): ReadonlySet<string> {
  return new Set(schemas.flatMap(({ schema }) => [own(schema, "required") ?? []].flat().map(String)));
}

function isClosed({ schemas }: Variant): boolean {
  return schemas.some(
    ({ schema }) => own(schema, "additionalProperties") === false && own(schema, "patternProperties") === undefined,
  );
}

/** A property as any of the variants has it. Those without it say nothing about it. */
function propertyOf(key: string, variants: readonly Variant[], context: RewriteContext): JsonObject {
  const found = variants.flatMap(({ schemas }) => {
    const all = schemas.flatMap(({ schema, at }) => {
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

/** What a provider requires of schemas that it accepts nearly unchanged. */
export interface PlainDialect {
  /** True if it refuses regular expressions that are not portable. */
  readonly portablePatterns: boolean;
  /** True if every array must say what its items are. */
  readonly itemsRequired: boolean;
}

interface RewriteContext extends Exactness {
  readonly dialect: PlainDialect;
  readonly names: DefinitionNames;
  readonly notes: Notes;
}

/**
 * A schema of 2020-12 or draft 7 as one of 2020-12 that a provider accepts.
 *
 * References all lead to `$defs` of the root. What cannot be said is left out, and
 * with it what would mean something else then.
 */
function rewrite(schema: Json, at: string, context: RewriteContext): JsonObject {
  if (!isObject(schema)) return schema === false ? { not: {} } : {};
  const members = entries(schema).flatMap(([keyword, value]) =>
    (rewrites.get(keyword) ?? unchanged)({ schema, keyword, value, at }, context),
  );
  const hints = unsaid(schema, at, context);
  const about = hints.length === 0 ? {} : describe({ ...descriptionOf(schema), hints });
  return { ...Object.fromEntries(members), ...missingItems(schema, context), ...about };
}

interface Use {
  readonly schema: JsonObject;
  readonly keyword: string;
  readonly value: Json;
  readonly at: string;
}

type Members = readonly (readonly [keyword: string, value: Json])[];

/** The members that stand for one member of a schema. */
type Rewrite = (use: Use, context: RewriteContext) => Members;

const dropped: Rewrite = () => [];

const rewrites: ReadonlyMap<string, Rewrite> = new Map<string, Rewrite>([
  ...["$schema", "$id", "$anchor", "$dynamicAnchor", "$comment", "$defs", "definitions", "additionalItems"].map(
    (keyword) => [keyword, dropped] as const,
  ),
  ["$ref", ({ value }, { names }) => [["$ref", `#/$defs/${names.refer(String(value))}`]]],
  ["$dynamicRef", dynamicReference],
  ["pattern", (use, context) => (isReadable(String(use.value), context) ? unchanged(use, context) : [])],
  ["patternProperties", patternProperties],
  ["additionalProperties", (use, context) => (losesPatterns(use.schema, context) ? [] : booleanOr(use, context))],
  ["unevaluatedProperties", (use, context) => (context.exact ? booleanOr(use, context) : [])],
  ["unevaluatedItems", (use, context) => (context.exact ? booleanOr(use, context) : [])],
  ["items", items],
  ["dependencies", dependencies],
  ["oneOf", oneOf],
  ["not", unlessInexact("not")],
  ...["if", "then", "else"].map((keyword) => [keyword, unlessInexact("if")] as const),
  ...["contains", "minContains", "maxContains"].map((keyword) => [keyword, unlessInexact("contains")] as const),
]);

/** The member itself, with its subschemas rewritten. */
function unchanged(use: Use, context: RewriteContext): Members {
  const { keyword, value, at } = use;
  const [first] = vocabulary.get(keyword)?.subschemas(value) ?? [];
  if (first === undefined) return [[keyword, value]];
  const pointer = at + token(keyword);
  if (first[0] === "") return [[keyword, rewrite(value, pointer, context)]];
  const inside = entries(value).map(([key, member]) => [key, rewrite(member, pointer + token(key), context)] as const);
  return [[keyword, Array.isArray(value) ? inside.map(([, member]) => member) : Object.fromEntries(inside)]];
}

function booleanOr(use: Use, context: RewriteContext): Members {
  return typeof use.value === "boolean" ? [[use.keyword, use.value]] : unchanged(use, context);
}

/** Within one document it is a reference like any other. Beside one it is left out. */
function dynamicReference({ schema, value, at }: Use, { names, notes }: RewriteContext): Members {
  if (own(schema, "$ref") === undefined) return [["$ref", `#/$defs/${names.refer(String(value))}`]];
  notes.add(at, "$dynamicRef", "left out");
  return [];
}

function isReadable(pattern: string, { dialect }: RewriteContext): boolean {
  return !dialect.portablePatterns || isPortablePattern(pattern);
}

function losesPatterns(schema: JsonObject, context: RewriteContext): boolean {
  return entries(own(schema, "patternProperties")).some(([pattern]) => !isReadable(pattern, context));
}

function patternProperties({ value, at }: Use, context: RewriteContext): Members {
  const readable = entries(value).filter(([pattern]) => isReadable(pattern, context));
  const inside = readable.map(
    ([pattern, schema]) => [pattern, rewrite(schema, `${at}/patternProperties${token(pattern)}`, context)] as const,
  );
  return inside.length === 0 ? [] : [["patternProperties", Object.fromEntries(inside)]];
}

/** Draft 7 has tuples in `items`, and the schema of further items in `additionalItems`. */
function items(use: Use, context: RewriteContext): Members {
  const { schema, value, at } = use;
  if (!Array.isArray(value)) return booleanOr(use, context);
  const prefixItems = value.map((item: Json, index) => rewrite(item, `${at}/items/${index}`, context));
  const further = own(schema, "additionalItems");
  if (further === undefined) return [["prefixItems", prefixItems]];
  return [["prefixItems", prefixItems], ...booleanOr({ ...use, keyword: "items", value: further }, context)];
}

/** Draft 7 has both kinds of dependencies in one keyword. */
function dependencies({ value, at }: Use, context: RewriteContext): Members {
  const lists = entries(value).filter(([, dependency]) => Array.isArray(dependency));
  const schemas = entries(value).filter(([, dependency]) => !Array.isArray(dependency));
  const inside = schemas.map(
    ([key, schema]) => [key, rewrite(schema, `${at}/dependencies${token(key)}`, context)] as const,
  );
  return [
    ["dependentRequired", Object.fromEntries(lists)],
    ["dependentSchemas", Object.fromEntries(inside)],
  ];
}

/** Less exact branches overlap, and what fits two of them is refused; so they become alternatives. */
function oneOf(use: Use, context: RewriteContext): Members {
  const { schema, value, at } = use;
  if (entries(value).every(([, branch]) => context.isExact(branch))) return unchanged(use, context);
  if (own(schema, "anyOf") === undefined) {
    context.notes.add(at, "oneOf", "said as anyOf");
    return [["anyOf", entries(value).map(([key, branch]) => rewrite(branch, `${at}/oneOf/${key}`, context))]];
  }
  context.notes.add(at, "oneOf", "left out");
  return [];
}

/** Where less exact would mean stricter, a keyword is said exactly or not at all. */
function unlessInexact(keyword: string): Rewrite {
  return (use, context) => {
    const schema = own(use.schema, keyword);
    return schema === undefined || context.isExact(schema) ? unchanged(use, context) : [];
  };
}

/** Hints on what was left out here. */
function unsaid(schema: JsonObject, at: string, context: RewriteContext): readonly string[] {
  const given = (keyword: string, isUnsaid: boolean): readonly [string, Json | undefined] => [
    keyword,
    isUnsaid ? own(schema, keyword) : undefined,
  ];
  const isInexact = (keyword: string): boolean => !context.isExact(own(schema, keyword) ?? true);
  return hintsFor(at, context.notes, [
    given("pattern", !isReadable(String(own(schema, "pattern") ?? ""), context)),
    given("patternProperties", losesPatterns(schema, context)),
    given("additionalProperties", losesPatterns(schema, context)),
    given("unevaluatedProperties", !context.exact),
    given("unevaluatedItems", !context.exact),
    given("not", isInexact("not")),
    ...["if", "then", "else"].map((keyword) => given(keyword, isInexact("if"))),
    ...["contains", "minContains", "maxContains"].map((keyword) => given(keyword, isInexact("contains"))),
  ]);
}

function descriptionOf(schema: JsonObject): { readonly description?: string } {
  const description = own(schema, "description");
  return typeof description === "string" ? { description } : {};
}

function missingItems(schema: JsonObject, { dialect }: RewriteContext): JsonObject {
  const isArray = [own(schema, "type") ?? []].flat().includes("array");
  const items = own(schema, "items");
  const isSaid = items !== undefined && (!Array.isArray(items) || own(schema, "additionalItems") !== undefined);
  return dialect.itemsRequired && isArray && !isSaid ? { items: {} } : {};
}

/** What can be said exactly. Where less exact would mean stricter, that has to be known. */
interface Exactness {
  /** True if everything can. Else nothing is said about what other keywords have not looked at. */
  readonly exact: boolean;
  /** True if a schema can, with all it refers to. */
  isExact(schema: Json): boolean;
}

function createExactness({ root, targets }: Source, dialect: PlainDialect): Exactness {
  const isSaid = (keyword: string, value: Json): boolean => !isForeign(keyword, value, dialect);
  if (createSchemaCheck(targets, isSaid)(root)) return { exact: true, isExact: () => true };
  const isKept = (keyword: string, value: Json): boolean =>
    !keyword.startsWith("unevaluated") && isSaid(keyword, value);
  return { exact: false, isExact: createSchemaCheck(targets, isKept) };
}

/** True for keywords that are left out because the provider cannot read them, or because missing `items` are added. */
function isForeign(keyword: string, value: Json, { portablePatterns, itemsRequired }: PlainDialect): boolean {
  if (keyword === "unevaluatedItems") return itemsRequired;
  if (!portablePatterns) return false;
  if (keyword === "pattern") return !isPortablePattern(String(value));
  return keyword === "patternProperties" && !entries(value).every(([source]) => isPortablePattern(source));
}

/**
 * Creates a check whether a condition holds for all keywords of a schema, of its subschemas and of the schemas it
 * references.
 */
function createSchemaCheck(
  targets: Source["targets"],
  holds: (keyword: string, value: Json) => boolean,
): (schema: Json) => boolean {
  const known = new Map<Json, boolean>();
  /** A schema that is being visited counts as fine, which is right in the end unless another schema is not. */
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

/**
 * True for a regular expression that every provider can read. Some read patterns
 * by Python, some by engines without memory: neither knows properties of
 * characters as JavaScript writes them, and the latter have no lookaround, no
 * back references.
 */
export function isPortablePattern(pattern: string): boolean {
  return !foreign.test(pattern.replaceAll("\\\\", ""));
}

/** A letter or digit with another meaning, a group of a special kind, a class that is empty. */
const foreign = /\\(?![bBdDfnrstSvwWx])[A-Za-z0-9]|\(\?(?!:)|\[\^?\]/;
