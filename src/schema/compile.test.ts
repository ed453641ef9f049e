import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { startCpuTime } from "../../test/support/cpu-time.ts";
import type { Json, JsonObject } from "../json/json.ts";
import { compile } from "./compile.ts";
import { inspectSchema } from "./inspect.ts";
import { normalizeSchema } from "./normalize.ts";
import type { Checked, Issue } from "./validator.ts";
import { lazyFormats } from "./value-rules.ts";

beforeAll(async () => {
  await lazyFormats.load();
});

function check(schema: JsonObject, value: unknown): Checked {
  const inspection = inspectSchema(schema);
  if (!inspection.ok) throw new Error(inspection.problem);
  return compile(inspection.value)(value);
}

function issuesOf(schema: JsonObject, value: unknown): readonly Issue[] {
  const checked = check(schema, value);
  return checked.ok ? [] : checked.issues;
}

/** Keywords by the kind of value they are about; few names and small numbers, so that they often meet. */
const name = fc.constantFrom("a", "b", "c");
const small = fc.integer({ min: 0, max: 3 });
const value = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<Json>(null, true, false, 0, 1, 2, 3, -1, 0.5, "", "a", "b", "ab", "😀", "😀😀😀"),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(name, tie("value"), { noNullPrototype: true }),
  ),
})).value;

const typeName = fc.constantFrom("string", "number", "integer", "boolean", "null", "array", "object");

/** Schemas; on request with the keywords that ajv does not get right. */
function schemas({ all }: { readonly all: boolean }): fc.Arbitrary<JsonObject> {
  const some = <T>(record: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record<T, never>(record, { requiredKeys: [] });
  return fc.letrec<{ schema: JsonObject; sub: Json }>((tie) => {
    const sub = tie("sub");
    const list = fc.array(sub, { minLength: 1, maxLength: 3 });
    const map = fc.dictionary(name, sub, { noNullPrototype: true, maxKeys: 3 });
    const names = fc.uniqueArray(name);
    const nameLists = fc.dictionary(name, names, { noNullPrototype: true });
    const types = fc.oneof(typeName, fc.uniqueArray(typeName, { minLength: 1, maxLength: 3 }));
    return {
      sub: fc.oneof({ arbitrary: fc.boolean(), weight: 1 }, { arbitrary: tie("schema"), weight: 9 }),
      schema: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        some({ type: types }),
        some({ enum: fc.array(value, { minLength: 1, maxLength: 4 }) }),
        some({ const: value }),
        some({ minimum: small, exclusiveMaximum: small, multipleOf: fc.constantFrom(1, 2, 3) }),
        some({ maximum: small, exclusiveMinimum: small, type: typeName }),
        some({ minLength: small, maxLength: small, pattern: fc.constantFrom("^a", "b$", "^.$", "a|b") }),
        some({ minItems: small, maxItems: small, uniqueItems: fc.boolean(), items: sub, prefixItems: list }),
        some({
          properties: map,
          required: names,
          additionalProperties: sub,
          minProperties: small,
          maxProperties: small,
        }),
        some({ patternProperties: fc.record({ "^[ab]": sub }), propertyNames: sub, additionalProperties: sub }),
        some({ properties: map, dependentRequired: nameLists, dependentSchemas: map }),
        some({ allOf: list, anyOf: list, oneOf: list, not: sub }),
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        some({ if: sub, then: sub, else: sub }),
        some({ type: typeName, properties: map, $ref: fc.constantFrom("#/$defs/x", "#/$defs/y") }),
        ...(all
          ? [
              some({ contains: sub, minContains: small, maxContains: small, unevaluatedItems: sub, prefixItems: list }),
              some({ properties: map, unevaluatedProperties: sub, allOf: list, anyOf: list }),
            ]
          : []),
      ),
    };
  }).schema;
}

function isUsable(schema: JsonObject): boolean {
  const inspection = inspectSchema(schema);
  return inspection.ok && normalizeSchema(inspection.value).ok;
}

/** A schema with definitions that refer to each other, also without end. */
function documents(options: { readonly all: boolean }): fc.Arbitrary<JsonObject> {
  return fc
    .tuple(schemas(options), schemas(options), schemas(options))
    .map(([root, x, y]): JsonObject => {
      const tree = { properties: { a: x, b: { $ref: "#/$defs/x" }, c: { $ref: "#/$defs/y" } }, items: y };
      return { ...root, $defs: { x, y: tree } };
    })
    .filter((candidate) => isUsable(candidate));
}

const ajv = new Ajv2020({ strict: false, logger: false, ownProperties: true, validateSchema: false });

/** What ajv says, unless it generates code that does not run. */
function ajvOutcome(schema: JsonObject, value: Json): boolean | undefined {
  try {
    return ajv.validate(schema, value);
  } catch {
    return undefined;
  }
}

describe("check", () => {
  it("agrees with ajv on generated schemas and values", { timeout: 60_000 }, () => {
    const outcomes = { valid: 0, invalid: 0 };
    fc.assert(
      fc.property(documents({ all: false }), value, (schema, one) => {
        const expected = ajvOutcome(schema, one);
        fc.pre(expected !== undefined);
        outcomes[expected ? "valid" : "invalid"]++;
        expect(check(schema, one).ok).toBe(expected);
      }),
      { numRuns: 500 },
    );
    expect(Math.min(outcomes.valid, outcomes.invalid)).toBeGreaterThan(50);
  });

  it("says the same in the first pass, and with a note of what was looked at", { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(documents({ all: true }), value, (schema, one) => {
        // It allows everything, but there is only the pass that takes notes.
        const noting = { unevaluatedProperties: true, ...schema };
        expect(check(noting, one).ok).toBe(check(schema, one).ok);
      }),
      { numRuns: 1000 },
    );
  });

  it("refuses a value that becomes valid while it is checked", () => {
    let reads = 0;
    const value = {
      get a() {
        return reads++ === 0 ? 1 : "text";
      },
    };
    expect(check({ properties: { a: { type: "string" } } }, value)).toEqual({
      ok: false,
      issues: [{ path: "", keyword: "schema", message: "does not match the schema" }],
    });
  });

  it("never throws and never changes the value", { timeout: 60_000 }, () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withSparseArray: true,
    });
    fc.assert(
      fc.property(documents({ all: true }), fc.oneof(value, anything), (schema, one) => {
        const before = fc.stringify(one);
        expect(check(schema, one)).toMatchObject({ ok: expect.any(Boolean) });
        expect(fc.stringify(one)).toBe(before);
      }),
      { numRuns: 500 },
    );
  });

  it("survives values that fight back", () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    const trap = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error("secret");
        },
        has: () => {
          throw new Error("secret");
        },
      },
    );
    const list = { $defs: { list: { properties: { self: { $ref: "#/$defs/list" } } } }, $ref: "#/$defs/list" };
    expect(issuesOf(list, cyclic)).toMatchObject([
      { keyword: "schema", message: expect.stringContaining("too deeply") },
    ]);
    const issues = issuesOf({ additionalProperties: false, required: ["a"] }, trap);
    expect(issues).toMatchObject([{ keyword: "schema", message: expect.stringContaining("cannot be checked") }]);
    expect(JSON.stringify(issues)).not.toContain("secret");
  });

  it("returns the very value", () => {
    const one = { a: 1 };
    expect(check({ type: "object" }, one)).toEqual({ ok: true, value: one });
    const checked = check({ type: "object" }, one);
    expect(checked.ok && checked.value).toBe(one);
  });

  it("C150: counts characters, not UTF-16 units", () => {
    expect(issuesOf({ maxLength: 2 }, "😀😀")).toEqual([]);
    expect(issuesOf({ maxLength: 2 }, "😀😀😀")).toMatchObject([{ keyword: "maxLength" }]);
    expect(issuesOf({ minLength: 2 }, "😀")).toMatchObject([{ keyword: "minLength" }]);
  });

  it.each<[number, number, boolean]>([
    [0.07, 0.01, true],
    [19.99, 0.01, true],
    [123456789.01, 0.01, true],
    [0.075, 0.01, false],
    [1e308, 0.5, true],
    [1e308, 0.123456789, false],
    [9007199254740991, 2, false],
    [-6, 3, true],
    [7, 3, false],
  ])("knows whether %d is a multiple of %d", (one, multipleOf, expected) => {
    expect(check({ multipleOf }, one).ok).toBe(expected);
  });

  it.each(["toString", "valueOf", "hasOwnProperty", "constructor", "__proto__"])(
    "takes only own properties for %s",
    (own) => {
      const value = JSON.parse(`{"${own}":1}`);
      expect(check({ required: [own] }, {}).ok).toBe(false);
      expect(check({ required: [own] }, value).ok).toBe(true);
      const properties = JSON.parse(`{"${own}":{"type":"string"}}`);
      expect(check({ properties }, {}).ok).toBe(true);
      expect(check({ properties }, value).ok).toBe(false);
    },
  );

  it("C150: asserts formats that are known and accepts all others", () => {
    expect(issuesOf({ format: "date" }, "2024-02-30")).toMatchObject([{ keyword: "format" }]);
    expect(issuesOf({ format: "email" }, "a@example.com")).toEqual([]);
    expect(issuesOf({ format: "nobody-knows" }, "anything")).toEqual([]);
  });

  it("reads draft 7", () => {
    const draft7 = {
      $schema: "http://json-schema.org/draft-07/schema#",
      definitions: { word: { $id: "#word", type: "string" } },
      items: [{ $ref: "#/definitions/word" }, { $ref: "#word" }],
      additionalItems: { type: "number" },
      dependencies: { a: ["b"], c: { required: ["d"] } },
    };
    expect(issuesOf(draft7, ["a", "b", 1])).toEqual([]);
    expect(issuesOf(draft7, ["a", 1, "c"])).toMatchObject([{ path: "/1" }, { path: "/2" }]);
    expect(issuesOf(draft7, { a: 1, c: 1 })).toMatchObject([
      { keyword: "dependentRequired", message: 'must have a property "b"' },
      { keyword: "required", message: 'must have a property "d"' },
    ]);
  });

  it("C150: applies what stands beside a reference", () => {
    const both = { $ref: "#/$defs/text", maxLength: 1, $defs: { text: { type: "string" } } };
    expect(issuesOf(both, "ab")).toMatchObject([{ keyword: "maxLength" }]);
    expect(issuesOf(both, 1)).toMatchObject([{ keyword: "type" }]);
  });

  it("checks schemas with many values", () => {
    const words = Array.from({ length: 5000 }, (_, index) => `w${index}`);
    expect(issuesOf({ enum: words }, "w4999")).toEqual([]);
    expect(issuesOf({ enum: words }, "other")).toMatchObject([{ keyword: "enum" }]);
  });
});

describe("issues", () => {
  it.each<[JsonObject, unknown, Issue[]]>([
    [{ type: "string" }, 1, [{ path: "", keyword: "type", message: "must be string" }]],
    [{ type: ["string", "null"] }, 1, [{ path: "", keyword: "type", message: "must be string or null" }]],
    [{ enum: ["a", 1] }, "b", [{ path: "", keyword: "enum", message: 'must be one of "a", 1' }]],
    [{ const: { a: 1 } }, 1, [{ path: "", keyword: "const", message: 'must be {"a":1}' }]],
    [{ minimum: 3 }, 1, [{ path: "", keyword: "minimum", message: "must be at least 3" }]],
    [
      { required: ["a", "b"] },
      {},
      [
        { path: "", keyword: "required", message: 'must have a property "a"' },
        { path: "", keyword: "required", message: 'must have a property "b"' },
      ],
    ],
    [
      { properties: { "a/b": { items: { properties: { "~": { type: "string" } } } } } },
      { "a/b": [{}, { "~": 1 }] },
      [{ path: "/a~1b/1/~0", keyword: "type", message: "must be string" }],
    ],
    [
      { properties: {}, additionalProperties: false },
      { a: 1 },
      [{ path: "/a", keyword: "additionalProperties", message: '"a" is not allowed' }],
    ],
    [{ prefixItems: [{}], items: false }, [1, 2], [{ path: "/1", keyword: "items", message: '"1" is not allowed' }]],
    [
      { properties: { a: {} }, unevaluatedProperties: false },
      { a: 1, b: 1 },
      [{ path: "/b", keyword: "unevaluatedProperties", message: '"b" is not allowed' }],
    ],
    [
      { propertyNames: { maxLength: 1 } },
      { ab: 1 },
      [{ path: "/ab", keyword: "propertyNames", message: '"ab" is not an allowed name' }],
    ],
    [
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      [{ path: "", keyword: "uniqueItems", message: "must not have duplicate items" }],
    ],
    [
      { contains: { type: "string" }, minContains: 2 },
      ["a"],
      [{ path: "", keyword: "contains", message: "must contain at least 2 items that match" }],
    ],
    [{ pattern: "^a$" }, "b", [{ path: "", keyword: "pattern", message: "must match the pattern ^a$" }]],
    [
      { allOf: [{ properties: { a: { type: "string" } } }] },
      { a: 1 },
      [{ path: "/a", keyword: "type", message: "must be string" }],
    ],
    [{ not: { type: "string" } }, "a", [{ path: "", keyword: "not", message: "must not match the schema in not" }]],
    [
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      { if: { type: "string" }, then: { minLength: 2 } },
      "a",
      [{ path: "", keyword: "minLength", message: "must have at least 2 characters" }],
    ],
    [
      { anyOf: [{ type: "string" }, { type: "number" }] },
      true,
      [{ path: "", keyword: "anyOf", message: "must match a schema in anyOf: must be string or must be number" }],
    ],
    [
      { oneOf: [{ minimum: 1 }, { minimum: 2 }] },
      3,
      [{ path: "", keyword: "oneOf", message: "must match exactly one schema in oneOf, not 2" }],
    ],
  ])("of %j", (schema, value, issues) => {
    expect(issuesOf(schema, value)).toEqual(issues);
  });

  it("C150: name the branch of a union that was meant", () => {
    const shape = (kind: string, size: string): JsonObject => ({
      type: "object",
      properties: { [size]: { type: "number" }, kind: { const: kind } },
      required: ["kind", size],
    });
    const shapes = { items: { oneOf: [shape("circle", "radius"), shape("square", "side")] } };
    expect(issuesOf(shapes, [{ kind: "circle", radius: "1" }])).toMatchObject([
      { path: "/0", keyword: "oneOf", message: expect.stringMatching(/oneOf: \/0\/radius must be number$/) },
    ]);
    expect(issuesOf(shapes, [{ kind: "square" }])).toMatchObject([
      { message: expect.stringMatching(/oneOf: must have a property "side"$/) },
    ]);
    expect(issuesOf(shapes, [{ kind: "star" }])).toMatchObject([
      { message: expect.stringMatching(/oneOf: \/0\/kind must be "circle" or \/0\/kind must be "square"$/) },
    ]);
  });

  it("are ten at most", () => {
    expect(issuesOf({ items: { type: "string" } }, Array.from({ length: 100 }, Number))).toHaveLength(10);
  });
});

describe("the cost of a check", () => {
  const within = (schema: JsonObject, value: unknown): readonly Issue[] => {
    check(schema, null);
    const spent = startCpuTime();
    const issues = issuesOf(schema, value);
    expect(spent()).toBeLessThan(5_000);
    return issues;
  };

  /** Every level looks twice at the level below. */
  const doubling = (levels: number): JsonObject => ({
    $ref: "#/$defs/l0",
    $defs: Object.fromEntries(
      Array.from({ length: levels + 1 }, (_, level) => {
        const below = { properties: { a: level === levels ? {} : { $ref: `#/$defs/l${level + 1}` } } };
        return [`l${level}`, { allOf: [below, below] }];
      }),
    ),
  });

  const nested = (levels: number, inner: unknown, wrap: (inner: unknown) => unknown): unknown => {
    let value = inner;
    for (let level = 0; level < levels; level++) value = wrap(value);
    return value;
  };

  it("is bounded where it would grow with the depth of the value", () => {
    const value = nested(40, {}, (a) => ({ a }));
    expect(within(doubling(40), value)).toMatchObject([
      { path: "", keyword: "limit", message: expect.stringContaining("too many steps; the limit is 33554432 steps") },
    ]);
  });

  it.each(["anyOf", "oneOf"])("counts every item and every alternative: %s (S4)", (keyword) => {
    const alternatives = Array.from({ length: 100 }, (_, index) => ({ const: index }));
    const items = (length: number) => Array.from({ length }, () => 99);
    const schema = { items: { [keyword]: alternatives } };
    expect(within(schema, items(1_500))).toEqual([]);
    expect(within(schema, items(6_000))).toMatchObject([{ keyword: "limit" }]);
  });

  it("does not grow with the depth of a value in a recursive union with tags", () => {
    const operators = ["and", "or", "xor"].map((op) => ({
      type: "object",
      properties: { left: { $ref: "#/$defs/e" }, right: { $ref: "#/$defs/e" }, op: { const: op } },
      required: ["op", "left", "right"],
    }));
    const expression = { $ref: "#/$defs/e", $defs: { e: { anyOf: [{ type: "boolean" }, ...operators] } } };
    const tree = (leaf: unknown): unknown => nested(50, leaf, (left) => ({ left, right: true, op: "xor" }));
    expect(within(expression, tree(true))).toEqual([]);
    expect(within(expression, tree(1))).toMatchObject([{ keyword: "anyOf" }]);
  });

  it.each<[JsonObject, Json]>([
    [{ pattern: "^a" }, "a"],
    [{ patternProperties: { "^a": {} } }, { a: 1 }],
    [{ items: { pattern: "^a" } }, ["a"]],
  ])("refuses what %j would match if nobody has proved its patterns", (schema, value) => {
    const inspection = inspectSchema(schema);
    expect(inspection.ok && compile({ ...inspection.value, patterns: new Map() })(value)).toEqual({
      ok: false,
      issues: [{ path: "", keyword: "schema", message: "cannot be checked: reading it failed" }],
    });
  });

  it("is bounded for many texts and an expensive pattern", () => {
    const schema = { items: { pattern: "\\d+x" } };
    expect(
      within(
        schema,
        Array.from({ length: 1000 }, () => "1".repeat(4000)),
      ),
    ).toMatchObject([{ keyword: "limit", message: expect.stringContaining("too many steps") }]);
    expect(within(schema, ["1".repeat(100_000)])).toMatchObject([
      { keyword: "limit", message: expect.stringContaining("100000 characters is too long for the pattern \\d+x") },
    ]);
    expect(within({ patternProperties: { "\\d+x": {} } }, { ["1".repeat(100_000)]: 1 })).toMatchObject([
      { keyword: "limit" },
    ]);
  });

  it("is linear in large arrays", () => {
    const schema = { items: { $ref: "#/$defs/item" }, $defs: { item: { properties: { a: { type: "string" } } } } };
    const items = Array.from({ length: 65_536 }, (_, index) => ({ a: String(index) }));
    expect(within(schema, items)).toEqual([]);
    expect(within(schema, [...items.slice(1), { a: 1 }])).toMatchObject([{ path: "/65535/a", keyword: "type" }]);
    expect(within({ uniqueItems: true }, items)).toEqual([]);
    expect(
      within(
        { uniqueItems: true },
        Array.from(items, () => "same"),
      ),
    ).toMatchObject([{ keyword: "uniqueItems" }]);
  });

  it("is small for a deep nesting of contains", () => {
    const schema = nested(40, { type: "string" }, (contains) => ({ contains, minContains: 1, maxContains: 9 }));
    within(
      schema as JsonObject,
      nested(40, "a", (inner) => [inner, inner]),
    );
  });
});

it("refuses every value by a schema with an unsafe pattern", () => {
  expect(check({ pattern: "^(a+)+$" }, "a")).toMatchObject({ ok: false, issues: [{ keyword: "schema" }] });
});
