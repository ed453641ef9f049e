import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { callTool, complete } from "../../test/support/direct.ts";
import { McpError } from "../protocol/errors.ts";
import { createServer } from "./server.ts";
import { type ToolDefinition, tool } from "./tool.ts";

const info = { name: "shop", version: "1" };
const run = () => "done";

/** What `createServer` says about a tool, as a module without types could define it. */
function problemOf(name: string, definition: unknown): string {
  try {
    createServer({ ...info, tools: { [name]: definition as ToolDefinition } });
  } catch (error) {
    expect(error).toBeInstanceOf(McpError);
    expect(error).toMatchObject({ code: "invalid-definition" });
    return (error as McpError).message;
  }
  return "no problem";
}

describe("C67: a bad definition fails at once and names the tool", () => {
  const noConverter = v.object({ sku: v.string() });

  it.each<[string, unknown, string]>([
    ["run is missing", {}, "tool buy: run must be a function"],
    ["run is no function", { run: "x" }, "tool buy: run must be a function"],
    ["no definition", undefined, "tool buy: it must be an object with run"],
    ["null", null, "tool buy: it must be an object with run"],
    ["icons are no array", { run, icons: { src: "x" } }, "tool buy: icons must be an array"],
    [
      "a root that is no object",
      { run, input: { type: "string" } },
      'tool buy: input must have "type": "object" at its root',
    ],
    ["a root without type", { run, input: {} }, 'tool buy: input must have "type": "object" at its root'],
    ["a Standard Schema that is no object", { run, input: z.string() }, 'tool buy: input must have "type": "object"'],
    ["a union at the root", { run, input: z.union([z.object({}), z.string()]) }, "tool buy: input must have"],
    [
      "a bad JSON Schema",
      { run, input: { type: "object", properties: 1 } },
      "tool buy: input is not a usable schema: #/properties",
    ],
    ["a bad output", { run, output: { type: "objekt" } }, "tool buy: output is not a usable schema: #/type"],
    [
      "an input that cannot be told",
      { run, input: z.object({ at: z.date() }) },
      "tool buy: input is not a usable schema",
    ],
    ["a schema without converter", { run, input: noConverter }, "toStandardJsonSchema"],
    ["a schema that is none", { run, input: 7 }, "tool buy: input is not a usable schema"],
  ])("%s", (_, definition, problem) => {
    expect(problemOf("buy", definition)).toContain(problem);
  });

  it.each(["", "a b", "a/b", "größe", "a".repeat(129), "a:b", "a\n"])("the name %j", (name) => {
    expect(problemOf(name, { run })).toBe(`tool ${name}: its name must be 1 to 128 of A-Z a-z 0-9 _ . -`);
  });

  it("a name that is taken", () => {
    const server = createServer({ ...info, tools: { buy: tool({ run }) } });
    expect(() => server.tools.add("buy", tool({ run }))).toThrow("tool buy is defined twice");
    expect(() => server.tools.add("sell", { run: 1 } as never)).toThrow("tool sell: run must be a function");
    expect(server.tools.names).toEqual(["buy"]);
  });
});

describe("names that mean something in the language", () => {
  const names = ["__proto__", "constructor", "toString", "hasOwnProperty"];

  it.each(names)("%s is a tool like any other", async (name) => {
    const server = createServer({ ...info, tools: { [name]: tool({ run: () => name }) } });
    expect(await callTool(server, name)).toEqual({ content: [{ type: "text", text: name }] });
    expect((await complete(server, "tools/list", {})).tools).toEqual([{ name, inputSchema: { type: "object" } }]);
  });

  it("longest and strangest that are allowed", () => {
    for (const name of ["a".repeat(128), "A-z_0.9", "-", "."]) expect(problemOf(name, { run })).toBe("no problem");
  });
});

describe("what lists show", () => {
  it("C68: leaves out what is not set", async () => {
    const server = createServer({ ...info, tools: { bare: tool({ run }) } });
    const { tools } = await complete(server, "tools/list", {});
    expect(tools).toStrictEqual([{ name: "bare", inputSchema: { type: "object" } }]);
  });

  it("has everything that is set", async () => {
    const said = {
      title: "Buy",
      description: "Buys",
      icons: [{ src: "https://x/y.png" }],
      annotations: { destructiveHint: true },
    };
    const input = { type: "object", properties: { sku: { type: "string" } }, "x-mine": 1 } as const;
    const output = { type: "object", properties: { order: { type: "string" } } } as const;
    const buy = tool({ ...said, input, output, meta: { a: 1 }, timeoutMs: 5, run: () => ({ order: "o1" }) });
    const server = createServer({ ...info, tools: { buy } });
    const { tools } = await complete(server, "tools/list", {});
    expect(tools).toStrictEqual([{ name: "buy", ...said, inputSchema: input, outputSchema: output, _meta: { a: 1 } }]);
  });

  it.each<[string, ToolDefinition]>([
    ["zod", tool({ input: z.object({ sku: z.string() }), run })],
    ["arktype", tool({ input: type({ sku: "string" }), run })],
    ["valibot", tool({ input: toStandardJsonSchema(v.object({ sku: v.string() })), run })],
  ])("publishes the JSON Schema of %s", async (_, definition) => {
    const server = createServer({ ...info, tools: { buy: definition } });
    const { tools } = await complete(server, "tools/list", {});
    expect(tools[0]?.inputSchema).toMatchObject({
      type: "object",
      properties: { sku: { type: "string" } },
      required: ["sku"],
    });
  });

  it("publishes what goes in of an input, and what comes out of an output", async () => {
    const counted = z.object({ n: z.string().transform(Number).pipe(z.number()) });
    const server = createServer({
      ...info,
      tools: { count: tool({ input: counted, output: counted, run: ({ n }) => ({ n: String(n) }) }) },
    });
    const { tools } = await complete(server, "tools/list", {});
    expect(tools[0]).toMatchObject({
      inputSchema: { properties: { n: { type: "string" } } },
      outputSchema: { properties: { n: { type: "number" } } },
    });
    expect(await callTool(server, "count", { n: "7" })).toMatchObject({ structuredContent: { n: 7 } });
  });
});
