import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../json/json.ts";
import type { AnySchema, InferIn, InferOut } from "./infer.ts";
import type { StandardSchema } from "./standard-schema.ts";

/** Infers as a tool does: from a literal that is written in place. */
declare function inferred<const S extends AnySchema>(schema: S): InferOut<S>;

describe("a JSON Schema literal", () => {
  it("describes scalars", () => {
    expectTypeOf(inferred({ type: "string" })).toEqualTypeOf<string>();
    expectTypeOf(inferred({ type: "number", minimum: 3 })).toEqualTypeOf<number>();
    expectTypeOf(inferred({ type: "integer" })).toEqualTypeOf<number>();
    expectTypeOf(inferred({ type: "boolean" })).toEqualTypeOf<boolean>();
    expectTypeOf(inferred({ type: "null" })).toEqualTypeOf<null>();
    expectTypeOf(inferred({ type: ["string", "null"] })).toEqualTypeOf<string | null>();
  });

  it("describes constants and enumerations", () => {
    expectTypeOf(inferred({ const: "a" })).toEqualTypeOf<"a">();
    expectTypeOf(inferred({ type: "string", const: "a" })).toEqualTypeOf<"a">();
    expectTypeOf(inferred({ enum: ["a", 1, null] })).toEqualTypeOf<"a" | 1 | null>();
    expectTypeOf(inferred({ type: "string", enum: ["a", "b"] })).toEqualTypeOf<"a" | "b">();
  });

  it("describes arrays", () => {
    expectTypeOf(inferred({ type: "array" })).toEqualTypeOf<unknown[]>();
    expectTypeOf(inferred({ type: "array", items: { type: "array", items: { type: "string" } } })).toEqualTypeOf<
      string[][]
    >();
    expectTypeOf(inferred({ type: ["array", "null"], items: { type: "string" } })).toEqualTypeOf<string[] | null>();
  });

  it("describes arrays whose first items have schemas of their own", () => {
    const pair = { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] } as const;
    expectTypeOf(inferred({ ...pair, items: false })).toEqualTypeOf<(string | number)[]>();
    expectTypeOf(inferred({ ...pair, items: { type: "boolean" } })).toEqualTypeOf<(string | number | boolean)[]>();
    expectTypeOf(inferred(pair)).toEqualTypeOf<unknown[]>();
  });

  it("describes objects", () => {
    expectTypeOf(inferred({ type: "object" })).toEqualTypeOf<{ [name: string]: unknown }>();
    expectTypeOf(inferred({ type: "object", additionalProperties: { type: "number" } })).toEqualTypeOf<{
      [name: string]: number;
    }>();
    expectTypeOf(inferred({ type: "object", properties: { a: { type: "string" } } })).toEqualTypeOf<{ a?: string }>();
    expectTypeOf(
      inferred({
        type: "object",
        description: "with all kinds of things",
        properties: {
          sku: { type: "string", pattern: "^[A-Z]+$" },
          size: { enum: ["s", "m"] },
          gift: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
          ref: { $ref: "#/$defs/x" },
          any: true,
          none: false,
        },
        required: ["sku", "gift", "elsewhere"],
        additionalProperties: false,
        $defs: { x: {} },
      }),
    ).toEqualTypeOf<{
      sku: string;
      size?: "s" | "m";
      gift: { to: string };
      ref?: unknown;
      any?: unknown;
      none?: never;
    }>();
  });

  it("describes unions", () => {
    expectTypeOf(inferred({ anyOf: [{ type: "string" }, { type: "number" }] })).toEqualTypeOf<string | number>();
    expectTypeOf(
      inferred({
        oneOf: [
          {
            type: "object",
            properties: { kind: { const: "a" }, size: { type: "number" } },
            required: ["kind", "size"],
          },
          { type: "object", properties: { kind: { const: "b" } }, required: ["kind"] },
        ],
      }),
    ).toEqualTypeOf<{ kind: "a"; size: number } | { kind: "b" }>();
  });

  it("is unknown where it cannot be told", () => {
    expectTypeOf(inferred({})).toEqualTypeOf<unknown>();
    expectTypeOf(inferred({ $ref: "#/$defs/a", $defs: { a: {} } })).toEqualTypeOf<unknown>();
    expectTypeOf(inferred({ allOf: [{ type: "string" }] })).toEqualTypeOf<unknown>();
    expectTypeOf<InferIn<JsonObject>>().toEqualTypeOf<unknown>();
    expectTypeOf<InferIn<{ type: string }>>().toEqualTypeOf<unknown>();
    type Widened = { type: "object"; properties: { a: { type: "string" } }; required: string[] };
    expectTypeOf<InferIn<Widened>>().toEqualTypeOf<{ a?: string }>();
  });
});

describe("a Standard Schema", () => {
  const zod = z.object({ a: z.string().default("x"), n: z.string().transform(Number) });

  it("has an input and an output", () => {
    expectTypeOf<InferIn<typeof zod>>().toEqualTypeOf<{ a?: string | undefined; n: string }>();
    expectTypeOf<InferOut<typeof zod>>().toEqualTypeOf<{ a: string; n: number }>();
  });

  it("may come from any library", () => {
    const valibot = v.object({ a: v.optional(v.string(), "x") });
    const converted = toStandardJsonSchema(valibot);
    const arktype = type({ a: "string", "b?": "number" });
    expectTypeOf(inferred(valibot)).toEqualTypeOf<{ a: string }>();
    expectTypeOf(inferred(converted)).toEqualTypeOf<{ a: string }>();
    expectTypeOf<InferIn<typeof converted>>().toEqualTypeOf<{ a?: string | undefined }>();
    expectTypeOf(inferred(arktype)).toEqualTypeOf<{ a: string; b?: number }>();
  });

  it("is the interface of the specification", () => {
    expectTypeOf<StandardSchemaV1<string, number>>().toExtend<StandardSchema<string, number>>();
    expectTypeOf<StandardSchemaV1<string, number> & StandardJSONSchemaV1<string, number>>().toExtend<
      StandardSchema<string, number>
    >();
  });
});

describe("AnySchema", () => {
  it("takes JSON Schemas that somebody else has typed", () => {
    interface ForeignSchema {
      type?: "object" | "string" | undefined;
      properties?: { [name: string]: ForeignSchema } | undefined;
    }
    expectTypeOf<ForeignSchema>().toExtend<AnySchema>();
    expectTypeOf<JsonObject>().toExtend<AnySchema>();
  });

  it("takes extensions", () => {
    const schema: AnySchema = { type: "string", minLength: 3, "x-widget": "password" };
    expectTypeOf(schema).toExtend<AnySchema>();
  });

  it("takes nothing else", () => {
    expectTypeOf<string>().not.toExtend<AnySchema>();
  });
});
