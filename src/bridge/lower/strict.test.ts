import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../json/json.ts";
import { plainLowering, strictLowering } from "./lower.ts";

const names = { safe: /^[A-Za-z0-9_.-]{1,64}$/, unsafe: /[^A-Za-z0-9_.-]/g, maxLength: 64 };
const strict = strictLowering(plainLowering({ portablePatterns: true, itemsRequired: true }, names), names);

function lowered(schema: JsonObject) {
  const made = strict(schema);
  if (made === undefined) throw new Error("it cannot be told");
  return made;
}

const closed = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  additionalProperties: false,
  ...more,
});

describe("strict mode", () => {
  it("has all properties required, and null for what may be absent", () => {
    const { parameters, isStrict, notes } = lowered(
      closed(
        {
          a: { type: "string" },
          b: { type: "string", enum: ["x"], description: "B" },
          c: { anyOf: [{ type: "string" }, { type: "number" }] },
          d: { $ref: "#/$defs/d", description: "D" },
          e: { $ref: "#/$defs/d" },
        },
        { required: ["a", "e"], $defs: { d: { type: "integer", minimum: 1, multipleOf: 2 } } },
      ),
    );
    expect(isStrict).toBe(true);
    expect(notes).toEqual([]);
    expect(parameters).toEqual({
      type: "object",
      properties: {
        a: { type: "string" },
        b: { type: ["string", "null"], enum: ["x", null], description: "B" },
        c: { anyOf: [{ type: "string" }, { type: "number" }, { type: "null" }] },
        d: { anyOf: [{ $ref: "#/$defs/d" }, { type: "null" }], description: "D" },
        e: { $ref: "#/$defs/d" },
      },
      required: ["a", "b", "c", "d", "e"],
      additionalProperties: false,
      $defs: { d: { type: "integer", minimum: 1, multipleOf: 2 } },
    });
  });

  it("leaves out what it has no word for, and says so", () => {
    const text = { type: "string", minLength: 1, format: "uri", pattern: "^(?<a>b)", default: "b" };
    const { parameters, notes } = lowered(closed({ a: text, b: { type: "array", items: text, uniqueItems: true } }));
    const description = "default b; minLength 1; pattern ^(?<a>b); format uri";
    expect(parameters.properties).toEqual({
      a: { type: ["string", "null"], description },
      b: { type: ["array", "null"], items: { type: "string", description }, description: "uniqueItems true" },
    });
    expect(notes.map(({ pointer, keyword }) => `${pointer} ${keyword}`)).toEqual([
      "/properties/b uniqueItems",
      ...["minLength", "pattern", "format"].map((keyword) => `/properties/a ${keyword}`),
      ...["minLength", "pattern", "format"].map((keyword) => `/properties/b/items ${keyword}`),
    ]);
  });

  it("keeps what is inside of itself", () => {
    const tree = closed({ left: { $ref: "#/$defs/tree" }, value: { type: "number" } }, { required: ["value"] });
    const { parameters, isStrict } = lowered(
      closed({ tree: { $ref: "#/$defs/tree" } }, { $defs: { tree }, required: ["tree"] }),
    );
    expect(isStrict).toBe(true);
    expect(parameters.$defs).toMatchObject({
      tree: {
        properties: { left: { anyOf: [{ $ref: "#/$defs/tree" }, { type: "null" }] } },
        required: ["left", "value"],
      },
    });
  });

  it("joins the parts of an object", () => {
    const { parameters } = lowered({
      allOf: [{ $ref: "#/$defs/base" }, { type: "object", properties: { b: { type: "boolean" } }, required: ["b"] }],
      $defs: { base: { type: "object", properties: { a: { type: "string" } } } },
    });
    expect(parameters).toMatchObject({
      properties: { a: { type: ["string", "null"] }, b: { type: "boolean" } },
      required: ["a", "b"],
      additionalProperties: false,
    });
  });

  it("closes an object that does not say, which is noted, and takes a tool without arguments", () => {
    const { notes, isStrict } = lowered({ type: "object", properties: { a: { type: "string" } } });
    expect(isStrict).toBe(true);
    expect(notes).toMatchObject([{ pointer: "", keyword: "additionalProperties" }]);
    expect(lowered({ type: "object" })).toMatchObject({
      isStrict: true,
      parameters: { type: "object", properties: {}, required: [], additionalProperties: false },
    });
  });

  it.each<[string, JsonObject, string]>([
    ["it can be anything", { a: {} }, "/properties/a type"],
    ["items can be anything", { a: { type: "array" } }, "/properties/a type"],
    [
      "it says that there are others",
      { a: { type: "object", additionalProperties: { type: "string" } } },
      "/properties/a additionalProperties",
    ],
    ["it declares nothing", { a: { type: "object" } }, "/properties/a properties"],
    [
      "its properties depend",
      { a: { type: "object", properties: { b: { type: "null" } }, dependentSchemas: { b: {} } } },
      "/properties/a additionalProperties",
    ],
    ["it requires what it does not declare", { a: closed({}, { required: ["b"] }) }, "/properties/a required"],
  ])("is left for a tool of which %s, with a note", (_, properties, place) => {
    const { isStrict, parameters, notes } = lowered(closed(properties));
    expect(isStrict).toBe(false);
    expect(`${notes[0]?.pointer} ${notes[0]?.keyword}`).toBe(place);
    expect(notes[0]?.message).toMatch(/^not strict: /);
    expect(parameters.properties).toMatchObject(properties);
  });

  it("is left for what has too many variants to know all properties", () => {
    const pairs = Array.from({ length: 6 }, (_, n) => ({
      anyOf: ["a", "b"].map((key) => ({ properties: { [`${key}${n}`]: { type: "string" } } })),
    }));
    expect(lowered({ type: "object", allOf: pairs }).notes[0]).toMatchObject({ keyword: "additionalProperties" });
    expect(lowered({ type: "object", allOf: pairs.slice(0, 2) }).isStrict).toBe(true);
  });

  it("is left for what is too deep or too large", () => {
    const deep = Array.from({ length: 12 }).reduce<JsonObject>((inner) => closed({ a: inner }), { type: "string" });
    const many = closed({ a: { enum: Array.from({ length: 1001 }, (_, n) => `v${n}`) } });
    expect(lowered(deep).notes[0]?.message).toContain("deeper than 10");
    expect(lowered(many).notes[0]?.message).toContain("too many");
  });
});

describe("arguments of strict mode", () => {
  const branch = (tag: string, properties: JsonObject): JsonObject =>
    closed({ tag: { const: tag }, ...properties }, { required: ["tag"] });
  const { lift } = lowered(
    closed(
      {
        plain: { type: "string" },
        nullable: { type: ["string", "null"] },
        inner: closed({ a: { type: "number" } }),
        list: { type: "array", items: closed({ a: { type: "number" } }) },
        tree: { $ref: "#/$defs/tree" },
        either: { anyOf: [branch("one", { x: { type: "null" } }), branch("two", { x: { type: "string" } })] },
      },
      { $defs: { tree: closed({ next: { $ref: "#/$defs/tree" }, label: { type: "string" } }) } },
    ),
  );
  const all = { plain: null, nullable: null, inner: null, list: null, tree: null, either: null };

  it("are without what was absent, and keep null where it means something", () => {
    expect(lift(all)).toEqual({ nullable: null });
    expect(lift({ ...all, plain: "a", inner: { a: null } })).toEqual({ plain: "a", nullable: null, inner: {} });
  });

  it("are found in lists, in what is inside of itself, and in the right branch", () => {
    expect(lift({ ...all, list: [{ a: 1 }, { a: null }] })).toMatchObject({ list: [{ a: 1 }, {}] });
    const tree = { label: null, next: { label: "b", next: null } };
    expect(lift({ ...all, tree })).toMatchObject({ tree: { next: { label: "b" } } });
    expect(lift({ ...all, either: { tag: "one", x: null } })).toMatchObject({ either: { tag: "one", x: null } });
    expect(lift({ ...all, either: { tag: "two", x: null } }).either).toEqual({ tag: "two" });
  });

  it("are without what only other variants have", () => {
    const { lift: liftVariant } = lowered({
      anyOf: [branch("one", { x: { type: ["null", "string"] } }), branch("two", { y: { type: ["null", "string"] } })],
    });
    expect(liftVariant({ tag: "one", x: null, y: null })).toEqual({ tag: "one", x: null });
    expect(liftVariant({ tag: "two", x: null, y: "b" })).toEqual({ tag: "two", y: "b" });
  });

  it("stay as they are when they fit nothing", () => {
    expect(lift({ ...all, inner: 5, either: { tag: "three", x: null }, more: null })).toEqual({
      nullable: null,
      inner: 5,
      either: { tag: "three", x: null },
      more: null,
    });
  });

  it("are given up on when branches in branches would take too long", () => {
    const node = (more: JsonObject): JsonObject => closed({ a: { $ref: "#/$defs/n" }, ...more }, { required: ["a"] });
    const branches = { anyOf: [node({}), node({ b: { type: "string" } })] };
    const { lift: liftDeep, isStrict } = lowered(closed({ n: { $ref: "#/$defs/n" } }, { $defs: { n: branches } }));
    expect(isStrict).toBe(true);
    const deep = Array.from({ length: 60 }).reduce<JsonObject | number>((a) => ({ a }), 5);
    expect(liftDeep({ n: deep })).toEqual({ n: deep });
  });
});
