import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../json/json.ts";
import {
  jsonSchemaLowering,
  type Lowered,
  type Lowering,
  openApiLowering,
  plainLowering,
  strictLowering,
} from "./lower.ts";

const names = { safe: /^[A-Za-z0-9_.-]{1,64}$/, unsafe: /[^A-Za-z0-9_.-]/g, maxLength: 64 };
const exact = plainLowering({ portablePatterns: false, itemsRequired: false }, names);
const plain = plainLowering({ portablePatterns: true, itemsRequired: true }, names);
const strict = strictLowering(plain, names);
const openApi = openApiLowering(names);
const json = jsonSchemaLowering(names);

function lowered<P>(lowering: Lowering<P>, schema: JsonObject): Lowered<P> {
  const made = lowering(schema);
  if (made === undefined) throw new Error("it cannot be told");
  return made;
}

/** How one argument is told. */
function told<P>(lowering: Lowering<P>, argument: JsonObject, more: JsonObject = {}): unknown {
  const schema = { type: "object", properties: { it: argument }, required: ["it"], ...more };
  const { parameters } = lowered(lowering, schema) as Lowered<{ properties: Record<string, unknown> }>;
  return parameters.properties.it;
}

/** What is not told about one argument. */
function unsaid<P>(lowering: Lowering<P>, argument: JsonObject): readonly string[] {
  const schema = { type: "object", properties: { it: argument }, required: ["it"], additionalProperties: false };
  return lowered(lowering, schema).notes.map(({ pointer, keyword }) => `${pointer} ${keyword}`);
}

describe("a provider that reads JSON Schema", () => {
  it("gets a schema as it is", () => {
    const schema = {
      type: "object",
      properties: {
        a: { type: "string", minLength: 1, pattern: "^(?=a)\\p{L}", format: "email", default: "a@b" },
        b: { oneOf: [{ type: "integer", exclusiveMinimum: 0 }, { not: { type: "number" } }] },
        c: { type: "array", prefixItems: [{ const: 1 }], items: false, uniqueItems: true, contains: { const: 1 } },
        d: { type: "object", patternProperties: { "^x": { type: "null" } }, unevaluatedProperties: false },
      },
      required: ["a"],
      dependentRequired: { b: ["c"] },
      "x-own": true,
    };
    const { parameters, notes } = lowered(exact, schema);
    expect(parameters).toEqual(schema);
    expect(notes).toEqual([]);
  });

  it("finds all definitions in one place, also those of draft 7 and of other places", () => {
    const { parameters, notes } = lowered(exact, {
      $schema: "http://json-schema.org/draft-07/schema#",
      $id: "https://a.b/c",
      type: "object",
      properties: {
        tree: { $ref: "#/definitions/a%20tree" },
        other: { $ref: "#/properties/tree" },
        whole: { $ref: "#" },
        named: { $ref: "#name" },
      },
      definitions: {
        "a tree": { type: "array", items: { $ref: "#/definitions/a%20tree" } },
        n: { $anchor: "name", type: "string" },
        unused: { type: "null" },
      },
    });
    expect(notes).toEqual([]);
    expect(parameters.properties).toEqual({
      tree: { $ref: "#/$defs/a_20tree" },
      other: { $ref: "#/$defs/tree" },
      whole: { $ref: "#/$defs/schema" },
      named: { $ref: "#/$defs/_name" },
    });
    expect(parameters.$defs).toMatchObject({
      a_20tree: { type: "array", items: { $ref: "#/$defs/a_20tree" } },
      tree: { $ref: "#/$defs/a_20tree" },
      schema: { properties: { whole: { $ref: "#/$defs/schema" } } },
      _name: { type: "string" },
    });
    expect(Object.keys(parameters.$defs ?? {})).toHaveLength(4);
    expect(JSON.stringify(parameters)).not.toMatch(/definitions|\$schema|\$id|\$anchor/);
  });

  it("gets draft 7 in the words of 2020-12", () => {
    const $schema = "http://json-schema.org/draft-07/schema#";
    const tuple = { type: "array", items: [{ type: "string" }, true], additionalItems: { type: "null" } };
    expect(told(exact, tuple, { $schema })).toEqual({
      type: "array",
      prefixItems: [{ type: "string" }, {}],
      items: { type: "null" },
    });
    expect(told(exact, { dependencies: { a: ["b"], c: { required: ["d"] } } }, { $schema })).toEqual({
      dependentRequired: { a: ["b"] },
      dependentSchemas: { c: { required: ["d"] } },
    });
  });

  it("has an object without composition at the root", () => {
    const { parameters, notes } = lowered(exact, {
      description: "Sends",
      $defs: { base: { type: "object", properties: { to: { type: "string" } }, required: ["to"] } },
      allOf: [{ $ref: "#/$defs/base" }],
      oneOf: [
        {
          properties: { kind: { const: "mail" }, cc: { type: "string" } },
          required: ["kind"],
          additionalProperties: true,
        },
        { properties: { kind: { const: "chat" }, cc: { type: "integer" } }, required: ["kind", "cc"] },
      ],
    });
    expect(parameters).toEqual({
      type: "object",
      description: 'Sends (either { to, kind "mail" } or { to, kind "chat", cc })',
      properties: {
        to: { type: "string" },
        kind: { type: "string", enum: ["mail", "chat"] },
        cc: { anyOf: [{ type: "string" }, { type: "integer" }] },
      },
      required: ["to", "kind"],
    });
    expect(notes.map(({ pointer, keyword }) => [pointer, keyword])).toEqual([
      ["", "oneOf"],
      ["", "anyOf"],
    ]);
  });

  it("keeps the root when its branches only say what goes together", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string" } },
      minProperties: 1,
      additionalProperties: false,
    };
    const { parameters, notes } = lowered(exact, { ...schema, anyOf: [{ required: ["a"] }, { required: ["b"] }] });
    expect(parameters).toEqual({ ...schema, description: 'anyOf [{"required":["a"]},{"required":["b"]}]' });
    expect(notes).toMatchObject([{ pointer: "", keyword: "anyOf" }]);
  });

  it.each<JsonObject>([
    { type: "array" },
    { type: ["string", "null"] },
    { anyOf: [{ type: "string" }, { type: "null" }] },
    { allOf: [{ type: "object" }, { type: "string" }] },
    { allOf: [{ type: "object" }, false] },
  ])("cannot be told of arguments that are no object: %j", (schema) => {
    for (const lowering of [exact, strict, openApi, json]) expect(lowering(schema)).toBeUndefined();
  });

  it.each<JsonObject>([
    {},
    { type: ["object", "null"] },
    { title: "x" },
    { allOf: [true] },
    { not: { type: "string" } },
  ])("gets an object for a root that could be more: %j", (schema) => {
    expect(lowered(exact, schema).parameters.type).toBe("object");
    expect(lowered(strict, schema).parameters.type).toBe("object");
    expect(lowered(openApi, schema).parameters.type).toBe("OBJECT");
  });

  it("gets patterns and items only as it can read them", () => {
    expect(told(plain, { type: "array" })).toEqual({ type: "array", items: {} });
    expect(told(plain, { type: "string", pattern: "^a" })).toEqual({ type: "string", pattern: "^a" });
    expect(told(plain, { type: "string", pattern: "^(?!a)" })).toEqual({
      type: "string",
      description: "pattern ^(?!a)",
    });
    expect(unsaid(plain, { type: "string", pattern: "^(?!a)" })).toEqual(["/properties/it pattern"]);
  });

  it("gets nothing that would mean more than it should for want of a pattern", () => {
    const odd = { type: "string", pattern: "\\p{L}" };
    expect(told(plain, { not: odd, description: "No letter" })).toEqual({
      description: 'No letter (not {"type":"string","pattern":"\\\\p{L}"})',
    });
    expect(told(plain, { oneOf: [odd, { type: "string", maxLength: 1 }] })).toEqual({
      anyOf: [
        { type: "string", description: "pattern \\p{L}" },
        { type: "string", maxLength: 1 },
      ],
    });
    expect(told(plain, { patternProperties: { "\\p{L}": {}, "^a": {} }, additionalProperties: false })).toMatchObject({
      patternProperties: { "^a": {} },
    });
    expect(unsaid(plain, { patternProperties: { "\\p{L}": {} }, additionalProperties: false })).toEqual([
      "/properties/it patternProperties",
      "/properties/it additionalProperties",
    ]);
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    expect(unsaid(plain, { if: odd, then: { minLength: 2 }, unevaluatedItems: false })).toEqual([
      "/properties/it unevaluatedItems",
      "/properties/it if",
      "/properties/it then",
    ]);
  });

  it("gets other keywords of the root only while names are as they were", () => {
    const schema = {
      type: "object",
      properties: { "a b": {}, c: {} },
      required: ["a b"],
      dependentRequired: { c: ["a b"] },
    };
    const { parameters, notes } = lowered(exact, { ...schema, additionalProperties: false });
    expect(parameters.dependentRequired).toBeUndefined();
    expect(parameters.additionalProperties).toBe(false);
    expect(notes.map(({ keyword }) => keyword)).toEqual(["properties", "dependentRequired"]);
  });
});

describe("Gemini", () => {
  it.each<[string, JsonObject, unknown]>([
    ["text", { type: "string", minLength: 1, maxLength: 2 }, { type: "STRING", minLength: "1", maxLength: "2" }],
    ["a list", { enum: ["a", "b"] }, { type: "STRING", format: "enum", enum: ["a", "b"] }],
    ["one value", { const: "a" }, { type: "STRING", format: "enum", enum: ["a"] }],
    ["a list with nothing in it", { enum: ["", "b"] }, { type: "STRING", description: 'one of ["","b"]' }],
    ["numbers in a list", { type: "integer", enum: [1, 2] }, { type: "INTEGER", description: "one of [1,2]" }],
    [
      "whole numbers",
      { type: "integer", exclusiveMinimum: 0, maximum: 9 },
      { type: "INTEGER", minimum: 1, maximum: 9 },
    ],
    [
      "numbers",
      { type: "number", exclusiveMinimum: 0 },
      { type: "NUMBER", minimum: 0, description: "exclusiveMinimum 0" },
    ],
    ["a format", { type: "string", format: "uuid" }, { type: "STRING", description: "format uuid" }],
    ["a time", { type: "string", format: "date-time" }, { type: "STRING", format: "date-time" }],
    ["null", { type: "null" }, { type: "NULL" }],
    [
      "null or not",
      { type: ["string", "null"], description: "A" },
      { type: "STRING", nullable: true, description: "A" },
    ],
    [
      "several types, and nothing beside them",
      { anyOf: [{ type: "string" }, { type: "boolean" }, { type: "null" }], description: "A" },
      {
        anyOf: [
          { type: "STRING", nullable: true, description: "A" },
          { type: "BOOLEAN", nullable: true },
        ],
      },
    ],
    ["an object of anything", { type: "object", additionalProperties: true }, { type: "OBJECT" }],
    [
      "an object",
      { type: "object", properties: { a: { type: "boolean" } }, required: ["a", "b"], additionalProperties: false },
      { type: "OBJECT", properties: { a: { type: "BOOLEAN" } }, required: ["a"] },
    ],
    [
      "parts of an object",
      {
        allOf: [
          { type: "object", properties: { a: { minimum: 1 } } },
          { properties: { a: { type: "number", minimum: 2 } } },
        ],
      },
      { type: "OBJECT", properties: { a: { type: "NUMBER", minimum: 2 } } },
    ],
    [
      "a tuple",
      { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: false },
      { type: "ARRAY", items: { anyOf: [{ type: "STRING" }, { type: "NUMBER" }] }, maxItems: "2" },
    ],
    [
      "unique items",
      { type: "array", items: { type: "string" }, uniqueItems: true },
      { type: "ARRAY", items: { type: "STRING" }, description: "uniqueItems true" },
    ],
  ])("is told of %s", (_, argument, schema) => {
    expect(told(openApi, argument)).toEqual(schema);
  });

  it("is told of anything as any type, for a type there must be", () => {
    const { anyOf } = told(openApi, { description: "Whatever" }) as { anyOf: readonly JsonObject[] };
    expect(anyOf.map(({ type }) => type)).toEqual(["STRING", "NUMBER", "BOOLEAN", "OBJECT", "ARRAY"]);
    expect(anyOf[0]).toEqual({ type: "STRING", nullable: true, description: "Whatever" });
    expect(unsaid(openApi, {})).toContain("/properties/it type");
    expect(told(json, { description: "Whatever" })).toEqual({ description: "Whatever" });
  });

  it("is told of what is inside of itself some times, then only by type", () => {
    const $defs = { tree: { type: "object", properties: { next: { $ref: "#/$defs/tree" } } } };
    const tree = told(openApi, { $ref: "#/$defs/tree", description: "A tree" }, { $defs });
    const end = { type: "OBJECT" };
    expect(tree).toEqual({
      type: "OBJECT",
      description: "A tree",
      properties: { next: { type: "OBJECT", properties: { next: end } } },
    });
    const { notes } = lowered(json, { properties: { a: { $ref: "#/$defs/tree" } }, $defs });
    expect(notes).toMatchObject([{ pointer: "/$defs/tree/properties/next", keyword: "$ref" }]);
  });

  it("is told in words what goes for all arguments", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "string" } },
      not: { required: ["a"] },
      minProperties: 1,
    };
    const { parameters, notes } = lowered(openApi, schema);
    expect(parameters.description).toBe('not {"required":["a"]}; minProperties 1');
    expect(notes.map(({ pointer, keyword }) => `${pointer} ${keyword}`)).toEqual([" not", " minProperties"]);
  });

  it("is told only so much of a schema that would grow without end", () => {
    const keys = Array.from({ length: 10 }, (_, n) => `k${n}`);
    const node = { type: "object", properties: Object.fromEntries(keys.map((key) => [key, { $ref: "#/$defs/node" }])) };
    const anyOf = keys.map(() => node);
    const schema = { type: "object", properties: { a: { $ref: "#/$defs/node" } }, $defs: { node: { anyOf } } };
    expect(JSON.stringify(lowered(openApi, schema).parameters).length).toBeLessThan(200_000);
  });

  it("can read a part of JSON Schema", () => {
    expect(told(json, { type: ["integer", "null"], exclusiveMaximum: 3 })).toEqual({
      type: ["integer", "null"],
      maximum: 2,
    });
    expect(told(json, { enum: ["a", null], description: "A" })).toEqual({
      anyOf: [{ type: "string", enum: ["a"] }, { type: "null" }],
      description: "A",
    });
    expect(told(json, { type: "object", additionalProperties: { type: "string", maxLength: 2 } })).toEqual({
      type: "object",
      properties: {},
      additionalProperties: { type: "string", description: "maxLength 2" },
    });
    expect(told(json, { type: "array", prefixItems: [{ const: 1 }] })).toEqual({
      type: "array",
      prefixItems: [{ type: "integer", enum: [1] }],
      items: {},
    });
  });
});

describe("a schema that is made to take long", () => {
  const many = (count: number, make: (n: number) => JsonObject): readonly JsonObject[] =>
    Array.from({ length: count }, (_, n) => make(n));
  const pair = (n: number): JsonObject => ({
    anyOf: [{ properties: { [`a${n}`]: { type: "string" } } }, { properties: { [`b${n}`]: { type: "number" } } }],
  });

  it.each<[string, JsonObject]>([
    ["many parts", { allOf: many(1000, (n) => ({ properties: { [`p${n}`]: { pattern: "^(?!a)" } } })) }],
    ["many combinations", { allOf: many(40, pair) }],
    ["many combinations inside", { properties: { a: { allOf: many(40, pair) }, b: { allOf: many(40, pair) } } }],
    [
      "many ways to be inside of itself",
      {
        properties: { a: { $ref: "#/$defs/n0", minProperties: 0 } },
        $defs: Object.fromEntries(
          many(20, (n) => ({ $ref: `#/$defs/n${(n * 7 + 3) % 20}` })).map((reference, n) => [
            `n${n}`,
            { properties: { a: { allOf: [reference, { $ref: `#/$defs/n${(n + 1) % 20}` }] }, b: reference } },
          ]),
        ),
      },
    ],
  ])("is lowered all the same: %s", (_, schema) => {
    for (const lowering of [exact, plain, strict, openApi, json] as readonly Lowering<unknown>[]) {
      const made = lowered(lowering, { type: "object", ...schema });
      expect(JSON.stringify(made.parameters).length).toBeLessThan(400_000);
      expect(made.notes.length).toBeLessThanOrEqual(101);
    }
  });
});
