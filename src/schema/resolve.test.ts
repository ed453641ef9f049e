import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json/json.ts";
import { inspectSchema } from "./inspect.ts";
import { resolveSchema } from "./resolve.ts";

function problemOf(schema: JsonObject): string | undefined {
  const inspection = inspectSchema(schema);
  if (!inspection.ok) throw new Error(inspection.problem);
  const resolution = resolveSchema(inspection.value);
  return resolution.ok ? undefined : resolution.problem;
}

const draft7 = { $schema: "http://json-schema.org/draft-07/schema#" };

describe("resolveSchema", () => {
  it.each<JsonObject>([
    { $id: "https://example.com/root", $ref: "#/$defs/a", $defs: { a: {} } },
    { $ref: "#/definitions/a", definitions: { a: { $ref: "#/definitions/b" }, b: {} } },
    { $ref: "#name", $defs: { a: { $anchor: "name" } } },
    { $ref: "#name", definitions: { a: { $id: "#name" } } },
    { $dynamicRef: "#name", $defs: { a: { $dynamicAnchor: "name" } } },
    { $ref: "#/$defs/a~1b%25", $defs: { "a/b%": {} } },
    { $ref: "#/components/schemas/a", components: { schemas: { a: { type: "string" } } } },
    { properties: { next: { $ref: "#" } } },
    { $ref: "item", $defs: { a: { $id: "item" } } },
    { $id: "https://example.com/a/b", $ref: "c#d", $defs: { c: { $id: "c", $defs: { d: { $anchor: "d" } } } } },
    { $id: "urn:example:a", $ref: "urn:example:a#/$defs/b", $defs: { b: { $ref: "#/$defs/c" }, c: {} } },
    { $defs: { a: { $id: "x:a", $ref: "#/$defs/b", $defs: { b: {} } } } },
    { ...draft7, $ref: "x:a#foo", definitions: { a: { $id: "x:a#foo" } } },
    { ...draft7, definitions: { a: { $id: "x:a", $ref: "#/definitions/b" }, b: {} } },
  ])("finds what %j refers to (I10)", (schema) => {
    expect(problemOf(schema)).toBeUndefined();
  });

  it.each<[JsonObject, string]>([
    [{ $ref: "http://127.0.0.1:9/x" }, "#/$ref must point into this schema"],
    [{ $ref: "other.json#/a" }, "not to other.json#/a"],
    [{ properties: { a: { $dynamicRef: "https://example.com" } } }, "#/properties/a/$dynamicRef must point into"],
    [
      { $defs: { a: { $id: "x:a" }, b: { $id: "x:a" } } },
      "#/$defs/b has an $id, x:a, that another part of the schema has",
    ],
    [{ $id: "https://example.com:x" }, "# has an $id that is not a URI reference"],
    [{ $id: "a".repeat(1025) }, "# has an $id that is not a URI reference of at most 1024 characters"],
    [{ $defs: { a: { $id: "x:a", $ref: "#/$defs/a" } } }, "#/$defs/a/$ref leads nowhere: there is no x:a#/$defs/a"],
    [{ items: { $ref: "#/$defs/a" } }, "#/items/$ref leads nowhere: there is no #/$defs/a"],
    [{ $ref: "#nobody" }, "leads nowhere"],
    [{ $ref: "#/toString" }, "leads nowhere"],
    [{ $ref: "#/%" }, "leads nowhere"],
    [{ $ref: "#/a", a: { type: "x" } }, "#/a/type must be one of"],
    [{ $defs: { a: { $anchor: "x" }, b: { $anchor: "x" } } }, "#/$defs/b/$anchor gives the name x to a second schema"],
  ])("refuses %j (V26)", (schema, problem) => {
    expect(problemOf(schema)).toContain(problem);
  });
});
