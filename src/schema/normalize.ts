import { isObject, type Json, type JsonObject } from "../json/json.ts";
import type { Inspected } from "./inspect.ts";
import { type Resolved, referenceKey, resolveSchema } from "./resolve.ts";
import { dynamicReference, entries, resourceName, vocabulary } from "./vocabulary.ts";

/**
 * A schema translated to JSON Schema 2020-12 from any draft: one document without
 * ids and anchors, in which every reference has the form `#/$defs/…`. Annotations
 * are omitted.
 */
export interface NormalSchema {
  readonly root: JsonObject;
  /** The schemas of all references, by reference. */
  readonly targets: ReadonlyMap<string, Json>;
  /** Whether the schema has `unevaluatedItems` or `unevaluatedProperties`. */
  readonly unevaluated: boolean;
}

export type Normalized =
  | { readonly ok: true; readonly value: NormalSchema }
  | { readonly ok: false; readonly problem: string };

/**
 * Normalizes a schema. Fails for a reference without a target, and for a schema that
 * applies itself, or too many others, to one value. The result is cached by the
 * inspected schema.
 */
export function normalizeSchema(inspected: Inspected): Normalized {
  const known = normalForms.get(inspected) ?? resolveThenNormalize(inspected);
  normalForms.set(inspected, known);
  return known;
}

const normalForms = new WeakMap<Inspected, Normalized>();

function resolveThenNormalize(inspected: Inspected): Normalized {
  const resolution = resolveSchema(inspected);
  return resolution.ok ? normalize(resolution.value) : resolution;
}

function normalize(resolved: Resolved): Normalized {
  const dynamic = dynamicAnchors(resolved);
  const referred = new Set([
    ...resolved.targets.values(),
    ...[...dynamic.values()].flatMap((found) => [...found.values()]),
  ]);
  const names = new Map([...referred].filter(isObject).map((target, index) => [target, String(index)]));
  const context: Context = { ...resolved, dynamic, names, places: new Map(), unevaluated: false };
  const targets = new Map<string, Json>([
    ["#/$defs/true", true],
    ["#/$defs/false", false],
  ]);
  for (const [target, name] of names) targets.set(`#/$defs/${name}`, keywordsOf(context, target));
  const root = asObject(normalForm(context, resolved.root));
  const problem = compositionProblem({ schemas: context.places, targets, ...resolved.limits });
  if (problem !== undefined) return { ok: false, problem };
  return { ok: true, value: { root, targets, unevaluated: context.unevaluated } };
}

interface Context extends Resolved {
  /** The names in `$defs` of the schemas that are targets of references. */
  readonly names: ReadonlyMap<JsonObject, string>;
  /** The dynamic anchors that several resources define: anchor -> base URI of the resource -> schema. */
  readonly dynamic: ReadonlyMap<string, ReadonlyMap<string, JsonObject>>;
  /** The JSON Pointers of the original schemas, by normal schema. Filled during normalization. */
  readonly places: Map<JsonObject, string>;
  /** Set during normalization. */
  unevaluated: boolean;
}

function dynamicAnchors({ schemas }: Resolved): Context["dynamic"] {
  const found = new Map<string, Map<string, JsonObject>>();
  for (const { resource } of schemas.values()) {
    for (const [anchor, schema] of resource.dynamic) {
      const byResource = found.get(anchor) ?? new Map<string, JsonObject>();
      found.set(anchor, byResource.set(resource.base, schema));
    }
  }
  return new Map([...found].filter(([, byResource]) => byResource.size > 1));
}

/** The normal form of a subschema: a `$ref` for the target of a reference, which is written out only in `$defs`. */
function normalForm(context: Context, schema: Json): Json {
  if (!isObject(schema)) return schema;
  return context.names.has(schema) ? { $ref: referenceTo(context, schema) } : keywordsOf(context, schema);
}

function referenceTo({ names }: Context, target: Json): string {
  return `#/$defs/${isObject(target) ? names.get(target) : target}`;
}

/** The draft that introduced a keyword. Older drafts ignore it. */
const since: ReadonlyMap<string, number> = new Map([
  ...["prefixItems", "$dynamicRef"].map((keyword) => [keyword, 2020] as const),
  ...["unevaluatedItems", "unevaluatedProperties", "dependentRequired", "dependentSchemas"].map(
    (keyword) => [keyword, 2019] as const,
  ),
  ...["minContains", "maxContains", "$recursiveRef"].map((keyword) => [keyword, 2019] as const),
  ...["if", "then", "else"].map((keyword) => [keyword, 7] as const),
  ...["const", "contains", "propertyNames"].map((keyword) => [keyword, 6] as const),
]);

function keywordsOf(context: Context, schema: JsonObject): JsonObject {
  const location = context.schemas.get(schema);
  if (location === undefined) return {};
  const { draft, resource } = location;
  const allOf: Json[] = [];
  const others: Record<string, Json> = context.dynamic.size > 0 ? { [resourceName]: resource.base } : {};
  for (const [name, value] of entries(schema)) {
    // Up to draft 7, `$ref` overrides all keywords beside it.
    if ((since.get(name) ?? 0) > draft || (draft <= 7 && schema.$ref !== undefined && name !== "$ref")) continue;
    context.unevaluated ||= name.startsWith("unevaluated");
    add((translations.get(name) ?? unchanged)({ context, schema, name, value }), others, allOf);
  }
  const normal = allOf.length > 0 ? { ...others, allOf } : others;
  context.places.set(normal, location.at);
  return normal;
}

function add(translated: JsonObject, others: Record<string, Json>, allOf: Json[]): void {
  for (const [keyword, value] of entries(translated)) {
    if (keyword === "allOf") allOf.push(...(value as readonly Json[]));
    else others[keyword] = value;
  }
}

interface Use {
  readonly context: Context;
  readonly schema: JsonObject;
  readonly name: string;
  readonly value: Json;
}

/** Translates one keyword to keywords of 2020-12. The `allOf` lists of all translations are concatenated. */
type Translation = (use: Use) => JsonObject;

const dropped: Translation = () => ({});

const translations: ReadonlyMap<string, Translation> = new Map<string, Translation>([
  ...["$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$defs", "definitions"].map(
    (name) => [name, dropped] as const,
  ),
  ["$ref", reference],
  ["$dynamicRef", reference],
  ["$recursiveRef", reference],
  ["items", items],
  ["additionalItems", dropped],
  ["dependencies", dependencies],
  ["exclusiveMinimum", ({ value, schema }) => exclusive("exclusiveMinimum", value, schema.minimum)],
  ["exclusiveMaximum", ({ value, schema }) => exclusive("exclusiveMaximum", value, schema.maximum)],
]);

/** The keyword itself, with its subschemas in normal form. */
function unchanged({ context, name, value }: Use): JsonObject {
  const keyword = vocabulary.get(name);
  if (keyword === undefined) return {};
  const [first] = keyword.subschemas(value);
  if (first === undefined) return { [name]: value };
  if (first[0] === "") return { [name]: normalForm(context, value) };
  return { [name]: Array.isArray(value) ? normalList(context, value) : normalMembers(context, entries(value)) };
}

function normalList(context: Context, schemas: readonly Json[]): readonly Json[] {
  return schemas.map((schema) => normalForm(context, schema));
}

function normalMembers(context: Context, members: readonly (readonly [string, Json])[]): JsonObject {
  return Object.fromEntries(members.map(([key, schema]) => [key, normalForm(context, schema)]));
}

/** Translates a reference. `$dynamicRef` and `$recursiveRef` may stand beside `$ref`, so they go to `allOf`. */
function reference({ context, schema, name, value }: Use): JsonObject {
  const { root, schemas, targets, dynamic } = context;
  const location = schemas.get(schema);
  const key = location && referenceKey(String(value), location.resource, root);
  const target = (key !== undefined && targets.get(key)) ?? false;
  const anchor = name === "$recursiveRef" ? "" : String(value).replace(/^.*#/, "");
  const meant = isObject(target) ? schemas.get(target)?.resource.dynamic.get(anchor) : undefined;
  const candidates = name !== "$ref" && meant === target ? dynamic.get(anchor) : undefined;
  if (candidates === undefined) {
    const plain = { $ref: referenceTo(context, target) };
    return name === "$ref" ? plain : { allOf: [plain] };
  }
  const byResource = [...candidates].map(([base, candidate]) => [base, referenceTo(context, candidate)]);
  return { [dynamicReference]: Object.fromEntries([["", referenceTo(context, target)], ...byResource]) };
}

/** Translates `items`. Before 2020-12 it may be a tuple, with the schema of further items in `additionalItems`. */
function items({ context, schema, value }: Use): JsonObject {
  if (!Array.isArray(value)) return { items: normalForm(context, value) };
  return {
    ...(value.length > 0 && { prefixItems: normalList(context, value) }),
    ...(schema.additionalItems !== undefined && { items: normalForm(context, schema.additionalItems) }),
  };
}

/** Translates `dependencies`, which up to draft 7 stands for both `dependentRequired` and `dependentSchemas`. */
function dependencies({ context, value }: Use): JsonObject {
  const lists = entries(value).filter(([, dependency]) => Array.isArray(dependency));
  const schemas = entries(value).filter(([, dependency]) => !Array.isArray(dependency));
  return {
    allOf: [{ dependentRequired: Object.fromEntries(lists) }, { dependentSchemas: normalMembers(context, schemas) }],
  };
}

/** Translates an exclusive limit. In draft 4 it is a boolean that makes the limit beside it exclusive. */
function exclusive(keyword: string, value: Json, limit: Json | undefined): JsonObject {
  if (typeof value === "number") return { [keyword]: value };
  return value === true && limit !== undefined ? { [keyword]: limit } : {};
}

function asObject(schema: Json): JsonObject {
  return isObject(schema) ? schema : {};
}

/** Input of {@link compositionProblem}. */
interface Composition {
  /** The JSON Pointer of every schema. */
  readonly schemas: ReadonlyMap<JsonObject, string>;
  /** The schemas of all references, by reference. */
  readonly targets: ReadonlyMap<string, Json>;
  readonly maxDepth: number;
  readonly maxSubschemas: number;
}

/**
 * The problem of the first schema that applies too many subschemas to the same value.
 *
 * Thirty nested pairs of `anyOf`, each referring to the next, make a small schema
 * with a thousand million checks. A schema that applies itself would never end.
 */
function compositionProblem(composition: Composition): string | undefined {
  const { schemas, targets, maxDepth, maxSubschemas } = composition;
  const known = new Map<Json, number>();

  const count = (schema: Json, depth: number): number => {
    if (!isObject(schema)) return 1;
    const counted = known.get(schema);
    if (counted !== undefined) return counted;
    if (depth > maxDepth) return Infinity;
    // Infinite until the total is known: a schema found again before that applies itself.
    known.set(schema, Infinity);
    const total = applied(schema, targets).reduce<number>((sum, subschema) => sum + count(subschema, depth + 1), 1);
    known.set(schema, total);
    return total;
  };

  for (const [schema, at] of schemas) {
    const total = count(schema, 0);
    if (total === Infinity) return `${at} applies itself, or more than ${maxDepth} schemas in a row, to the same value`;
    if (total > maxSubschemas) return `${at} applies more than ${maxSubschemas} subschemas to the same value`;
  }
  return undefined;
}

function applied(schema: JsonObject, targets: ReadonlyMap<string, Json>): readonly Json[] {
  return entries(schema).flatMap(([name, value]) => {
    if (name === "$ref") return targets.get(String(value)) ?? [];
    if (name === dynamicReference)
      return entries(value).flatMap(([, reference]) => targets.get(String(reference)) ?? []);
    const keyword = vocabulary.get(name);
    return keyword?.inPlace ? keyword.subschemas(value).map(([, subschema]) => subschema) : [];
  });
}
