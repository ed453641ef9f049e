import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../json/json.ts";
import { checkFormSchema, fillDefaults } from "./form.ts";

function form(field: Json): JsonObject {
  return { type: "object", properties: { field } };
}

describe("checkFormSchema", () => {
  it.each<Json>([
    { type: "string", minLength: 1, maxLength: 9, format: "email", default: "a@b.c", title: "Mail" },
    { type: "number", minimum: 1, maximum: 9 },
    { type: "integer" },
    { type: "integer", enum: [1, 2] },
    { type: "boolean", default: true },
    { type: "string", enum: ["a", "b"] },
    { enum: ["a", "b"] },
    { type: "string", enum: ["a", "b"], enumNames: ["A", "B"] },
    { type: "string", oneOf: [{ const: "a", title: "A" }] },
    { type: "array", items: { type: "string", enum: ["a", "b"] }, minItems: 1 },
    { type: "array", items: { anyOf: [{ const: "a", title: "A" }] } },
  ])("accepts the field %j", (field) => {
    expect(checkFormSchema(form(field))).toBeUndefined();
  });

  it("accepts a form without fields", () => {
    expect(checkFormSchema({ type: "object", properties: {} })).toBeUndefined();
  });

  it.each<[Json, string]>([
    [{ type: "object", properties: {} }, "#/properties/field is an object, but a form must be flat"],
    [{ properties: { a: { type: "string" } } }, "must be flat"],
    [{ type: "array", items: { type: "object" } }, "#/properties/field is an array, but not one of choices"],
    [{ type: "array", items: { type: "string" } }, "choices must be a non-empty array"],
    [{ type: "array", items: { anyOf: [{ type: "object" }] } }, "must be strings"],
    [{ type: "array", items: { type: "number" } }, "choices must be strings"],
    [{ type: "array" }, "choices must be a non-empty array"],
    [{ type: "string", enum: [] }, "choices must be a non-empty array"],
    [{ type: "string", enum: [1] }, "choices must be strings"],
    [{ type: "string", oneOf: [{ title: "A" }] }, "choices must be strings"],

    [{ type: "object", oneOf: [{ const: "a" }] }, "must be flat"],
    [{ type: ["string", "null"] }, "must have the type"],
    [{ anyOf: [{ type: "string" }] }, "must have the type"],
    [{ $ref: "#/$defs/a" }, "must have the type"],
    [{}, "must have the type"],
    [true, "must be a schema of a field"],
  ])("refuses the field %j", (field, problem) => {
    expect(checkFormSchema(form(field))).toContain(problem);
  });

  it.each<[JsonObject, string]>([
    [{ type: "string" }, '# must have the type "object"'],
    [{ properties: {} }, '# must have the type "object"'],
    [{ type: "object" }, "#/properties must be an object"],
  ])("refuses %j", (schema, problem) => {
    expect(checkFormSchema(schema)).toContain(problem);
  });
});

describe("fillDefaults", () => {
  const schema = {
    type: "object",
    properties: { a: { type: "string", default: "x" }, b: { type: "array", default: [] }, c: { type: "string" } },
  };

  it("fills what is absent and keeps the rest", () => {
    const value = { a: undefined, c: "y", other: 1 };
    expect(fillDefaults(schema, value)).toEqual({ a: "x", b: [], c: "y", other: 1 });
    expect(value).toEqual({ a: undefined, c: "y", other: 1 });
    expect(fillDefaults(schema, { a: "", b: ["z"] })).toEqual({ a: "", b: ["z"] });
    expect(fillDefaults({ type: "object" }, { a: 1 })).toEqual({ a: 1 });
  });

  it("sets no prototype", () => {
    const filled = fillDefaults(JSON.parse('{"properties":{"__proto__":{"default":{"x":1}}}}'), {});
    expect(Object.hasOwn(filled, "__proto__")).toBe(true);
    expect(Object.getPrototypeOf(filled)).toBe(Object.prototype);
  });
});
