import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../json/json.ts";
import { type ParamHeader, paramHeaderProblem, paramHeaderValues, readParamHeaders } from "./param-headers.ts";

const annotated = (name: Json, type: Json = "string"): JsonObject => ({ type, "x-mcp-header": name });
const withProperties = (properties: JsonObject): JsonObject => ({ type: "object", properties });

describe("readParamHeaders", () => {
  it.each<[name: string, schema: JsonObject, headers: readonly ParamHeader[]]>([
    ["no schema of properties", {}, []],
    ["no annotation", withProperties({ a: { type: "string" } }), []],
    [
      "one of each type",
      withProperties({ a: annotated("A"), b: annotated("B-b", "integer"), c: annotated("c_1", "boolean") }),
      [
        { header: "mcp-param-a", path: ["a"], type: "string" },
        { header: "mcp-param-b-b", path: ["b"], type: "integer" },
        { header: "mcp-param-c_1", path: ["c"], type: "boolean" },
      ],
    ],
    [
      "properties of properties",
      withProperties({ a: withProperties({ b: withProperties({ c: annotated("Method") }) }) }),
      [{ header: "mcp-param-method", path: ["a", "b", "c"], type: "string" }],
    ],
    [
      "every character of a token",
      withProperties({ a: annotated("!#$%&'*+-.^_`|~09azAZ") }),
      [{ header: "mcp-param-!#$%&'*+-.^_`|~09azaz", path: ["a"], type: "string" }],
    ],
    ["a property called like the annotation", withProperties({ "x-mcp-header": { type: "number" } }), []],
    [
      "an annotated property called like the annotation",
      withProperties({ "x-mcp-header": annotated("X") }),
      [{ header: "mcp-param-x", path: ["x-mcp-header"], type: "string" }],
    ],
    [
      "a property called like a keyword",
      withProperties({ items: annotated("I"), properties: withProperties({ anyOf: annotated("Any") }) }),
      [
        { header: "mcp-param-i", path: ["items"], type: "string" },
        { header: "mcp-param-any", path: ["properties", "anyOf"], type: "string" },
      ],
    ],
    [
      "data that looks like an annotation",
      withProperties({
        a: { default: annotated(""), const: annotated(""), enum: [annotated("")], examples: [annotated("")] },
      }),
      [],
    ],
    ["schemas that are true or false", withProperties({ a: true, b: false, c: { items: true, not: false } }), []],
    ["properties that are none", { properties: [1], $defs: null, anyOf: "x" }, []],
  ])("reads %s", (_, schema, headers) => {
    expect(readParamHeaders(schema)).toEqual({ ok: true, headers });
  });

  it.each<[Json]>([
    [""],
    ["a b"],
    ["a:b"],
    ["é"],
    ["a\n"],
    ["a\r\nX"],
    ["\t"],
    ["a/b"],
    ["a\0"],
    [null],
    [1],
    [true],
    [["a"]],
    [{}],
  ])("refuses the name %j", (name) => {
    const problem = "inputSchema.properties.a.x-mcp-header must be a token";
    expect(readParamHeaders(withProperties({ a: annotated(name) }))).toEqual({ ok: false, problem });
  });

  it.each<[Json]>([
    ["number"],
    ["array"],
    ["object"],
    ["null"],
    [["string"]],
    [["string", "null"]],
    ["String"],
    [null],
  ])("refuses the type %j", (type) => {
    const problem = "inputSchema.properties.a with x-mcp-header must be of type integer, string or boolean";
    expect(readParamHeaders(withProperties({ a: annotated("A", type) }))).toEqual({ ok: false, problem });
  });

  it("refuses an annotation without a type", () => {
    expect(readParamHeaders(withProperties({ a: { $ref: "#/$defs/b", "x-mcp-header": "A" } }))).toMatchObject({
      ok: false,
    });
  });

  it.each([
    ["A", "A"],
    ["Region", "rEGION"],
  ])("refuses %s beside %s", (one, other) => {
    const schema = withProperties({ a: annotated(one), b: withProperties({ c: annotated(other) }) });
    const problem = "inputSchema.properties.b.properties.c.x-mcp-header must be unique";
    expect(readParamHeaders(schema)).toEqual({ ok: false, problem });
  });

  const a = annotated("A");
  it.each<[path: string, keywords: JsonObject]>([
    [".items", { items: a }],
    [".items[0]", { items: [a] }],
    [".prefixItems[1]", { prefixItems: [{}, a] }],
    [".additionalItems", { additionalItems: a }],
    [".unevaluatedItems", { unevaluatedItems: a }],
    [".contains", { contains: a }],
    [".oneOf[0].properties.b", { oneOf: [withProperties({ b: a })] }],
    [".anyOf[0]", { anyOf: [a] }],
    [".allOf[0]", { allOf: [a] }],
    [".not", { not: a }],
    [".if", { if: a }],
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    [".then.properties.b", { then: withProperties({ b: a }) }],
    [".else", { else: a }],
    [".$defs.b", { $defs: { b: a } }],
    [".$defs.default", { $defs: { default: a } }],
    [".definitions.b", { definitions: { b: a } }],
    [".additionalProperties", { additionalProperties: a }],
    [".unevaluatedProperties", { unevaluatedProperties: a }],
    [".patternProperties.^b", { patternProperties: { "^b": a } }],
    [".propertyNames", { propertyNames: a }],
    [".dependentSchemas.b", { dependentSchemas: { b: a } }],
    [".dependencies.b", { dependencies: { c: ["d"], b: a } }],
    [".contentSchema", { contentSchema: a }],
    [".whatever.b", { whatever: { b: a } }],
    ["", a],
  ])("refuses an annotation at %s", (path, keywords) => {
    const reason = " must not have x-mcp-header: only properties lead to arguments";
    expect(readParamHeaders(keywords)).toEqual({ ok: false, problem: `inputSchema${path}${reason}` });
    if (path === "") return;
    const nested = withProperties({ p: { type: "object", ...keywords } });
    expect(readParamHeaders(nested)).toEqual({ ok: false, problem: `inputSchema.properties.p${path}${reason}` });
  });

  it("does not follow a schema without end", () => {
    const circular: Record<string, Json> = {};
    circular.not = circular;
    const wide = { anyOf: Array.from({ length: 100_000 }, () => ({})) };
    for (const schema of [circular, wide, nest("properties"), nest("items")]) {
      const read = readParamHeaders(schema);
      expect(read).toMatchObject({ ok: false, problem: expect.stringMatching(/ is too large to look through$/) });
      expect(JSON.stringify(read).length).toBeLessThan(300);
    }
  });

  it("has a short problem with a long name", () => {
    const read = readParamHeaders(withProperties({ ["n".repeat(1_000_000)]: annotated("") }));
    expect(read).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/^…n{100,200}\.x-mcp-header must be a token$/),
    });
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.dictionary(anyKey, fc.letrec(anySchema).schema), (schema) => {
        expect(readParamHeaders(schema as JsonObject)).toHaveProperty("ok");
      }),
    );
  });
});

const headers: readonly ParamHeader[] = [
  { header: "mcp-param-region", path: ["region"], type: "string" },
  { header: "mcp-param-level", path: ["where", "level"], type: "integer" },
  { header: "mcp-param-dry", path: ["dry"], type: "boolean" },
];

describe("paramHeaderValues", () => {
  it.each<[args: JsonObject | undefined, values: readonly (readonly [string, string])[]]>([
    [undefined, []],
    [{}, []],
    [{ region: null, where: null, dry: null }, []],
    [{ region: "eu west" }, [["mcp-param-region", "eu west"]]],
    [{ region: "" }, [["mcp-param-region", ""]]],
    [{ region: "é" }, [["mcp-param-region", "=?base64?w6k=?="]]],
    [{ region: "a\r\nX: 1" }, [["mcp-param-region", "=?base64?YQ0KWDogMQ==?="]]],
    [{ where: { level: -42 } }, [["mcp-param-level", "-42"]]],
    [{ where: { level: -0 } }, [["mcp-param-level", "0"]]],
    [{ where: { level: 2 ** 53 - 1 } }, [["mcp-param-level", "9007199254740991"]]],
    [{ where: { level: 2 ** 53 } }, []],
    [{ where: { level: 1.5 } }, []],
    [{ where: { level: [1] } }, []],
    [{ where: [1] }, []],
    [{ where: "level" }, []],
    [
      { dry: false, region: "a" },
      [
        ["mcp-param-region", "a"],
        ["mcp-param-dry", "false"],
      ],
    ],
    [{ dry: true }, [["mcp-param-dry", "true"]]],
    [{ dry: "yes" }, [["mcp-param-dry", "yes"]]],
  ])("of %j are %j", (args, values) => {
    expect(paramHeaderValues(headers, args)).toEqual(values);
  });

  it("looks at members of the arguments alone", () => {
    const inherited: ParamHeader[] = [{ header: "mcp-param-a", path: ["constructor", "name"], type: "string" }];
    expect(paramHeaderValues(inherited, {})).toEqual([]);
  });
});

describe("paramHeaderProblem", () => {
  const problem = (args: JsonObject | undefined, values: Readonly<Record<string, string>>) =>
    paramHeaderProblem(headers, args, (name) => values[name]);

  it.each<[args: JsonObject | undefined, values: Record<string, string>]>([
    [undefined, {}],
    [{ region: null, where: {} }, {}],
    [{ region: "eu" }, { "mcp-param-region": "eu" }],
    [{ region: "eu" }, { "mcp-param-region": " eu\t" }],
    [{ region: "" }, { "mcp-param-region": "" }],
    [{ region: "Hello" }, { "mcp-param-region": "=?base64?SGVsbG8=?=" }],
    [{ region: "SGVsbG8=" }, { "mcp-param-region": "SGVsbG8=" }],
    [{ region: "=?base64?SGVsbG8=" }, { "mcp-param-region": "=?base64?SGVsbG8=" }],
    [{ where: { level: 42 } }, { "mcp-param-level": "42.0" }],
    [{ where: { level: 42 } }, { "mcp-param-level": "=?base64?NDI=?=" }],
    [{ where: { level: 0 } }, { "mcp-param-level": "-0" }],
    [{ where: { level: -0 } }, { "mcp-param-level": "0" }],
    [{ dry: false }, { "mcp-param-dry": "false" }],
    [{ other: 1 }, { "mcp-param-other": "2" }],
  ])("has none with %j and %j", (args, values) => {
    expect(problem(args, values)).toBeUndefined();
  });

  it.each<[args: JsonObject | undefined, values: Record<string, string>, problem: string]>([
    [{ region: "eu" }, {}, "the mcp-param-region header is missing"],
    [{ region: "" }, {}, "the mcp-param-region header is missing"],
    [{ region: "eu" }, { "mcp-param-region": "EU" }, "the mcp-param-region header does not match the argument"],
    [
      { region: "Hello" },
      { "mcp-param-region": "=?base64?SGVsbG8?=" },
      "the mcp-param-region header does not match the argument",
    ],
    [
      { region: "=?base64?SGVsbG8?=" },
      { "mcp-param-region": "=?base64?SGVsbG8?=" },
      "the mcp-param-region header does not match the argument",
    ],
    [{ where: { level: 42 } }, { "mcp-param-level": "42.5" }, "the mcp-param-level header does not match the argument"],
    [
      { where: { level: 42 } },
      { "mcp-param-level": "42.00000000000000000001" },
      "the mcp-param-level header does not match the argument",
    ],
    [{ where: { level: 42 } }, { "mcp-param-level": "0x2a" }, "the mcp-param-level header does not match the argument"],
    [{ where: { level: 0 } }, { "mcp-param-level": "" }, "the mcp-param-level header does not match the argument"],
    [
      { where: { level: 2 ** 53 } },
      { "mcp-param-level": "9007199254740992" },
      "the mcp-param-level header cannot carry the argument",
    ],
    [{ where: { level: 1.5 } }, {}, "the mcp-param-level header cannot carry the argument"],
    [{ where: { level: {} } }, {}, "the mcp-param-level header cannot carry the argument"],
    [{ dry: false }, { "mcp-param-dry": "0" }, "the mcp-param-dry header does not match the argument"],
    [{ region: null }, { "mcp-param-region": "null" }, "the mcp-param-region header repeats no argument"],
    [undefined, { "mcp-param-dry": "" }, "the mcp-param-dry header repeats no argument"],
  ])("with %j and %j", (args, values, expected) => {
    expect(problem(args, values)).toBe(expected);
  });

  it("is none for what paramHeaderValues gives", () => {
    const level = fc.maxSafeInteger();
    const args = fc.record(
      { region: fc.string({ unit: "grapheme" }), where: fc.record({ level }), dry: fc.option(fc.boolean()) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(args, (some) => {
        const sent = new Headers(paramHeaderValues(headers, some as JsonObject).map(([name, value]) => [name, value]));
        expect(paramHeaderProblem(headers, some as JsonObject, (name) => sent.get(name) ?? undefined)).toBeUndefined();
      }),
    );
  });
});

function nest(keyword: string): JsonObject {
  let schema: JsonObject = {};
  for (let depth = 0; depth < 10_000; depth++) schema = { [keyword]: keyword === "items" ? schema : { a: schema } };
  return schema;
}

const anyKey = fc.constantFrom("properties", "items", "anyOf", "x-mcp-header", "type", "default", "a", "__proto__");

function anySchema(tie: fc.LetrecTypedTie<{ schema: unknown }>): { schema: fc.Arbitrary<unknown> } {
  const leaf = fc.constantFrom<Json>("string", "integer", "a", "", null, 1, true);
  return { schema: fc.oneof({ maxDepth: 4 }, leaf, fc.dictionary(anyKey, tie("schema")), fc.array(tie("schema"))) };
}
