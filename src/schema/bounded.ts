import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { boundedPattern, costOf, isDistinct, isMultipleOf } from "./assertions.ts";
import { entries } from "./entries.ts";
import type { Fuel } from "./fuel.ts";
import type { PatternCost } from "./pattern-cost.ts";
import type { Proved } from "./prove-patterns.ts";
import { patternSteps } from "./safe-pattern.ts";
import { flatFirst, vocabulary } from "./vocabulary.ts";

/** A schema for the code generator. */
export type Bounded = boolean | Keywords | Refinement;

interface Keywords {
  readonly [keyword: string]: unknown;
  readonly allOf?: readonly Bounded[];
}

/** A schema that checks by a function: an extension of the generator. */
interface Refinement {
  readonly "~refine": readonly [{ check(value: unknown): boolean; error(): string }];
}

/**
 * A schema as the code generator gets it: with the same meaning, but in a form in
 * which no check takes longer than the fuel allows.
 *
 * References all lead to `$defs` of the root and burn fuel there; patterns burn
 * fuel as well. What the generated code would check inexactly or slowly is done by
 * functions. Annotations are left out.
 */
export function toBounded(schema: Proved, fuel: Fuel): Bounded {
  const names = new Map<Json, string>();
  const context: Context = {
    ...schema,
    fuel,
    refer(target) {
      const name = names.get(target) ?? String(names.size);
      names.set(target, name);
      return { $ref: `#/$defs/${name}` };
    },
  };
  const root = boundKeywords(context, schema.root);
  const entry = refinement(() => {
    fuel.reference();
    return true;
  });
  const $defs: Record<string, Bounded> = {};
  // Grows while it is read: what is referred to may refer to more.
  for (const [target, name] of names) $defs[name] = { allOf: [entry, bound(context, target)] };
  return { ...root, $schema: "https://json-schema.org/draft/2020-12/schema", $defs };
}

interface Context extends Proved {
  readonly fuel: Fuel;
  /** Moves a schema to `$defs`, where its code is generated once however often it is used. */
  refer(schema: Json): Bounded;
}

function refinement(check: (value: unknown) => boolean): Refinement {
  return { "~refine": [{ check, error: () => "" }] };
}

function bound(context: Context, schema: Json): Bounded {
  return isObject(schema) ? boundKeywords(context, schema) : schema === true;
}

function boundKeywords(context: Context, schema: JsonObject): Keywords {
  const costs = entries(schema.patternProperties).map(([source]) => costOf(source, context));
  const keywords = translate(context, schema);
  // The generated code matches names by itself, so they are paid for before.
  return costs.length === 0 ? keywords : { allOf: [namesToll(costs, context.fuel), keywords] };
}

function namesToll(costs: readonly PatternCost[], fuel: Fuel): Refinement {
  return refinement((value) => {
    for (const name of isObject(value) ? Object.keys(value) : []) {
      for (const cost of costs) fuel.burn(patternSteps(cost, name.length));
    }
    return true;
  });
}

function translate(context: Context, schema: JsonObject): Keywords {
  const allOf: Bounded[] = [];
  const others: Record<string, unknown> = {};
  for (const [name, value] of entries(schema)) {
    const translated = (translations.get(name) ?? unchanged(name))(context, value, schema);
    allOf.push(...(translated.allOf ?? []));
    Object.assign(others, translated);
  }
  return { ...others, allOf };
}

/** The keywords that stand for one keyword of a schema. What they have in `allOf` is joined. */
type Translation = (context: Context, value: Json, schema: JsonObject) => Keywords;

const dropped: Translation = () => ({});

const reference: Translation = (context, value) => ({
  allOf: [context.refer(context.targets.get(String(value)) ?? false)],
});

const translations: ReadonlyMap<string, Translation> = new Map<string, Translation>([
  ...["$schema", "$id", "$anchor", "$dynamicAnchor", "$defs", "definitions"].map((name) => [name, dropped] as const),
  ["$ref", reference],
  ["$dynamicRef", reference],
  ["multipleOf", boundMultiple],
  ["pattern", boundPattern],
  ["uniqueItems", boundUnique],
  ["items", boundItems],
  ["additionalItems", dropped],
  // The generator writes this one out three times, and those inside of it nine times.
  ["contains", (context, value) => ({ contains: context.refer(value) })],
  ["properties", (context, value) => ({ properties: boundMembers(context, flatFirst(value)) })],
  ["dependencies", boundDependencies],
]);

/** The keyword itself, with its subschemas translated. Annotations have no meaning here. */
function unchanged(name: string): Translation {
  return (context, value) => {
    const keyword = vocabulary.get(name);
    if (keyword === undefined) return {};
    const [first] = keyword.subschemas(value);
    if (first === undefined) return { [name]: value };
    if (first[0] === "") return { [name]: bound(context, value) };
    return { [name]: Array.isArray(value) ? boundList(context, value) : boundMembers(context, entries(value)) };
  };
}

function boundList(context: Context, schemas: readonly Json[]): readonly Bounded[] {
  return schemas.map((schema) => bound(context, schema));
}

function boundMembers(context: Context, members: readonly (readonly [string, Json])[]): Keywords {
  return Object.fromEntries(members.map(([key, schema]) => [key, bound(context, schema)]));
}

function boundMultiple(_: Context, value: Json): Keywords {
  const divisor = Number(value);
  return { allOf: [refinement((number) => typeof number !== "number" || isMultipleOf(number, divisor))] };
}

function boundPattern(context: Context, value: Json): Keywords {
  const pattern = boundedPattern(String(value), context);
  return { allOf: [refinement((text) => typeof text !== "string" || pattern.test(text))] };
}

function boundUnique(_: Context, value: Json): Keywords {
  return { allOf: [refinement((items) => value === false || !Array.isArray(items) || isDistinct(items))] };
}

/** Draft 7 has tuples in `items`, and the schema of further items in `additionalItems`. */
function boundItems(context: Context, value: Json, { additionalItems = true }: JsonObject): Keywords {
  if (!Array.isArray(value)) return { items: bound(context, value) };
  return { prefixItems: boundList(context, value), items: bound(context, additionalItems) };
}

/** Draft 7 has both kinds of dependencies in one keyword. */
function boundDependencies(context: Context, value: Json): Keywords {
  const lists = entries(value).filter(([, dependency]) => Array.isArray(dependency));
  const schemas = entries(value).filter(([, dependency]) => !Array.isArray(dependency));
  return {
    allOf: [{ dependentRequired: Object.fromEntries(lists) }, { dependentSchemas: boundMembers(context, schemas) }],
  };
}
