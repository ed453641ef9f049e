import { isObject, type Json, type JsonObject } from "../json/json.ts";
import type { Fuel } from "./fuel.ts";
import type { Inspected } from "./inspect.ts";
import { duplicateProblem, multipleProblem, patternProblem, type Refinement, refinement } from "./refinement.ts";
import { entries, vocabulary } from "./vocabulary.ts";

/** A schema for the compiler. */
export type Bounded = boolean | Keywords | Refinement;

interface Keywords {
  readonly [keyword: string]: unknown;
  readonly allOf?: readonly Bounded[];
}

/**
 * A schema as the compiler gets it: with the same meaning, but in a form in which
 * no check takes longer than the fuel allows.
 *
 * References all lead to `$defs` of the root and burn fuel there, patterns burn
 * fuel, and what the compiler checks inexactly or slowly is done by functions.
 * Annotations are left out.
 */
export function toBounded(inspected: Inspected, fuel: Fuel): Bounded {
  const names = new Map<Json, string>();
  const context: Context = {
    ...inspected,
    fuel,
    quiet: usesUnevaluated(inspected.root) ? (schema) => schema : (schema) => ({ not: { not: schema } }),
    refer(schema) {
      const name = names.get(schema) ?? String(names.size);
      names.set(schema, name);
      return { $ref: `#/$defs/${name}` };
    },
  };
  const root = keywords(context, inspected.root);
  const entry = refinement("$ref", () => fuel.reference());
  const $defs: Record<string, Bounded> = {};
  for (const [schema, name] of names) $defs[name] = { allOf: [entry, bound(context, schema)] };
  return { ...root, $schema: "https://json-schema.org/draft/2020-12/schema", $defs };
}

interface Context extends Inspected {
  readonly fuel: Fuel;
  /** Makes a schema answer yes or no, without telling the issues inside. */
  quiet(schema: Bounded): Bounded;
  /** Moves a schema to `$defs`, where it is compiled once however often it is used. */
  refer(schema: Json): Bounded;
}

/** If so, the branches of a combinator have to tell what they looked at and cannot be quiet. */
function usesUnevaluated(root: JsonObject): boolean {
  return /"unevaluated(?:Items|Properties)":/.test(JSON.stringify(root));
}

function bound(context: Context, schema: Json): Bounded {
  return isObject(schema) ? keywords(context, schema) : schema === true;
}

function keywords(context: Context, schema: JsonObject): Keywords {
  const allOf: Bounded[] = [];
  const others: Record<string, unknown> = {};
  for (const [name, value] of entries(schema)) {
    const translation = translations.get(name) ?? (vocabulary.has(name) ? unchanged(name) : dropped);
    const { allOf: more = [], ...rest } = translation(context, value, schema);
    allOf.push(...more);
    Object.assign(others, rest);
  }
  return allOf.length === 0 ? others : { ...others, allOf };
}

/** The keywords that stand for one keyword of a schema. What they have in `allOf` is joined. */
type Translation = (context: Context, value: Json, schema: JsonObject) => Keywords;

const dropped: Translation = () => ({});

const unchanged =
  (name: string): Translation =>
  (_, value) => ({ [name]: value });

const one =
  (name: string): Translation =>
  (context, value) => ({ [name]: bound(context, value) });

const list =
  (name: string): Translation =>
  (context, value) => ({ [name]: bounds(context, value) });

const map =
  (name: string): Translation =>
  (context, value) => ({
    [name]: Object.fromEntries(entries(value).map(([key, schema]) => [key, bound(context, schema)])),
  });

const quietOne =
  (name: string): Translation =>
  (context, value) => ({ [name]: context.quiet(bound(context, value)) });

/** A list of one schema that holds the list, so that the issue is that of the combinator and not those of its branches. */
const quietList =
  (name: string): Translation =>
  (context, value) => ({ [name]: [context.quiet({ [name]: bounds(context, value) })] });

const reference: Translation = (context, value) => ({
  allOf: [context.refer(context.targets.get(String(value)) ?? false)],
});

const translations: ReadonlyMap<string, Translation> = new Map<string, Translation>([
  ...["$schema", "$id", "$anchor", "$dynamicAnchor", "$defs", "definitions"].map((name) => [name, dropped] as const),
  ...["not", "then", "else", "additionalProperties", "unevaluatedItems", "unevaluatedProperties"].map(
    (name) => [name, one(name)] as const,
  ),
  ["$ref", reference],
  ["$dynamicRef", reference],
  ["allOf", list("allOf")],
  ["prefixItems", list("prefixItems")],
  ["properties", map("properties")],
  ["patternProperties", map("patternProperties")],
  ["dependentSchemas", map("dependentSchemas")],
  ["anyOf", quietList("anyOf")],
  ["oneOf", quietList("oneOf")],
  ["if", quietOne("if")],
  ["propertyNames", quietOne("propertyNames")],
  ["contains", (context, value) => ({ contains: context.refer(value) })],
  ["items", boundItems],
  ["additionalItems", dropped],
  ["dependencies", boundDependencies],
  ["multipleOf", (_, value) => ({ allOf: [refinement("multipleOf", multipleProblem(Number(value)))] })],
  ["uniqueItems", (_, value) => ({ allOf: value === true ? [refinement("uniqueItems", duplicateProblem)] : [] })],
  ["pattern", boundPattern],
]);

function bounds(context: Context, value: Json): readonly Bounded[] {
  return entries(value).map(([, schema]) => bound(context, schema));
}

function boundPattern({ patterns, fuel }: Context, value: Json): Keywords {
  const cost = patterns.get(String(value));
  return { allOf: cost === undefined ? [] : [refinement("pattern", patternProblem(String(value), cost, fuel))] };
}

/** Draft 7 has tuples in `items` and the rest in `additionalItems`. */
function boundItems(context: Context, value: Json, { additionalItems = true }: JsonObject): Keywords {
  if (!Array.isArray(value)) return { items: bound(context, value) };
  return { prefixItems: bounds(context, value), items: bound(context, additionalItems) };
}

/** Draft 7 has both kinds of dependencies in one keyword. */
function boundDependencies(context: Context, value: Json): Keywords {
  const required = entries(value).filter(([, dependency]) => Array.isArray(dependency));
  const schemas = entries(value).filter(([, dependency]) => !Array.isArray(dependency));
  return {
    allOf: [
      { dependentRequired: Object.fromEntries(required) },
      { dependentSchemas: Object.fromEntries(schemas.map(([key, schema]) => [key, bound(context, schema)])) },
    ],
  };
}
