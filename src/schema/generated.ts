import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { flatFirst } from "./flat-first.ts";
import { type Proved, patternSteps } from "./pattern-cost.ts";
import { type Fuel, priceOfNames } from "./step.ts";
import {
  boundedPattern,
  costOf,
  hasFormat,
  hasLength,
  isAmong,
  isDistinct,
  isMultipleOf,
  perMatch,
} from "./value-rules.ts";
import { entries, vocabulary } from "./vocabulary.ts";

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
 * Where the generated code would apply a schema more often than it is written
 * down, to every item or property or through a reference, a function pays for all
 * of that before. What the code would check inexactly or slowly is done by
 * functions, too.
 */
export function toBounded(schema: Proved, fuel: Fuel): Bounded {
  const names = new Map<Json, string>();
  const context: Context = {
    ...schema,
    fuel,
    weights: new Map(),
    refer(target) {
      const name = names.get(target) ?? String(names.size);
      names.set(target, name);
      return { $ref: `#/$defs/${name}` };
    },
  };
  const root = boundKeywords(context, schema.root);
  const $defs: Record<string, Bounded> = {};
  // Grows while it is read: what is referred to may refer to more.
  for (const [target, name] of names) {
    const steps = perReference + weightOf(context, target);
    $defs[name] = { allOf: [toll(() => fuel.burn(steps)), bound(context, target)] };
  }
  return { ...root, $schema: "https://json-schema.org/draft/2020-12/schema", $defs };
}

interface Context extends Proved {
  readonly fuel: Fuel;
  /** What has been weighed. */
  readonly weights: Map<Json, number>;
  /** Moves a schema to `$defs`, where its code is generated once however often it is used. */
  refer(schema: Json): Bounded;
}

/** Steps that following a reference takes. */
const perReference = 128;

/** Steps that a property, an item or a keyword takes. */
const perPart = 10;

/** Steps that a function takes which does what a keyword says. */
const perFunction = 50;

function refinement(check: (value: unknown) => boolean): Refinement {
  return { "~refine": [{ check, error: () => "" }] };
}

/** Pays, and accepts every value. */
function toll(pay: (value: unknown) => void): Refinement {
  return refinement((value) => {
    pay(value);
    return true;
  });
}

/**
 * Steps that applying a schema once takes at most. What it applies to every item or
 * property is not in it, nor what references lead to: for that is paid where it happens.
 */
function weightOf(context: Context, schema: Json): number {
  if (!isObject(schema)) return perPart;
  const known = context.weights.get(schema);
  if (known !== undefined) return known;
  const weight = entries(schema).reduce((sum, [name, value]) => sum + keywordWeight(context, name, value), perPart);
  context.weights.set(schema, weight);
  return weight;
}

function keywordWeight(context: Context, name: string, value: Json): number {
  const keyword = vocabulary.get(name);
  if (keyword === undefined || repeating.has(name)) return perFunction;
  const parts = keyword.subschemas(value).map(([, subschema]) => weightOf(context, subschema));
  const members = parts.length > 0 ? 0 : entries(value).length;
  return parts.reduce((sum, weight) => sum + weight, perFunction + members * perPart);
}

/** The keywords that apply schemas to every item or property. */
const repeating: ReadonlySet<string> = new Set([
  "items",
  "contains",
  "additionalProperties",
  "patternProperties",
  "propertyNames",
]);

function bound(context: Context, schema: Json): Bounded {
  return isObject(schema) ? boundKeywords(context, schema) : schema === true;
}

function boundKeywords(context: Context, schema: JsonObject): Keywords {
  const tolls = [...itemsToll(context, schema), ...namesToll(context, schema)];
  const keywords = translate(context, schema);
  // What is paid for comes after, in a schema of its own: keywords of one schema have no order.
  return tolls.length === 0 ? keywords : { allOf: [...tolls, keywords] };
}

function itemsToll(context: Context, { items, contains }: JsonObject): readonly Refinement[] {
  const applied = [items, contains].flatMap((schema) => schema ?? []);
  if (applied.length === 0) return [];
  const steps = applied.reduce<number>((sum, schema) => sum + perPart + weightOf(context, schema), 0);
  return [toll((value) => Array.isArray(value) && context.fuel.burn(value.length * steps))];
}

/** The generated code finds out by itself which schemas apply to a name, one name after the other. */
function namesToll(context: Context, schema: JsonObject): readonly Refinement[] {
  const { fuel } = context;
  const patterns = entries(schema.patternProperties);
  const applied = [schema.additionalProperties, schema.propertyNames, ...patterns.map(([, below]) => below)];
  const schemas = applied.flatMap((below) => below ?? []);
  if (schemas.length === 0) return [];
  const costs = patterns.map(([source]) => costOf(source, context));
  const known = schema.additionalProperties === undefined ? 0 : entries(schema.properties).length;
  const steps = schemas.reduce<number>((sum, below) => sum + weightOf(context, below), perFunction + known * perPart);
  return [
    toll((value) => {
      if (!isObject(value)) return;
      const names = Object.keys(value);
      fuel.burn(priceOfNames(names.length) + names.length * steps);
      for (const name of names) {
        fuel.burn(name.length);
        for (const cost of costs) fuel.burn(2 * (perMatch + patternSteps(cost, name.length)));
      }
    }),
  ];
}

function translate(context: Context, schema: JsonObject): Keywords {
  const allOf: Bounded[] = [];
  const others: Record<string, unknown> = {};
  for (const [name, value] of entries(schema)) {
    const translated = (translations.get(name) ?? unchanged)({ context, name, value });
    allOf.push(...(translated.allOf ?? []));
    Object.assign(others, translated);
  }
  return { ...others, allOf };
}

interface Use {
  readonly context: Context;
  readonly name: string;
  readonly value: Json;
}

/** The keywords that stand for one keyword of a schema. What they have in `allOf` is joined. */
type Translation = (use: Use) => Keywords;

const translations: ReadonlyMap<string, Translation> = new Map<string, Translation>([
  ["$ref", ({ context, value }) => ({ allOf: [context.refer(context.targets.get(String(value)) ?? false)] })],
  ["enum", ({ context, value }) => checked(isAmong(listOf(value), context.fuel))],
  [
    "const",
    ({ context, value }) =>
      isObject(value) || Array.isArray(value) ? checked(isAmong([value], context.fuel)) : { const: value },
  ],
  ["multipleOf", ({ value }) => onNumber((number) => isMultipleOf(number, Number(value)))],
  ["pattern", boundPattern],
  ["format", ({ context, value }) => onText((text) => hasFormat(text, String(value), context.fuel))],
  ["minLength", ({ context, value }) => onText((text) => hasLength(text, Number(value), context.fuel))],
  ["maxLength", ({ context, value }) => onText((text) => !hasLength(text, Number(value) + 1, context.fuel))],
  ["uniqueItems", boundUnique],
  ["minProperties", ({ context, value }) => onNames(context.fuel, (count) => count >= Number(value))],
  ["maxProperties", ({ context, value }) => onNames(context.fuel, (count) => count <= Number(value))],
  // The generator writes this one out three times, and those inside of it nine times.
  ["contains", ({ context, value }) => ({ contains: context.refer(value) })],
  ["properties", ({ context, value }) => ({ properties: boundMembers(context, flatFirst(value)) })],
]);

/** The keyword itself, with its subschemas translated. */
function unchanged({ context, name, value }: Use): Keywords {
  const [first] = vocabulary.get(name)?.subschemas(value) ?? [];
  if (first === undefined) return { [name]: value };
  if (first[0] === "") return { [name]: bound(context, value) };
  const isList = Array.isArray(value);
  return { [name]: isList ? value.map((schema) => bound(context, schema)) : boundMembers(context, entries(value)) };
}

function boundMembers(context: Context, members: readonly (readonly [string, Json])[]): Keywords {
  return Object.fromEntries(members.map(([key, schema]) => [key, bound(context, schema)]));
}

function checked(check: (value: unknown) => boolean): Keywords {
  return { allOf: [refinement(check)] };
}

function onText(holds: (text: string) => boolean): Keywords {
  return checked((value) => typeof value !== "string" || holds(value));
}

function onNumber(holds: (number: number) => boolean): Keywords {
  return checked((value) => typeof value !== "number" || holds(value));
}

/** The generated code would count the names without paying for it. */
function onNames(fuel: Fuel, holds: (count: number) => boolean): Keywords {
  return checked((value) => {
    if (!isObject(value)) return true;
    const { length } = Object.keys(value);
    fuel.burn(priceOfNames(length));
    return holds(length);
  });
}

function boundPattern({ context, value }: Use): Keywords {
  return onText(boundedPattern(String(value), context));
}

function boundUnique({ context, value }: Use): Keywords {
  if (value === false) return {};
  return checked((items) => !Array.isArray(items) || isDistinct(items, context.fuel));
}

function listOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [];
}
