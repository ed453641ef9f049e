import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json/json.ts";
import { inspectSchema } from "./inspect.ts";

function problemOf(schema: JsonObject): string | undefined {
  const inspection = inspectSchema(schema);
  return inspection.ok ? undefined : inspection.problem;
}

/** `{ properties: { a: { properties: { a: … } } } }` */
function nested(levels: number): JsonObject {
  let schema: JsonObject = {};
  for (let level = 0; level < levels; level++) schema = { properties: { a: schema } };
  return schema;
}

describe("inspectSchema", () => {
  it.each<JsonObject>([
    {},
    { type: "object" },
    { type: ["string", "null"] },
    { properties: { a: true, b: false } },
    { $schema: "https://json-schema.org/draft/2020-12/schema" },
    { $schema: "https://json-schema.org/draft/2020-12/schema#" },
    { $schema: "http://json-schema.org/draft-07/schema#", items: [{}, {}], definitions: { a: {} } },
    { $schema: "http://json-schema.org/draft-07/schema" },
    { $id: "https://example.com/root", $ref: "#/$defs/a", $defs: { a: {} } },
    { $ref: "#/definitions/a", definitions: { a: { $ref: "#/definitions/b" }, b: {} } },
    { $ref: "#name", $defs: { a: { $anchor: "name" } } },
    { $ref: "#name", definitions: { a: { $id: "#name" } } },
    { $dynamicRef: "#name", $defs: { a: { $dynamicAnchor: "name" } } },
    { $ref: "#/$defs/a~1b%25", $defs: { "a/b%": {} } },
    { $ref: "#/components/schemas/a", components: { schemas: { a: { type: "string" } } } },
    { properties: { next: { $ref: "#" } } },
    { properties: { $ref: { type: "string" }, pattern: { const: "(a+)+$" } } },
    { default: { $ref: "http://example.com" }, examples: [{ type: "nothing" }], "x-anything": { type: 3 } },
    { enum: [], required: [], dependencies: { a: ["b"], c: {} } },
    { pattern: "^[a-z]+$", patternProperties: { "f.*o": {} } },
    nested(64),
  ])("accepts %j", (schema) => {
    expect(problemOf(schema)).toBeUndefined();
  });

  it.each<[JsonObject, string]>([
    [{ type: "strin" }, "#/type must be one of string, number"],
    [{ type: [] }, "#/type must be one of"],
    [{ properties: { a: { type: 1 } } }, "#/properties/a/type must be one of"],
    [{ properties: [] }, "#/properties must be an object of schemas"],
    [{ properties: { "a/b": 1 } }, "#/properties/a~1b must be a schema"],
    [{ required: "a" }, "#/required must be an array of strings"],
    [{ required: [1] }, "#/required must be an array of strings"],
    [{ enum: "a" }, "#/enum must be an array"],
    [{ minimum: "1" }, "#/minimum must be a number"],
    [{ exclusiveMinimum: true }, "#/exclusiveMinimum must be a number"],
    [{ multipleOf: 0 }, "#/multipleOf must be a number greater than 0"],
    [{ minLength: -1 }, "#/minLength must be a non-negative integer"],
    [{ maxItems: 1.5 }, "#/maxItems must be a non-negative integer"],
    [{ uniqueItems: 1 }, "#/uniqueItems must be a boolean"],
    [{ items: 3 }, "#/items must be a schema"],
    [{ items: [{}] }, "#/items must be a schema; use prefixItems"],
    [{ prefixItems: {} }, "#/prefixItems must be a non-empty array of schemas"],
    [{ anyOf: [] }, "#/anyOf must be a non-empty array of schemas"],
    [{ allOf: [{}, null] }, "#/allOf/1 must be a schema"],
    [{ not: "a" }, "#/not must be a schema"],
    [{ dependentRequired: { a: "b" } }, "#/dependentRequired must be an object of arrays of strings"],
    [{ $defs: { a: 3 } }, "#/$defs/a must be a schema"],
    [
      { $schema: "http://json-schema.org/draft-03/schema#" },
      "#/$schema names the dialect http://json-schema.org/draft-03",
    ],
    [{ pattern: "[" }, "#/pattern cannot be used: Invalid regular expression"],
    [{ pattern: String.raw`\d{2,1}` }, "#/pattern cannot be used: Invalid regular expression"],
    [{ pattern: String.raw`^\_$` }, "#/pattern cannot be used: Invalid regular expression"],
    [{ pattern: "a".repeat(4097) }, "#/pattern cannot be used: it is longer than 4096 characters"],
    [{ patternProperties: { "(a": {} } }, "#/patternProperties/(a cannot be used: Invalid regular expression"],
    [nested(65), "is nested deeper than 64 levels"],
    [{ anyOf: Array.from({ length: 10_000 }, () => ({})) }, "one subschema too many"],
  ])("refuses %j", (schema, problem) => {
    expect(problemOf(schema)).toContain(problem);
  });

  it("keeps to the limits it is given", () => {
    expect(inspectSchema(nested(3), { maxDepth: 2, maxSubschemas: 10 })).toMatchObject({ ok: false });
    expect(inspectSchema(nested(3), { maxDepth: 9, maxSubschemas: 3 })).toMatchObject({ ok: false });
    expect(inspectSchema(nested(3), { maxDepth: 3, maxSubschemas: 4 })).toMatchObject({ ok: true });
  });

  it("notes every pattern once, with its place", () => {
    const schema = {
      pattern: "^a",
      properties: { b: { pattern: "^a" } },
      patternProperties: { "^/": { pattern: "c" } },
    };
    const inspection = inspectSchema(schema);
    expect(inspection.ok && [...inspection.value.patterns]).toEqual([
      ["^a", "#/pattern"],
      ["^/", "#/patternProperties/^~1"],
      ["c", "#/patternProperties/^~1/pattern"],
    ]);
  });
});
