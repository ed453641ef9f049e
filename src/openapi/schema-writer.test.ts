import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../json/json.ts";
import { createSchemaWriter } from "./schema-writer.ts";

/** What a schema of a document becomes. */
function written(schema: Json, { isOld = true, direction = "input", schemas = {} }: Options = {}): JsonObject {
  const documents = new Map<string, Json>([["", { schema, components: { schemas } }]]);
  const writer = createSchemaWriter({ documents, isOld, direction });
  const root = writer.write({ value: schema, document: "", at: "/schema" });
  const definitions = writer.definitions();
  return definitions === undefined ? root : { ...root, $defs: definitions };
}

interface Options {
  readonly isOld?: boolean;
  readonly direction?: "input" | "output";
  readonly schemas?: JsonObject;
}

const pet = { $ref: "#/components/schemas/Pet" };

describe("a schema of OpenAPI 3.0", () => {
  it.each<[JsonObject, JsonObject]>([
    [{ type: "string", nullable: true }, { type: ["string", "null"] }],
    [
      { type: "string", nullable: true, enum: ["a"] },
      { type: ["string", "null"], enum: ["a", null] },
    ],
    [{ nullable: true, allOf: [{ type: "object" }] }, { anyOf: [{ allOf: [{ type: "object" }] }, { type: "null" }] }],
    [
      { type: "integer", minimum: 1, exclusiveMinimum: true },
      { type: "integer", exclusiveMinimum: 1 },
    ],
    [
      { type: "integer", maximum: 1, exclusiveMaximum: false },
      { type: "integer", maximum: 1 },
    ],
    [
      { type: "string", format: "binary" },
      { type: "string", contentEncoding: "base64" },
    ],
    [
      { type: "string", example: "a" },
      { type: "string", examples: ["a"] },
    ],
    [{ type: "file", required: true, xml: {}, "x-mcp-header": "A" }, {}],
  ])("%j is %j in 2020-12", (schema, expected) => {
    expect(written(schema)).toEqual(expected);
  });

  it("ignores what stands beside a reference", () => {
    const schemas = { Pet: { type: "string" } };
    expect(written({ properties: { a: { ...pet, description: "x" } } }, { schemas })).toEqual({
      properties: { a: { $ref: "#/$defs/Pet" } },
      $defs: { Pet: { type: "string" } },
    });
  });
});

describe("a schema", () => {
  it("of 3.1 keeps its words, and what stands beside a reference", () => {
    const schema = { type: ["string", "null"], exclusiveMinimum: 1, properties: { a: { ...pet, description: "x" } } };
    const { properties, ...rest } = written(schema, { isOld: false, schemas: { Pet: {} } });
    expect(rest).toEqual({ type: ["string", "null"], exclusiveMinimum: 1, $defs: { Pet: {} } });
    expect(properties).toEqual({ a: { $ref: "#/$defs/Pet", description: "x" } });
  });

  it("that refers to itself ends in a reference", () => {
    const schemas = { Pet: { type: "object", properties: { parent: pet } } };
    expect(written(pet, { schemas })).toEqual({
      type: "object",
      properties: { parent: { $ref: "#/$defs/Pet" } },
      $defs: { Pet: { type: "object", properties: { parent: { $ref: "#/$defs/Pet" } } } },
    });
  });

  it("whose reference leads in a circle, or nowhere, is refused", () => {
    const schemas = { Pet: pet };
    expect(() => written(pet, { schemas })).toThrow(/lead in a circle/);
    expect(() => written({ items: { $ref: "#/components/schemas/Cat" } })).toThrow(
      /"#\/components\/schemas\/Cat" at #\/schema\/items leads nowhere/,
    );
    expect(() => written({ items: { $ref: "#/constructor" } })).toThrow(/leads nowhere/);
  });

  it("leaves out what only goes the other way", () => {
    const schema = {
      properties: { id: { readOnly: true }, name: {}, password: { writeOnly: true } },
      required: ["id", "name", "password"],
    };
    expect(written(schema).required).toEqual(["name", "password"]);
    expect(Object.keys(written(schema).properties as object)).toEqual(["name", "password"]);
    expect(written(schema, { direction: "output" }).required).toEqual(["id", "name"]);
  });

  it("tells by its discriminator which alternative is meant", () => {
    const schema = {
      oneOf: [{ $ref: "#/components/schemas/Cat" }, { $ref: "#/components/schemas/Dog" }],
      discriminator: { propertyName: "kind", mapping: { meow: "#/components/schemas/Cat", purr: "Cat" } },
    };
    expect(written(schema, { schemas: { Cat: {}, Dog: {} } }).oneOf).toEqual([
      { $ref: "#/$defs/Cat", properties: { kind: { enum: ["meow", "purr"] } }, required: ["kind"] },
      { $ref: "#/$defs/Dog", properties: { kind: { enum: ["Dog"] } }, required: ["kind"] },
    ]);
  });

  it("is bounded in size and depth", () => {
    const deep = Array.from({ length: 100 }).reduce<JsonObject>((items) => ({ items }), {});
    expect(() => written(deep)).toThrow(/nested deeper/);
    expect(() => written({ allOf: Array.from({ length: 6_000 }, () => ({})) })).toThrow(/more than 5000/);
  });

  it("may have members that are called like keywords and prototypes", () => {
    const schema = JSON.parse(
      '{"properties":{"__proto__":{"type":"string"},"$ref":{"type":"string"},"type":{"type":"string"}}}',
    );
    expect(Object.keys(written(schema).properties as object)).toEqual(["__proto__", "$ref", "type"]);
  });
});
