import { describe, expect, it } from "vitest";
import type { Json } from "../json/json.ts";
import { createDefinitions, createNames, pascalCase, type TypeLimits } from "./definitions.ts";
import { typeText } from "./type-text.ts";

const limits: TypeLimits = { maxDepth: 64, maxSubschemas: 10_000 };

/** What is written for several schemas of one server, and the types they define. */
function written(schemas: readonly Json[], given: TypeLimits = limits) {
  const definitions = createDefinitions(createNames([]), given);
  const types = schemas.map((schema) => typeText(definitions.read(schema, { prefix: "My", name: "MyRoot" })));
  const defined = definitions.declarations("My").map(({ name, type }) => `${name} = ${typeText(type)}`);
  return { types, defined };
}

describe("references", () => {
  it("become types with names, which are declared once", () => {
    const point = { type: "object", properties: { x: { type: "number" } } };
    const schema = {
      type: "object",
      properties: { a: { $ref: "#/$defs/point" }, b: { $ref: "#/$defs/point", description: "the other" } },
      $defs: { point },
    };
    const { types, defined } = written([schema]);
    expect(types).toEqual(["{\n  a?: MyPoint;\n  /** the other */\n  b?: MyPoint;\n}"]);
    expect(defined).toEqual(["MyPoint = { x?: number }"]);
  });

  it("may be recursive, also through others and through the schema itself", () => {
    const tree = { type: "object", properties: { left: { $ref: "#/$defs/tree" }, up: { $ref: "#" } } };
    const list = { anyOf: [{ type: "null" }, { type: "array", items: { $ref: "#/definitions/pair" } }] };
    const pair = { type: "array", prefixItems: [{ $ref: "#/definitions/list" }, { type: "string" }] };
    const { types, defined } = written([
      { type: "object", properties: { tree: { $ref: "#/$defs/tree" } }, $defs: { tree } },
      { $ref: "#/definitions/list", definitions: { list, pair } },
    ]);
    expect(types).toEqual(["MyRoot", "MyList"]);
    expect(defined).toEqual([
      "MyTree = { left?: MyTree; up?: MyRoot }",
      "MyRoot = { tree?: MyTree }",
      "MyList = null | MyPair[]",
      "MyPair = [MyList, string]",
    ]);
  });

  it("are found by pointer and by anchor", () => {
    const { types, defined } = written([
      {
        anyOf: [
          { $ref: "#/$defs/a~1b%20c" },
          { $ref: "#named" },
          { $dynamicRef: "#meta" },
          { $ref: "#/anyOf/4" },
          { const: 1 },
        ],
        $defs: { "a/b c": { const: "pointer" }, x: { $anchor: "named", const: "anchor" } },
        other: [{ $dynamicAnchor: "meta", const: "dynamic" }],
      },
    ]);
    expect(types).toEqual(["MyABC | MyNamed | MyMeta | MyAnyOf4 | 1"]);
    expect(defined).toEqual(['MyABC = "pointer"', 'MyNamed = "anchor"', 'MyMeta = "dynamic"', "MyAnyOf4 = 1"]);
  });

  it("apply together with what is beside them", () => {
    const base = { type: "object", properties: { id: { type: "string" } } };
    const { types } = written([
      { $ref: "#/$defs/base", type: "object", properties: { extra: { type: "number" } }, $defs: { base } },
      { $ref: "#/$defs/base", type: "object", $defs: { base } },
      { $ref: "#/$defs/base", type: "object", additionalProperties: false, $defs: { base } },
    ]);
    expect(types).toEqual(["{ extra?: number } & MyBase", "MyBase", "MyBase"]);
  });

  it.each([
    ["https://example.com/schema.json", "https://example.com/schema.json is not in this schema"],
    ["#/$defs/missing", "#/$defs/missing is not in this schema"],
    ["#/$defs/__proto__/x", "#/$defs/__proto__/x is not in this schema"],
    ["#/$defs/constructor", "#/$defs/constructor is not in this schema"],
    ["#*/ evil", "#*\\/ evil is not in this schema"],
    ["#/%zz", "#/%zz is not in this schema"],
  ])("that lead nowhere say so: %s", (reference, note) => {
    expect(written([{ $ref: reference, $defs: {} }]).types).toEqual([`unknown /* ${note} */`]);
  });

  it("that lead to themselves are cut where they would never end", () => {
    const $defs = {
      self: { $ref: "#/$defs/self" },
      ping: { anyOf: [{ $ref: "#/$defs/pong" }, { type: "null" }] },
      pong: { allOf: [{ $ref: "#/$defs/ping" }] },
      both: { type: "object", properties: { again: { $ref: "#/$defs/both" } }, allOf: [{ $ref: "#/$defs/fine" }] },
      fine: { type: "object", properties: { both: { $ref: "#/$defs/both" } } },
    };
    const { types, defined } = written([
      ...["self", "ping", "both"].map((name) => ({ $ref: `#/$defs/${name}`, $defs })),
      { anyOf: [{ $ref: "#" }, { type: "string" }] },
    ]);
    expect(types).toEqual([
      "unknown /* #/$defs/self leads to itself, or too far */",
      "unknown /* #/$defs/ping leads to itself, or too far */",
      "MyBoth",
      "unknown /* # leads to itself, or too far */",
    ]);
    expect(defined).toEqual(["MyBoth = { again?: MyBoth } & MyFine", "MyFine = { both?: MyBoth }"]);
  });
});

describe("names of definitions", () => {
  const using = (point: Json) => ({
    type: "array",
    items: { $ref: "#/$defs/line" },
    $defs: { line: { type: "array", items: { $ref: "#/$defs/point" } }, point },
  });

  it("are shared by schemas that mean the same, in whatever they have else", () => {
    const { types, defined } = written([
      using({ type: "number" }),
      { ...using({ type: "number" }), title: "another" },
      { $ref: "#/$defs/point", $defs: { point: { type: "number" } } },
    ]);
    expect(types).toEqual(["MyLine[]", "MyLine[]", "MyPoint"]);
    expect(defined).toEqual(["MyLine = MyPoint[]", "MyPoint = number"]);
  });

  it("are not shared by what differs further down", () => {
    const { types, defined } = written([using({ type: "number" }), using({ type: "string" })]);
    expect(types).toEqual(["MyLine[]", "MyLine2[]"]);
    expect(defined).toEqual(["MyLine = MyPoint[]", "MyPoint = number", "MyLine2 = MyPoint2[]", "MyPoint2 = string"]);
  });

  it("belong to one server", () => {
    const definitions = createDefinitions(createNames([]), limits);
    for (const prefix of ["A", "B"]) definitions.read(using({ type: "number" }), { prefix, name: "Root" });
    expect(definitions.declarations("A").map(({ name }) => name)).toEqual(["ALine", "APoint"]);
    expect(definitions.declarations("B").map(({ name }) => name)).toEqual(["BLine", "BPoint"]);
  });
});

describe("bounds", () => {
  const nested = (levels: number): Json =>
    levels === 0 ? { type: "string" } : { type: "array", items: nested(levels - 1) };

  it("on depth leave out what is below", () => {
    const { types } = written([nested(4), nested(5), nested(20)], { ...limits, maxDepth: 4 });
    expect(types).toEqual([
      "string[][][][]",
      "unknown /* nested deeper than 4 levels */[][][][][]",
      "unknown /* nested deeper than 4 levels */",
    ]);
  });

  it("hold for what no honest server says", () => {
    const deep = JSON.parse(`${'{"items":'.repeat(5_000)}{}${"}".repeat(5_000)}`);
    expect(written([deep]).types).toEqual(["unknown /* nested deeper than 64 levels */"]);
    const circular: Record<string, Json> = { type: "array" };
    circular.items = circular;
    expect(written([circular]).types).toEqual(["unknown /* nested deeper than 64 levels */"]);
  });

  it("hold for values that are in a schema over and over", () => {
    let schema: Json = { type: "string" };
    for (let level = 0; level < 60; level++) schema = { anyOf: [schema, { type: "array", items: schema }] };
    expect(written([schema]).types).toEqual(["unknown /* too large */"]);
  });

  it("on size leave out what is too large, and nothing else", () => {
    const values = Array.from({ length: 200 }, (_, n) => `v${n}`);
    const properties = Object.fromEntries(values.map((name) => [name, true]));
    const schema = {
      type: "object",
      properties: { many: { enum: values }, large: { type: "object", properties }, small: { enum: ["a", "b"] } },
    };
    const { types } = written([schema], { ...limits, maxSubschemas: 100 });
    expect(types).toEqual(['{ many?: unknown /* too large */; large?: unknown /* too large */; small?: "a" | "b" }']);
  });

  it("keep definitions that double with every step as short as they are", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [
        `d${n}`,
        n === 0
          ? { type: "string" }
          : { type: "object", properties: { a: { $ref: `#/$defs/d${n - 1}` }, b: { $ref: `#/$defs/d${n - 1}` } } },
      ]),
    );
    const { defined } = written([{ $ref: "#/$defs/d39", $defs }]);
    expect(defined).toHaveLength(40);
    expect(defined.join("\n").length).toBeLessThan(2_000);
  });

  it("end chains of references that are too long for the compiler", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, n) => [`d${n}`, n === 0 ? { type: "string" } : { $ref: `#/$defs/d${n - 1}` }]),
    );
    const { types, defined } = written([{ type: "array", items: { $ref: "#/$defs/d4999" }, $defs }]);
    expect(types).toEqual(["unknown /* #/$defs/d4999 leads to itself, or too far */[]"]);
    expect(defined).toEqual([]);
  });
});

describe("pascalCase", () => {
  it.each([
    ["github", "Github"],
    ["my-server_v2 (beta)", "MyServerV2Beta"],
    ["gitHub", "GitHub"],
    ["Café", "Cafe"],
    ["3d-tools", "X3dTools"],
    ["数据", "X"],
    ["", "X"],
    ["__proto__", "Proto"],
    ["a*/b\u202e", "AB"],
  ])("makes %j to %s", (text, name) => {
    expect(pascalCase(text, "X")).toBe(name);
  });

  it("makes short names of long ones", () => {
    expect(pascalCase("x".repeat(10_000), "X")).toHaveLength(64);
  });
});

describe("createNames", () => {
  it("gives every name once", () => {
    const names = createNames(["Client"]);
    const claimed = ["A", "A", "A2", "A", "A0", "A0", "Client"].map((name) => names.claim(name));
    expect(claimed).toEqual(["A", "A2", "A2_2", "A3", "A0", "A0_2", "Client2"]);
  });

  it("takes no longer for many of the same", () => {
    const names = createNames([]);
    const claimed = new Set(Array.from({ length: 20_000 }, () => names.claim("A")));
    expect(claimed.size).toBe(20_000);
  });
});
