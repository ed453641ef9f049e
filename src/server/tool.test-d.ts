import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { expectTypeOf } from "vitest";
import { z } from "zod";
import { connect } from "../connect/connect.ts";
import type { JsonObject } from "../json/json.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import { image, text } from "./content.ts";
import type { Context } from "./context.ts";
import { createServer } from "./server.ts";
import { type ToolResult, tool } from "./tool.ts";

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
tool({ output, run: () => ({ content: [text("no")], isError: true }) });
tool({ output, run: (): ToolResult<{ order: string }> => ({ content: [text("no")], isError: true }) });
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

// A wrong value is reported where it is returned, not at `output`.
tool({
  output,
  run: () => ({
    // @ts-expect-error a member of the wrong type (T2)
    order: 1,
  }),
});
tool({
  output,
  run: () => ({
    structuredContent: {
      // @ts-expect-error the structured content of a full result has the type of the output (T2)
      order: 1,
    },
  }),
});
tool({
  output,
  // @ts-expect-error a handler that returns later is reported at run (T2)
  run: async () => {
    await Promise.resolve();
    return { order: 1 };
  },
});
// @ts-expect-error a full result without structured content, where an output is declared (T2)
tool({ output, run: () => ({ content: [text("o1")] }) });
tool({ output, run: () => ({ structuredContent: { order: "o1" } }) });
tool({ output, run: () => ({ content: [text("o1")], structuredContent: { order: "o1" }, _meta: { "x/y": 1 } }) });

// A value whose type is an interface, a read-only or a frozen one is as good as any (T2).
interface Order {
  readonly order: string;
}
declare const placed: Order;
tool({ output, run: () => placed });
tool({ output, run: async () => placed });
tool({ output, run: () => ({ structuredContent: placed }) });
tool({ run: () => ({ content: [], structuredContent: placed }) });
tool({ run: () => placed });
tool({ output, run: () => Object.freeze({ order: "o1" }) });
tool({ output: z.object({ items: z.array(z.string()) }), run: () => ({ items: ["a"] as const }) });
tool({ output: z.object({ items: z.array(z.string()) }), run: () => ({ items: [] as readonly string[] }) });

// Literals keep their types (T2).
const state = z.object({ state: z.enum(["on", "off"]) });
tool({ output: state, run: () => ({ state: "on" }) });
tool({ output: state, run: async () => ({ state: "on" }) });
tool({ output: state, run: async () => ({ structuredContent: { state: "on" } }) });
tool({
  output: state,
  run: async (_, { signal }) => {
    if (signal.aborted) return { state: "off" };
    return { state: "on" };
  },
});
tool({
  output: { type: "object", properties: { state: { enum: ["on", "off"] } }, required: ["state"] },
  run: () => ({ state: "on" }),
});
tool({ output: z.discriminatedUnion("kind", [z.object({ kind: z.literal("a") })]), run: () => ({ kind: "a" }) });
// @ts-expect-error no such state
tool({ output: state, run: () => ({ state: "maybe" }) });

// Where the schema or the value says nothing, anything goes.
declare const unknownValue: unknown;
declare const anySchema: object;
tool({ run: () => unknownValue });
tool({ run: async () => unknownValue });
tool({ output: { type: "object" }, run: () => ({ a: 1 }) });
tool({ output: anySchema, run: () => ({ a: 1 }) });
interface ForeignSchema {
  type?: "object" | "string" | undefined;
  properties?: { [name: string]: ForeignSchema } | undefined;
}
declare const foreignSchema: ForeignSchema;
declare const widened: { type: string; properties: { a: { type: string } } };
declare const jsonSchema: JsonObject;
tool({ input: foreignSchema, run: () => "" });
tool({ input: widened, run: () => "" });
tool({ input: jsonSchema, output: jsonSchema, run: () => ({ a: 1 }) });
tool({ input: anySchema, run: (input) => expectTypeOf(input).toEqualTypeOf<unknown>() });
// @ts-expect-error nobody knows whether it is an order
tool({ output, run: () => unknownValue });

// What is no schema of an object is named (T5).
// @ts-expect-error text is no object
tool({ input: z.string(), run: () => "" });
// @ts-expect-error members of a schema are no schema
tool({ input: { sku: z.string() }, run: () => "" });
// @ts-expect-error neither is one that has a member called type
tool({ input: { type: z.string() }, run: () => "" });
// @ts-expect-error a JSON Schema of text
tool({ input: { type: "string" }, run: () => "" });
tool({ input: { type: "object" }, run: () => "" });
tool({ input: z.record(z.string(), z.number()), run: () => "" });
tool({ input: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), run: () => "" });

// Every option takes undefined (T4).
tool({ title: undefined, input: undefined, output: undefined, task: undefined, timeoutMs: undefined, run: () => "" });

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
expectTypeOf(client.tools.count({ text: "x" })).resolves.toEqualTypeOf<{ readonly n: 1 }>();
expectTypeOf(client.tools.count()).resolves.toEqualTypeOf<{ readonly n: 1 }>();
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
