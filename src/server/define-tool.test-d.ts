import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { expectTypeOf } from "vitest";
import { z } from "zod";
import { connect } from "../connect/connect.ts";
import type { JsonObject } from "../json/json.ts";
import type { CallToolResult } from "../model/tool.ts";
import { image, text } from "./content.ts";
import type { Context } from "./context.ts";
import { tool } from "./define-tool.ts";
import { createServer } from "./server.ts";

interface Line {
  sku: string;
  qty: number;
}

// The input of `run` comes from the schema, whichever library it is of.
tool({
  input: z.object({ sku: z.string(), qty: z.number() }),
  run: (input, context) => {
    expectTypeOf(input).toEqualTypeOf<Line>();
    expectTypeOf(context).toEqualTypeOf<Context>();
  },
});
tool({
  input: toStandardJsonSchema(v.object({ sku: v.string(), qty: v.number() })),
  run: (input) => expectTypeOf(input).toEqualTypeOf<Line>(),
});
tool({
  input: type({ sku: "string", qty: "number" }),
  run: (input) => expectTypeOf(input).toEqualTypeOf<Line>(),
});
tool({
  input: {
    type: "object",
    properties: { sku: { type: "string" }, qty: { type: "integer" }, tone: { enum: ["kind", "rude"] } },
    required: ["sku", "qty"],
  },
  run: (input) => expectTypeOf(input).toEqualTypeOf<{ sku: string; qty: number; tone?: "kind" | "rude" }>(),
});
tool({ run: (input) => expectTypeOf(input).toEqualTypeOf<{ [name: string]: unknown }>() });

// `run` sees what validation makes of the input, callers give what goes in.
const defaults = tool({
  input: z.object({ n: z.string().transform(Number), page: z.number().default(1) }),
  run: (input) => {
    expectTypeOf(input).toEqualTypeOf<{ n: number; page: number }>();
    return "";
  },
});

// What `run` returns must match `output`.
const output = z.object({ order: z.string() });
tool({ output, run: () => ({ order: "o1" }) });
tool({ output, run: async () => ({ order: "o1" }) });
tool({ output, run: (): CallToolResult => ({ content: [text("no")], isError: true }) });
tool({ output: { type: "object", properties: { n: { type: "number" } }, required: ["n"] }, run: () => ({ n: 1 }) });
// @ts-expect-error a member of the wrong type
tool({ output, run: () => ({ order: 1 }) });
// @ts-expect-error a member that is missing
tool({ output, run: async () => ({}) });
// @ts-expect-error nothing at all
tool({ output, run: () => {} });
// @ts-expect-error text, where an object is declared
tool({ output, run: () => "o1" });
// @ts-expect-error a number, where a plain schema says text
tool({ output: { type: "object", properties: { a: { type: "string" } }, required: ["a"] }, run: () => ({ a: 1 }) });

// @ts-expect-error run is not optional
tool({ description: "does nothing" });
// @ts-expect-error run is a function
tool({ run: "x" });
// @ts-expect-error input is a schema
tool({ input: "string", run: () => {} });
// @ts-expect-error icons are a list
tool({ icons: { src: "x" }, run: () => {} });
// @ts-expect-error no such annotation
tool({ annotations: { destructive: true }, run: () => {} });

// The tools of a server are functions of its client, typed in and out.
const shop = createServer({
  name: "shop",
  version: "1",
  tools: {
    buy: tool({ input: z.object({ sku: z.string() }), output, run: ({ sku }) => ({ order: sku }) }),
    count: tool({ input: z.object({ text: z.string().optional() }), run: async () => ({ n: 1 }) }),
    now: tool({ run: () => "12:00" }),
    any: tool({ input: { type: "object" }, run: (input) => Object.keys(input) }),
    numbers: tool({ input: { type: "object", additionalProperties: { type: "number" } }, run: () => 1 }),
    draw: tool({ run: () => image("AAAA", "image/png") }),
    full: tool({ run: (): CallToolResult => ({ content: [] }) }),
    defaults,
  },
});
const client = await connect(shop);
expectTypeOf(client.tools.buy({ sku: "A" })).resolves.toEqualTypeOf<{ order: string }>();
expectTypeOf(client.tools.count({ text: "x" })).resolves.toEqualTypeOf<{ n: number }>();
expectTypeOf(client.tools.count()).resolves.toEqualTypeOf<{ n: number }>();
expectTypeOf(client.tools.now()).resolves.toEqualTypeOf<string>();
expectTypeOf(client.tools.now({ zone: "utc" })).resolves.toEqualTypeOf<string>();
expectTypeOf(client.tools.any()).resolves.toEqualTypeOf<string[]>();
// A simple value comes as text.
expectTypeOf(client.tools.numbers({ a: 1 })).resolves.toEqualTypeOf<string>();
expectTypeOf(client.tools.draw()).resolves.toEqualTypeOf<unknown>();
expectTypeOf(client.tools.full()).resolves.toEqualTypeOf<unknown>();
expectTypeOf(client.tools.defaults({ n: "1" })).resolves.toEqualTypeOf<string>();

// @ts-expect-error an argument that is required
client.tools.buy({});
// @ts-expect-error no arguments, where one is required
client.tools.buy();
// @ts-expect-error an argument of the wrong type
client.tools.buy({ sku: 1 });
// @ts-expect-error an argument that may be left out, but is text
client.tools.count({ text: 1 });
// @ts-expect-error a number is wanted
client.tools.numbers({ a: "1" });
// @ts-expect-error what goes in is text
client.tools.defaults({ n: 1 });
// @ts-expect-error no such tool
client.tools.sell;

// The same through the type of a server.
const remote = await connect<typeof shop>("node shop.js");
expectTypeOf(remote.tools.buy({ sku: "A" })).resolves.toEqualTypeOf<{ order: string }>();

// Tools that come later can be anything.
shop.tools.add("later", tool({ run: () => 1 }));
// @ts-expect-error but not nothing
shop.tools.add("later", {});

createServer({
  name: "x",
  version: "1",
  // @ts-expect-error a method gives an object
  methods: { "x/y": () => "text" },
});
createServer({
  name: "x",
  version: "1",
  methods: {
    "x/y": (params, context) => {
      expectTypeOf(params).toEqualTypeOf<JsonObject>();
      expectTypeOf(context).toEqualTypeOf<Context>();
      return { ok: true };
    },
  },
});
// @ts-expect-error a server has a version
createServer({ name: "x" });
