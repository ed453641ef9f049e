import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import type { AnySchema, InferIn, InferOut } from "../../../src/schema/infer.ts";
import { createServer, type ToolDefinition } from "../../../src/server/index.ts";

/** A tool that takes and gives the same. */
function both<const S extends AnySchema>(schema: S): ToolDefinition<InferIn<S>, InferOut<S>> {
  return { input: schema, output: schema, run: (input) => input };
}

const tree = z.object({
  name: z.string(),
  get children() {
    return z.array(tree);
  },
});

interface Node {
  readonly label: string;
  readonly next?: Node | undefined;
}

const node: v.GenericSchema<Node> = v.object({ label: v.string(), next: v.optional(v.lazy(() => node)) });

/** Schemas of libraries, which tell their types to the compiler and their JSON Schema to everybody else. */
export const standard = createServer({
  name: "standard",
  version: "1",
  tools: {
    zod_scalars: both(
      z.object({
        text: z.email(),
        count: z.int().min(1),
        sure: z.boolean(),
        nothing: z.null(),
        maybe: z.string().nullable(),
        later: z.number().optional(),
        both: z.string().nullish(),
        any: z.any(),
        untold: z.unknown(),
        never: z.never().optional(),
      }),
    ),
    zod_choices: both(
      z.object({ one: z.literal("a"), many: z.literal(["x", 1, null, true]), word: z.enum(["b", "c"]) }),
    ),
    zod_lists: both(
      z.object({
        list: z.array(z.object({ n: z.number() })),
        pair: z.tuple([z.string(), z.number()]),
        rest: z.tuple([z.string()], z.boolean()),
        short: z.tuple([z.string(), z.number().optional()]),
      }),
    ),
    zod_records: both(
      z.object({
        all: z.record(z.string(), z.number()),
        some: z.record(z.enum(["a", "b"]), z.number()),
        few: z.partialRecord(z.enum(["a", "b"]), z.number()),
        loose: z.looseObject({ a: z.string() }),
        strict: z.strictObject({ a: z.string() }),
      }),
    ),
    zod_unions: both(
      z.object({
        either: z.union([z.string(), z.array(z.number())]),
        kind: z.discriminatedUnion("k", [
          z.object({ k: z.literal("a"), n: z.number() }),
          z.object({ k: z.literal("b") }),
        ]),
        each: z.intersection(z.object({ a: z.string() }), z.object({ b: z.number() })),
      }),
    ),
    zod_tree: both(tree),
    zod_trees: both(z.object({ left: tree, right: tree })),
    zod_defaults: both(z.object({ page: z.number().default(1), text: z.string() })),
    valibot_objects: both(
      toStandardJsonSchema(
        v.object({
          text: v.string(),
          maybe: v.nullable(v.string()),
          later: v.optional(v.number()),
          word: v.picklist(["a", 1]),
          one: v.literal("x"),
          loose: v.looseObject({ a: v.string() }),
          strict: v.strictObject({ a: v.string() }),
          all: v.record(v.string(), v.number()),
        }),
      ),
    ),
    valibot_lists: both(
      toStandardJsonSchema(
        v.object({
          list: v.array(v.string()),
          pair: v.tuple([v.string(), v.number()]),
          exact: v.strictTuple([v.string()]),
          rest: v.tupleWithRest([v.string()], v.number()),
        }),
      ),
    ),
    valibot_unions: both(
      toStandardJsonSchema(
        v.object({
          either: v.union([v.string(), v.number()]),
          kind: v.variant("k", [v.object({ k: v.literal("a") }), v.object({ k: v.literal("b"), n: v.number() })]),
          each: v.intersect([v.object({ a: v.string() }), v.object({ b: v.string() })]),
        }),
      ),
    ),
    valibot_recursion: both(toStandardJsonSchema(node as v.GenericSchema<Node>)),
    arktype: both(
      type({ a: "string", "b?": "number", c: "'x' | 'y' | null", t: ["string", "number"], "r?": "string[]" }),
    ),
  },
});
