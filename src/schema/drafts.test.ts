import { beforeAll, describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../json/json.ts";
import { compile } from "./compile.ts";
import { inspectSchema } from "./inspect.ts";
import { lazyFormats } from "./value-rules.ts";

// One rule in a row, for everything in which the drafts differ: docs/conformance.md has the same table in words.

type Draft = keyof typeof dialects;

const dialects = {
  "4": "http://json-schema.org/draft-04/schema#",
  "6": "http://json-schema.org/draft-06/schema#",
  "7": "http://json-schema.org/draft-07/schema#",
  "2019-09": "https://json-schema.org/draft/2019-09/schema",
  "2020-12": "https://json-schema.org/draft/2020-12/schema",
};

const all = Object.keys(dialects) as readonly Draft[];
const until = (last: Draft) => all.slice(0, all.indexOf(last) + 1);
const since = (first: Draft) => all.slice(all.indexOf(first));

beforeAll(async () => {
  await lazyFormats.load();
});

/** What comes of a value in a draft: `true` or `false`, or why the schema is refused. */
function verdict(draft: Draft | undefined, schema: JsonObject, value: Json): boolean | string {
  const inspection = inspectSchema(draft === undefined ? schema : { $schema: dialects[draft], ...schema });
  if (!inspection.ok) return inspection.problem;
  const checked = compile(inspection.value)(value);
  if (checked.ok) return true;
  const [issue] = checked.issues;
  return issue?.keyword === "schema" ? issue.message : false;
}

interface Row {
  readonly rule: string;
  readonly schema: JsonObject;
  readonly value: Json;
  /** The drafts that this value is invalid in. It is valid in the others. */
  readonly invalid: readonly Draft[];
}

const text = { type: "string" };

const rows: readonly Row[] = [
  {
    rule: "keywords beside $ref are ignored up to draft 7",
    schema: { properties: { a: { $ref: "#/definitions/text", maxLength: 1 } }, definitions: { text } },
    value: { a: "long" },
    invalid: since("2019-09"),
  },
  {
    rule: "a $ref holds, whatever is beside it",
    schema: { properties: { a: { $ref: "#/definitions/text", maxLength: 1 } }, definitions: { text } },
    value: { a: 1 },
    invalid: all,
  },
  {
    rule: "properties beside a $ref of the root are ignored up to draft 7",
    schema: { $ref: "#/definitions/any", required: ["a"], definitions: { any: {} } },
    value: {},
    invalid: since("2019-09"),
  },
  { rule: "const is new in draft 6", schema: { const: 1 }, value: 2, invalid: since("6") },
  { rule: "contains is new in draft 6", schema: { contains: text }, value: [1], invalid: since("6") },
  { rule: "propertyNames is new in draft 6", schema: { propertyNames: false }, value: { a: 1 }, invalid: since("6") },
  {
    rule: "if and else are new in draft 7",
    schema: { if: text, else: { minimum: 2 } },
    value: 1,
    invalid: since("7"),
  },
  {
    rule: "then is new in draft 7",
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    schema: { if: text, then: { minLength: 2 } },
    value: "a",
    invalid: since("7"),
  },
  {
    rule: "dependentRequired is new in 2019-09",
    schema: { dependentRequired: { a: ["b"] } },
    value: { a: 1 },
    invalid: since("2019-09"),
  },
  {
    rule: "dependentSchemas is new in 2019-09",
    schema: { dependentSchemas: { a: false } },
    value: { a: 1 },
    invalid: since("2019-09"),
  },
  { rule: "dependencies goes on to work", schema: { dependencies: { a: ["b"] } }, value: { a: 1 }, invalid: all },
  {
    rule: "minContains is new in 2019-09",
    schema: { contains: text, minContains: 2 },
    value: ["a"],
    invalid: since("2019-09"),
  },
  {
    rule: "maxContains is new in 2019-09",
    schema: { contains: text, maxContains: 1 },
    value: ["a", "b"],
    invalid: since("2019-09"),
  },
  {
    rule: "unevaluatedProperties is new in 2019-09",
    schema: { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
    value: { b: 1 },
    invalid: since("2019-09"),
  },
  {
    rule: "unevaluatedItems is new in 2019-09",
    schema: { unevaluatedItems: false },
    value: [1],
    invalid: since("2019-09"),
  },
  { rule: "prefixItems is new in 2020-12", schema: { prefixItems: [text] }, value: [1], invalid: ["2020-12"] },
  {
    rule: "$recursiveRef is new in 2019-09",
    schema: { type: ["object", "null"], properties: { next: { $recursiveRef: "#" } } },
    value: { next: 1 },
    invalid: since("2019-09"),
  },
  {
    rule: "$dynamicRef is new in 2020-12",
    schema: { $dynamicAnchor: "node", type: "object", properties: { next: { $dynamicRef: "#node" } } },
    value: { next: 1 },
    invalid: ["2020-12"],
  },
  { rule: "format is checked in every draft", schema: { format: "date" }, value: "2024-02-30", invalid: all },
  { rule: "an unknown format is an annotation", schema: { format: "colour" }, value: "x", invalid: [] },
];

describe("the drafts of JSON Schema", () => {
  it.each(rows.map((row) => [row.rule, row] as const))("%s (I10)", (_, { schema, value, invalid }) => {
    const found = all.map((draft) => [draft, verdict(draft, schema, value)]);
    expect(found).toEqual(all.map((draft) => [draft, !invalid.includes(draft)]));
  });

  it("items is a tuple up to 2019-09, with additionalItems for what follows (I10)", () => {
    const tuple = { items: [text], additionalItems: { type: "number" } };
    for (const draft of until("2019-09")) {
      expect([draft, verdict(draft, tuple, ["a", 1])]).toEqual([draft, true]);
      expect([draft, verdict(draft, tuple, [1])]).toEqual([draft, false]);
      expect([draft, verdict(draft, tuple, ["a", "b"])]).toEqual([draft, false]);
    }
    expect(verdict("2020-12", tuple, [])).toBe("#/items must be a schema; use prefixItems for a tuple");
    expect(verdict("2020-12", { items: text, additionalItems: false }, ["a", "b"])).toBe(true);
  });

  it("exclusiveMinimum and exclusiveMaximum are booleans in draft 4, numbers since (I10)", () => {
    const four = { minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: true };
    expect([1, 2, 3].map((value) => verdict("4", four, value))).toEqual([false, true, false]);
    expect(verdict("4", { minimum: 1, exclusiveMinimum: false }, 1)).toBe(true);
    expect(verdict("4", { exclusiveMinimum: true }, 0)).toBe(true);
    expect(verdict("4", { exclusiveMinimum: 1 }, 2)).toBe(
      "#/exclusiveMinimum must be a number, or a boolean in draft 4",
    );
    for (const draft of since("6")) {
      const numbers = { exclusiveMinimum: 1, exclusiveMaximum: 3 };
      expect([1, 2, 3].map((value) => verdict(draft, numbers, value))).toEqual([false, true, false]);
      expect(verdict(draft, four, 2)).toBe("#/exclusiveMinimum must be a number, or a boolean in draft 4");
    }
  });

  it("a schema is named by id in draft 4, by $id since (I10)", () => {
    const named = (keyword: string) => ({
      properties: { a: { $ref: "x:text" } },
      definitions: { text: { [keyword]: "x:text", ...text } },
    });
    const unresolved = expect.stringContaining("#/properties/a/$ref must point into this schema");
    expect([verdict("4", named("id"), { a: 1 }), verdict("4", named("$id"), { a: 1 })]).toEqual([false, unresolved]);
    for (const draft of since("6")) {
      const found = [verdict(draft, named("$id"), { a: 1 }), verdict(draft, named("id"), { a: 1 })];
      expect([draft, ...found]).toEqual([draft, false, unresolved]);
    }
  });

  it("an id beside $ref is no base for it up to draft 7 (I10)", () => {
    const beside = {
      $id: "https://example.com/root",
      properties: { a: { $id: "https://example.com/other/", $ref: "target" } },
      definitions: { here: { $id: "target", ...text }, there: { $id: "other/target", type: "number" } },
    };
    const drafts = since("6").map((draft) => [
      draft,
      verdict(draft, beside, { a: 1 }),
      verdict(draft, beside, { a: "x" }),
    ]);
    expect(drafts).toEqual([
      ["6", false, true],
      ["7", false, true],
      ["2019-09", true, false],
      ["2020-12", true, false],
    ]);
  });

  it("a schema without $schema is of 2020-12, and a resource may be of another draft (I10)", () => {
    expect(verdict(undefined, { prefixItems: [text] }, [1])).toBe(false);
    const embedded = {
      properties: { a: { $ref: "x:old" } },
      $defs: { old: { $id: "x:old", $schema: dialects["7"], prefixItems: [text], items: [text] } },
    };
    expect([verdict(undefined, embedded, { a: ["b"] }), verdict(undefined, embedded, { a: [1] })]).toEqual([
      true,
      false,
    ]);
    expect(verdict(undefined, { ...embedded, prefixItems: [text] }, [1])).toBe(false);
  });
});
