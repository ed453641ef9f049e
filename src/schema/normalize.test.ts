import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json/json.ts";
import { inspectSchema } from "./inspect.ts";
import { type Normalized, normalizeSchema } from "./normalize.ts";

function normalized(schema: JsonObject): Normalized {
  const inspection = inspectSchema(schema);
  if (!inspection.ok) throw new Error(inspection.problem);
  return normalizeSchema(inspection.value);
}

/** A chain of definitions, each of which is made from the next. */
function chain(length: number, link: (next: JsonObject) => JsonObject): JsonObject {
  const $defs = Object.fromEntries(
    Array.from({ length }, (_, index) => [`d${index}`, link({ $ref: `#/$defs/d${index + 1}` })]),
  );
  return { $ref: "#/$defs/d0", $defs: { ...$defs, [`d${length}`]: { type: "string" } } };
}

describe("normalizeSchema", () => {
  it.each<[JsonObject, string]>([
    [{ $ref: "#" }, "# applies itself"],
    [{ anyOf: [{ $ref: "#/anyOf/0" }] }, "#/anyOf/0 applies itself"],
    [{ $id: "x:root", allOf: [{ $ref: "x:root" }] }, "applies itself"],
    [chain(70, (next) => next), "more than 64 schemas in a row"],
  ])("refuses %j", (schema, problem) => {
    expect(normalized(schema)).toEqual({ ok: false, problem: expect.stringContaining(problem) });
  });

  it.each(["anyOf", "oneOf", "allOf"])("refuses thirty nested pairs of %s", (combinator) => {
    expect(normalized(chain(30, (next) => ({ [combinator]: [next, next] })))).toEqual({
      ok: false,
      problem: expect.stringContaining("more than 10000 subschemas"),
    });
  });

  it("writes every schema once, and references as such into $defs", () => {
    const schema = {
      $id: "https://example.com/a",
      title: "left out",
      properties: { a: { $ref: "b#word" }, b: { $id: "b", $defs: { w: { $anchor: "word", type: "string" } } } },
      items: { $ref: "#" },
    };
    const root = { properties: { a: { $ref: "#/$defs/0" }, b: {} }, items: { $ref: "#/$defs/1" } };
    expect(normalized(schema)).toEqual({
      ok: true,
      value: {
        root: { $ref: "#/$defs/1" },
        targets: new Map<string, unknown>([
          ["#/$defs/true", true],
          ["#/$defs/false", false],
          ["#/$defs/0", { type: "string" }],
          ["#/$defs/1", root],
        ]),
        unevaluated: false,
      },
    });
  });
});
