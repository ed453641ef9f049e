import { describe, expect, it } from "vitest";
import type { Json } from "../json/json.ts";
import { createDefinitions, createNames } from "./definitions.ts";
import { typeText } from "./type-text.ts";

/** What is written for a schema. */
function typed(schema: Json): string {
  const definitions = createDefinitions(createNames([]), { maxDepth: 64, maxSubschemas: 10_000 });
  return typeText(definitions.read(schema, { prefix: "My", name: "MyRoot" }));
}

const person = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const aged = { type: "object", properties: { age: { type: "number" } } };

describe("scalars", () => {
  it.each([
    [{ type: "string", pattern: "^a" }, "string"],
    [{ type: "integer" }, "number"],
    [{ type: ["integer", "number"] }, "number"],
    [{ type: ["string", "null"] }, "string | null"],
    [{ type: "string", nullable: true }, "string | null"],
    [{ type: ["string", "null"], nullable: true }, "string | null"],
    [{}, "unknown"],
    [true, "unknown"],
    [false, "never"],
    [{ not: {} }, "never"],
    [{ not: true }, "never"],
    [{ type: "string", not: { const: "a" } }, "string"],
    [{ type: "file" }, "unknown"],
    [{ type: [] }, "never"],
    [{ type: 7 }, "unknown"],
    ["string", "unknown"],
    [null, "unknown"],
  ])("%j is %s", (schema, text) => {
    expect(typed(schema as Json)).toBe(text);
  });
});

describe("constants and enumerations", () => {
  it.each([
    [{ const: "a" }, '"a"'],
    [{ const: null }, "null"],
    [{ type: "string", const: "a", enum: ["b"] }, '"a"'],
    [{ enum: ["a", "a", 1, null] }, '"a" | 1 | null'],
    [{ enum: [] }, "never"],
    [{ const: { a: [1, "x"], "b c": {} } }, '{ readonly a: readonly [1, "x"]; readonly "b c": {} }'],
    [{ enum: ["a"], nullable: true }, '"a" | null'],
    [{ const: "x".repeat(2_000) }, "string"],
    [{ enum: ["a", "x".repeat(2_000)] }, "string"],
    [{ const: Number.POSITIVE_INFINITY }, "number"],
  ])("%j is %s", (schema, text) => {
    expect(typed(schema as Json)).toBe(text);
  });
});

describe("arrays and tuples", () => {
  const pair = [{ type: "string" }, { type: "number" }];
  it.each([
    [{ type: "array" }, "unknown[]"],
    [{ type: "array", items: false }, "never[]"],
    [{ type: "array", items: { type: ["string", "number"] } }, "(string | number)[]"],
    [{ type: "array", items: { allOf: [person, aged] } }, "({ name: string } & { age?: number })[]"],
    [{ type: "array", prefixItems: pair }, "[string, number]"],
    [{ type: "array", prefixItems: pair, items: false }, "[string, number]"],
    [{ type: "array", prefixItems: pair, items: true }, "[string, number, ...unknown[]]"],
    [
      { type: "array", prefixItems: pair, items: { enum: ["a", "b"] }, minItems: 1 },
      '[string, number?, ...("a" | "b")[]]',
    ],
    [{ type: "array", prefixItems: pair, minItems: 0 }, "[string?, number?]"],
    [{ type: "array", prefixItems: pair, minItems: 9 }, "[string, number]"],
    [{ type: "array", prefixItems: pair, maxItems: 1 }, "[string]"],
    [{ type: "array", prefixItems: pair, maxItems: 2, items: {} }, "[string, number]"],
    [{ type: "array", items: pair, additionalItems: { type: "boolean" } }, "[string, number, ...boolean[]]"],
    [{ type: "array", items: pair }, "[string, number]"],
    [{ items: { type: "string" } }, "string[]"],
    [{ type: "array", items: { const: ["a"] } }, '(readonly ["a"])[]'],
    [{ type: "array", prefixItems: [{ const: ["a"] }], minItems: 0 }, '[(readonly ["a"])?]'],
  ])("%j is %s", (schema, text) => {
    expect(typed(schema as Json)).toBe(text);
  });
});

describe("objects", () => {
  const properties = { a: { type: "string" }, b: { type: "number" } };
  it.each([
    [{ type: "object" }, "{ [name: string]: unknown }"],
    [{ type: "object", additionalProperties: false }, "{ [name: string]: never }"],
    [{ type: "object", properties: {} }, "{}"],
    [{ type: "object", properties, required: ["a", "elsewhere"] }, "{ a: string; b?: number }"],
    [{ type: "object", properties, additionalProperties: false }, "{ a?: string; b?: number }"],
    [{ properties, required: ["a"] }, "{ a: string; b?: number }"],
    [{ type: "object", properties: { "a-b": {}, class: {}, _: {}, "": {}, "0": {} } }, undefined],
    [
      { type: "object", properties, required: ["a", "b"], additionalProperties: { type: "boolean" } },
      "{ a: string; b: number; [name: string]: boolean | string | number }",
    ],
    [
      { type: "object", properties, additionalProperties: { type: "boolean" } },
      "{ a?: string; b?: number; [name: string]: boolean | string | number | undefined }",
    ],
    [{ type: "object", properties, additionalProperties: true }, "{ a?: string; b?: number; [name: string]: unknown }"],
    [
      { type: "object", patternProperties: { "^x-": { type: "string" }, "^n-": { type: "number" } } },
      "{ [name: string]: string | number }",
    ],
    [
      { type: "object", patternProperties: { "^x-": { type: "string" } }, additionalProperties: false },
      "{ [name: string]: string }",
    ],
    [
      {
        type: "object",
        propertyNames: { enum: ["a", "b"] },
        additionalProperties: { type: "number" },
        required: ["a"],
      },
      "{ a: number; b?: number }",
    ],
    [{ type: "object", propertyNames: { pattern: "^a" } }, "{ [name: string]: unknown }"],
    [{ type: ["object", "string"], properties: { a: {} } }, "{ a?: unknown } | string"],
  ])("%j is %s", (schema, text) => {
    expect(typed(schema as Json)).toBe(
      text ?? '{ "0"?: unknown; "a-b"?: unknown; class?: unknown; _?: unknown; ""?: unknown }',
    );
  });

  it("have members that every object inherits only when they are told", () => {
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":true}}');
    expect(typed(schema)).toBe("{ __proto__?: string; constructor?: unknown }");
  });
});

describe("compositions", () => {
  it.each([
    [{ anyOf: [{ type: "string" }, { type: "number" }, { type: "string" }] }, "string | number"],
    [{ oneOf: [{ const: "a" }, { type: "string" }] }, "string"],
    [{ anyOf: [{ type: "string" }, {}] }, "unknown"],
    [{ anyOf: [] }, "never"],
    [{ allOf: [person, aged] }, "{ name: string } & { age?: number }"],
    [{ allOf: [{ type: "string" }, { minLength: 3 }] }, "string"],
    [{ allOf: [person, false] }, "never"],
    [{ type: "string", oneOf: [{ const: "a", title: "A" }, { const: "b" }, { const: 1 }] }, '"a" | "b"'],
    [{ type: "object", oneOf: [person, aged] }, "{ name: string } | { age?: number }"],
    [{ ...person, allOf: [{ type: "object" }] }, "{ name: string }"],
    [
      { ...person, anyOf: [{ required: ["a"] }, { required: ["b"] }] },
      "{ name: string } & ({ a: unknown } | { b: unknown })",
    ],
    [
      {
        type: "object",
        properties: { a: { type: "string" } },
        anyOf: [{ required: ["a"] }, { properties: { a: {}, b: {} }, required: ["a", "b"] }],
      },
      "{ a?: string } & ({ a: string } | { a: string; b: unknown })",
    ],
    [{ allOf: [aged, { required: ["age"] }] }, "{ age?: number } & { age: number }"],
    [{ type: "object", additionalProperties: false, allOf: [person] }, "{ name: string }"],
    [{ anyOf: [person, { type: "null" }] }, "{ name: string } | null"],
    [{ anyOf: [{ type: "string" }], oneOf: [{ const: "a" }] }, '"a"'],
    [{ if: { properties: { a: {} } }, else: { required: ["b"] } }, "unknown"],
    [{ anyOf: "x", type: "string" }, "string"],
    [{ nullable: true, allOf: [person] }, "{ name: string } | null"],
  ])("%j is %s", (schema, text) => {
    expect(typed(schema as Json)).toBe(text);
  });

  it("that come to more cases than the compiler would take are not told", () => {
    const choice = { oneOf: Array.from({ length: 20 }, (_, n) => ({ type: "object", properties: { [`p${n}`]: {} } })) };
    const tooMany = "unknown /* has too many combinations */";
    expect(typed({ allOf: [choice, choice, choice] })).toContain("p19");
    expect(typed({ allOf: [choice, choice, choice, choice] })).toBe(tooMany);
    const twice = { allOf: [{ $ref: "#/$defs/c" }, { $ref: "#/$defs/c" }] };
    expect(typed({ allOf: [twice, choice, choice], $defs: { c: choice } })).toBe(tooMany);
  });

  it("may be of many cases when there is nothing to combine", () => {
    const numbers = Array.from({ length: 9_000 }, (_, n) => n);
    expect(typed({ type: "number", anyOf: [{ enum: numbers }, { const: -1 }] })).toContain("8999");
    expect(typed({ $ref: "#/$defs/n", $defs: { n: { enum: numbers } } })).toBe("MyN");
  });
});
