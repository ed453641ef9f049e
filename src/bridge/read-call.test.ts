import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../json/json.ts";
import type { Tool } from "../protocol/tool.ts";
import { anthropic } from "./anthropic/index.ts";
import { openaiChat } from "./openai/index.ts";

const buy: Tool = {
  name: "shop:buy",
  inputSchema: {
    type: "object",
    properties: { sku: { type: "string", pattern: "^[a-z]+$" }, qty: { type: "integer", minimum: 1 } },
    required: ["sku"],
    additionalProperties: false,
  },
};
const now: Tool = { name: "now", inputSchema: { type: "object", properties: {} } };

const called = (input: unknown, name = "shop__buy") => ({
  model: "m",
  stop_reason: "tool_use",
  content: [{ type: "tool_use", ...{ id: "1", name, input } }],
});
const written = (text: string, name = "shop__buy") => {
  const tool_calls = [{ id: "1", type: "function", function: { name, arguments: text } }];
  return { model: "m", choices: [{ finish_reason: "tool_calls", message: { tool_calls } }] };
};

describe("the calls of a model", () => {
  const kit = anthropic([buy, now]);
  const chat = openaiChat([buy, now]);

  it("C144: have the name of the tool, and the arguments, also from a JSON text", async () => {
    const call = { id: "1", name: "shop:buy", input: { sku: "a", qty: 2 } };
    expect(await kit.calls(called({ sku: "a", qty: 2 }))).toEqual([call]);
    expect(await chat.calls(written('{"sku":"a","qty":2}'))).toEqual([call]);
  });

  it.each<[string, JsonObject, string]>([
    ["a wrong type", { sku: 5 }, "/sku must be string (type)"],
    ["a wrong text", { sku: "A" }, "/sku must match the pattern"],
    ["a number that is too small", { sku: "a", qty: 0 }, "(minimum)"],
    ["a missing argument", {}, 'must have a property "sku" (required)'],
    ["an unknown argument", { sku: "a", no: 1 }, "(additionalProperties)"],
  ])("have a problem with %s, which says where and why", async (_, input, problem) => {
    const [call] = await kit.calls(called(input));
    expect(call).toMatchObject({ id: "1", name: "shop:buy" });
    expect(call?.input).toBeUndefined();
    expect(call?.problem).toContain("invalid arguments for shop__buy: ");
    expect(call?.problem).toContain(problem);
  });

  it.each([
    ['{"sku":', "are not valid JSON"],
    ["", "are not valid JSON"],
    ['"a"', "must be an object"],
    ["[1]", "must be an object"],
    ["null", "must be an object"],
    ["[".repeat(100) + "]".repeat(100), "nested deeper"],
  ])("have a problem with the text %j, and are never without arguments for it", async (text, problem) => {
    const [call] = await chat.calls(written(text));
    expect(call?.input).toBeUndefined();
    expect(call?.problem).toContain(problem);
  });

  it("have no arguments without a text only if the tool has none", async () => {
    expect(await chat.calls(written("", "now"))).toEqual([{ id: "1", name: "now", input: {} }]);
    expect((await chat.calls(written("{", "now")))[0]?.problem).toContain("not valid JSON");
  });

  it("have a problem when the tool is unknown", async () => {
    expect(await kit.calls(called({}, "sell"))).toEqual([{ id: "1", name: "sell", problem: "unknown tool sell" }]);
    expect((await kit.calls(called({}, "constructor")))[0]?.problem).toBe("unknown tool constructor");
  });

  it("are not checked when that is switched off", async () => {
    const unchecked = anthropic([buy], { validate: false });
    expect(await unchecked.calls(called({ sku: 5 }))).toEqual([{ id: "1", name: "shop:buy", input: { sku: 5 } }]);
    expect((await unchecked.calls(called("{")))[0]?.problem).toContain("not valid JSON");
  });

  it("are not checked by patterns that could take forever", async () => {
    const slow: Tool = { name: "slow", inputSchema: { type: "object", properties: { a: { pattern: "^(a+)+$" } } } };
    const input = { a: `${"a".repeat(100)}!` };
    expect(await anthropic([slow]).calls(called(input, "slow"))).toEqual([{ id: "1", name: "slow", input }]);
  });

  it("can have arguments named like what every object has", async () => {
    const names = ["__proto__", "constructor", "toString"];
    const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
    const odd: Tool = { name: "odd", inputSchema: { type: "object", properties, required: names } };
    const text = '{"__proto__":"a","constructor":"b","toString":"c"}';
    for (const strict of [false, true]) {
      const [call] = await openaiChat([odd], { strict }).calls(written(text, "odd"));
      expect(call?.problem).toBeUndefined();
      expect(JSON.stringify(call?.input)).toBe(text);
      expect(Object.getPrototypeOf(call?.input)).toBe(Object.prototype);
    }
    expect((await openaiChat([odd]).calls(written("{}", "odd")))[0]?.problem).toContain("required");
  });

  it("give arguments back by their own names", async () => {
    const schema = {
      type: "object",
      properties: { "filter[id]": { type: "string" }, id: {} },
      required: ["filter[id]"],
    };
    const find = anthropic([{ name: "find", inputSchema: schema }]);
    const { properties, required } = find.tools[0]?.input_schema ?? {};
    const [alias = ""] = required ?? [];
    expect(Object.keys(properties ?? {})).toEqual([alias, "id"]);
    expect(alias).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
    const input: Record<string, Json> = { [alias]: "7", id: "8" };
    expect((await find.calls(called(input, "find")))[0]?.input).toEqual({ "filter[id]": "7", id: "8" });
    expect(find.notes).toMatchObject([{ keyword: "properties", message: `"filter[id]" is said as ${alias}` }]);
  });
});
