import { describe, expect, it } from "vitest";
import type { CallToolResult, ToolTypes } from "../protocol/tool.ts";
import { createTools } from "./typed-tools.ts";

interface Shapes extends ToolTypes {
  readonly buy: { readonly input: { readonly sku: string }; readonly output: unknown };
  readonly ping: { readonly input: object; readonly output: unknown };
}

function toolsGiving(result: CallToolResult) {
  const calls: unknown[][] = [];
  const tools = createTools<Shapes>(async (...call) => {
    calls.push(call);
    return result;
  });
  return { calls, tools };
}

describe("createTools", () => {
  it("calls the tool of that name with input and options", async () => {
    const { calls, tools } = toolsGiving({ content: [] });
    const options = { timeoutMs: 5 };
    await tools.buy({ sku: "A" }, options);
    await tools.ping();
    expect(calls).toEqual([
      ["buy", { sku: "A" }, options],
      ["ping", undefined, undefined],
    ]);
  });

  it.each<[string, CallToolResult, unknown]>([
    ["structured content", { content: [{ type: "text", text: "{}" }], structuredContent: { id: 1 } }, { id: 1 }],
    ["structured null", { content: [{ type: "text", text: "null" }], structuredContent: null }, null],
    ["one text", { content: [{ type: "text", text: "hello" }] }, "hello"],
    [
      "several blocks",
      {
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
    ],
    ["nothing", { content: [] }, undefined],
  ])("returns the value: %s", async (_, result, value) => {
    expect(await toolsGiving(result).tools.ping()).toEqual(value);
  });

  it("throws what the tool reports as a failure, with its data", async () => {
    const { tools } = toolsGiving({
      isError: true,
      content: [
        { type: "text", text: "sold out" },
        { type: "text", text: "try later" },
      ],
      _meta: { "plugbay/error": { sku: "A" } },
    });
    await expect(tools.ping()).rejects.toMatchObject({
      code: "tool-error",
      message: "sold out\ntry later",
      data: { sku: "A" },
    });
  });

  it("says so when a tool fails without a word", async () => {
    const { tools } = toolsGiving({ isError: true, content: [] });
    await expect(tools.ping()).rejects.toThrow('tool "ping" failed without saying why');
  });

  it("is no promise and has no tools for what the language looks for", async () => {
    const { calls, tools } = toolsGiving({ content: [] });
    expect(await tools).toBe(tools);
    expect(JSON.stringify({ tools })).toBe('{"tools":{}}');
    expect(Object.prototype.toString.call(tools)).toBe("[object Object]");
    expect(calls).toEqual([]);
  });

  it("makes one function per name, also for names every object has", () => {
    const tools = createTools<ToolTypes>(async () => ({ content: [] }));
    for (const name of ["buy", "constructor", "__proto__", "hasOwnProperty", "toString"]) {
      expect(tools[name]).toBeTypeOf("function");
      expect(tools[name]).toBe(tools[name]);
    }
    expect(Reflect.set(tools, "buy", () => {})).toBe(false);
  });
});
