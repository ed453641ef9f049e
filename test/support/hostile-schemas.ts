import type { Json, JsonObject } from "../../src/json/json.ts";

/** A schema that asks for more work than it looks, and a value of about 0.7 MB that gives it. */
export interface Hostile {
  readonly name: string;
  readonly schema: JsonObject;
  readonly value: Json;
}

const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => make(i));
const named = <T>(count: number, make: (index: number) => readonly [string, T]): Readonly<Record<string, T>> =>
  Object.fromEntries(many(count, make));

const zeros = many(60_000, () => 0);
const numbers = many(60_000, (index) => index);
const empties = many(60_000, () => ({}));
const lists = many(60_000, () => []);
const pairs = many(20_000, (index) => ({ a: index, b: "x" }));
const wide = named(50_000, (index) => [`k${index}`, index]);
const longText = "a".repeat(700_000);
const texts = many(700, () => "a".repeat(1_000));

const tree = (depth: number, width: number): Json => (depth === 0 ? 0 : many(width, () => tree(depth - 1, width)));
const chain = (depth: number): Json => (depth === 0 ? 1 : { a: chain(depth - 1) });
const doubled = (keyword: string, depth: number, leaf: JsonObject): JsonObject =>
  depth === 0 ? leaf : { [keyword]: [doubled(keyword, depth - 1, leaf), doubled(keyword, depth - 1, leaf)] };
const negated = (depth: number): JsonObject => (depth === 0 ? { type: "number" } : { not: negated(depth - 1) });
const conditional = (depth: number): JsonObject =>
  depth === 0
    ? { type: "number" }
    : Object.fromEntries(["if", "then", "else"].map((keyword) => [keyword, conditional(depth - 1)]));
const unevaluated = (depth: number): JsonObject =>
  depth === 0 ? {} : { allOf: [unevaluated(depth - 1)], unevaluatedItems: true };

/** Some with as many subschemas as are allowed, others small. */
const table: Readonly<Record<string, readonly [schema: JsonObject, value: Json]>> = {
  "anyOf, for each item": [{ items: { anyOf: many(5_000, (i) => ({ const: `x${i}` })) } }, zeros],
  "anyOf, few": [{ items: { anyOf: many(300, (i) => ({ const: `x${i}` })) } }, zeros],
  "anyOf, of all items": [{ anyOf: many(400, () => ({ items: { type: "number" }, minItems: 1e9 })) }, zeros],
  "oneOf, for each item": [{ items: { oneOf: many(5_000, (i) => ({ const: `x${i}` })) } }, zeros],
  "oneOf, of all items": [{ oneOf: many(300, () => ({ items: { type: "number" } })) }, zeros],
  "contains in items": [
    { items: { contains: { const: 1 } }, contains: { contains: { const: 2 } } },
    many(1_000, () => many(60, () => 0)),
  ],
  "contains in contains": [{ contains: { contains: { contains: { contains: { const: "x" } } } } }, tree(4, 15)],
  "contains, many": [{ allOf: many(400, (i) => ({ contains: { const: `y${i}` } })) }, zeros],
  "contains that never has enough": [{ contains: { type: "number" }, minContains: 1e9, maxContains: 1e9 }, zeros],
  "allOf, nested": [{ items: doubled("allOf", 11, { type: "number" }) }, zeros],
  "anyOf, nested": [{ items: doubled("anyOf", 11, { type: "string" }) }, zeros],
  "oneOf, nested": [{ items: doubled("oneOf", 8, { type: "string" }) }, zeros],
  "$ref in a row": [
    {
      $ref: "#/$defs/d0",
      $defs: {
        ...named(50, (i) => [`d${i}`, i === 49 ? { items: { $ref: "#/$defs/x" } } : { $ref: `#/$defs/d${i + 1}` }]),
        x: { allOf: many(100, () => ({ $ref: "#/$defs/y" })) },
        y: { type: ["string", "number"] },
      },
    },
    zeros,
  ],
  "$ref to itself, twice": [
    {
      $ref: "#/$defs/t",
      $defs: { t: { anyOf: many(2, () => ({ properties: { a: { $ref: "#/$defs/t" } }, required: ["z"] })) } },
    },
    chain(60),
  ],
  "$ref to itself, over a tree": [
    {
      $ref: "#/$defs/t",
      $defs: {
        t: { anyOf: [{ type: "string" }, { items: { $ref: "#/$defs/t" } }], allOf: [{ items: { $ref: "#/$defs/t" } }] },
      },
    },
    tree(5, 9),
  ],
  "$dynamicRef over a tree": [
    { $dynamicAnchor: "n", anyOf: [{ type: "string" }, { items: { $dynamicRef: "#n" } }] },
    tree(5, 9),
  ],
  dependentSchemas: [
    { dependentSchemas: named(200, (i) => [`k${i}`, { additionalProperties: { type: "number" } }]) },
    wide,
  ],
  "dependentSchemas, many": [
    { dependentSchemas: named(4_000, (i) => [`k${i}`, { additionalProperties: { type: "number" } }]) },
    wide,
  ],
  dependentRequired: [{ dependentRequired: named(300, (i) => [`k${i}`, many(300, (j) => `k${j}`)]) }, wide],
  unevaluatedItems: [
    { unevaluatedItems: { type: "number" }, allOf: many(500, () => ({ contains: { type: "number" } })) },
    zeros,
  ],
  "unevaluatedItems, nested": [unevaluated(50), zeros],
  unevaluatedProperties: [
    { unevaluatedProperties: false, anyOf: many(500, () => ({ additionalProperties: { type: "number" } })) },
    wide,
  ],
  propertyNames: [{ propertyNames: { allOf: many(300, () => ({ pattern: "^[a-z0-9]*$" })) } }, wide],
  patternProperties: [{ patternProperties: named(300, (i) => [`^k[0-9]*${i}?$`, { type: "number" }]) }, wide],
  "patternProperties, long names": [
    { patternProperties: named(50, (i) => [`a*b${i}`, true]) },
    named(700, (i) => [`${"a".repeat(1_000)}${i}`, 1]),
  ],
  additionalProperties: [{ anyOf: many(300, () => ({ properties: { a: true }, additionalProperties: false })) }, wide],
  minProperties: [{ allOf: many(300, () => ({ minProperties: 1 })) }, wide],
  maxProperties: [{ allOf: many(300, () => ({ maxProperties: 1e9 })) }, wide],
  "properties, for each item": [{ items: { properties: named(5_000, (i) => [`p${i}`, { type: "number" }]) } }, empties],
  "required, for each item": [{ items: { not: { required: many(1_000, (i) => `p${i}`) } } }, empties],
  "prefixItems, for each item": [{ items: { prefixItems: many(5_000, () => true) } }, lists],
  "uniqueItems of numbers": [{ allOf: many(300, () => ({ uniqueItems: true })) }, numbers],
  "uniqueItems of objects": [{ allOf: many(300, () => ({ uniqueItems: true })) }, pairs],
  "enum of many": [{ items: { enum: many(50_000, (i) => `e${i}`) } }, many(60_000, (i) => `e${i % 50_000}`)],
  "enum of objects": [{ items: { not: { enum: many(5_000, (i) => ({ a: i, b: "y" })) } } }, pairs],
  "const of many values": [
    { anyOf: many(10, (i) => ({ const: [...zeros.slice(1, 6_000), i] })) },
    zeros.slice(0, 6_000),
  ],
  "not, nested": [{ items: negated(50) }, zeros],
  "if, then and else, nested": [{ items: conditional(5) }, zeros],
  "pattern, many": [{ allOf: many(300, (i) => ({ pattern: `^(?:a|b${i})*$` })) }, longText],
  "pattern, quadratic": [{ items: { pattern: "a*a*b" } }, texts],
  "format, many": [
    { allOf: many(300, (i) => ({ format: ["email", "uri", "ipv6", "hostname", "regex"][i % 5] ?? "uri" })) },
    longText,
  ],
  "minLength of pairs": [{ allOf: many(300, () => ({ minLength: 350_000 })) }, "😀".repeat(350_000)],
};

export const hostile: readonly Hostile[] = Object.entries(table).map(([name, [schema, value]]) => ({
  name,
  schema,
  value,
}));
