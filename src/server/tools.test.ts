import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { callTool, complete, failureOf, faultLog, send } from "../../test/support/direct.ts";
import type { Json, JsonObject } from "../json/json.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import { image, resourceLink, text } from "./content.ts";
import { createServer } from "./server.ts";
import { tool } from "./tool.ts";

const info = { name: "shop", version: "1" };

/** The result of a tool that returns this, at once and later. */
async function resultsOf(value: unknown): Promise<readonly CallToolResult[]> {
  const server = createServer({
    ...info,
    tools: { now: tool({ run: () => value }), later: tool({ run: async () => value }) },
  });
  return [await callTool(server, "now"), await callTool(server, "later")];
}

describe("plain return values", () => {
  const block = text("hi");
  const picture = image(new Uint8Array([1, 2, 3]), "image/png");
  const full = { content: [block, resourceLink("a://b", "b")], structuredContent: { a: 1 }, _meta: { m: 1 } };

  it.each<[string, unknown, CallToolResult]>([
    ["a string", "hi", { content: [block] }],
    ["an empty string", "", { content: [text("")] }],
    ["undefined", undefined, { content: [] }],
    ["a number", 7, { content: [text("7")] }],
    ["zero", 0, { content: [text("0")] }],
    ["a large integer", 2n ** 64n, { content: [text("18446744073709551616")] }],
    ["true", true, { content: [text("true")] }],
    ["false", false, { content: [text("false")] }],
    ["null", null, { content: [text("null")] }],
    ["a block", picture, { content: [picture] }],
    ["blocks", [block, picture], { content: [block, picture] }],
    ["a full result", full, full],
    ["a full result without blocks", { content: [] }, { content: [] }],
    ["a full result that failed", { content: [block], isError: true }, { content: [block], isError: true }],
    ["C64: an object", { a: 1 }, { content: [text('{"a":1}')], structuredContent: { a: 1 } }],
    ["C64: an array", [1, 2], { content: [text("[1,2]")], structuredContent: [1, 2] }],
    ["C64: an empty array", [], { content: [text("[]")], structuredContent: [] }],
    [
      "C64: an object that looks like a block but is none",
      { type: "text", value: 1 },
      { content: [text('{"type":"text","value":1}')], structuredContent: { type: "text", value: 1 } },
    ],
    [
      "C64: an object whose content is no list of blocks",
      { content: [{ type: "paragraph" }] },
      {
        content: [text('{"content":[{"type":"paragraph"}]}')],
        structuredContent: { content: [{ type: "paragraph" }] },
      },
    ],
  ])("%s", async (_, value, expected) => {
    expect(await resultsOf(value)).toStrictEqual([expected, expected]);
  });

  it.each([
    ["false", false],
    ["undefined", undefined],
    ["no boolean", "yes"],
  ])("C65: isError is left out when it is %s", async (_, isError) => {
    const results = await resultsOf({ content: [block], isError });
    expect(results).toStrictEqual([{ content: [block] }, { content: [block] }]);
  });

  it("C64: gives any JSON as it is, and its text", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue())),
        async (value) => {
          fc.pre(!("content" in value) && !("type" in value));
          const [result] = await resultsOf(value);
          expect(result?.structuredContent).toBe(value);
          expect(result?.content).toEqual([text(JSON.stringify(value))]);
        },
      ),
      { numRuns: 50 },
    );
  });

  it.each<[string, unknown, string]>([
    ["a function", () => "secret source", "a tool returned a function"],
    ["a symbol", Symbol("secret"), "a tool returned a symbol"],
    ["a cycle", cycle(), "circular"],
    ["a large integer inside", { n: 1n }, "BigInt"],
  ])("%s is no JSON: an internal error that does not show it", async (_, value, problem) => {
    const { faults, onError } = faultLog();
    const server = createServer({ ...info, onError, tools: { odd: tool({ run: () => value }) } });
    const result = await callTool(server, "odd");
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result)).toMatch(/internal error, id /);
    expect(JSON.stringify(result)).not.toContain("secret");
    expect(String(faults[0]?.[0])).toContain(problem);
  });
});

function cycle(): object {
  const value: { self?: object } = {};
  value.self = value;
  return value;
}

describe("output", () => {
  const output = { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] } as const;
  const give = (value: unknown, onError = faultLog().onError) =>
    createServer({ ...info, onError, tools: { add: tool({ output, run: () => value as { sum: number } }) } });

  it("C64: is checked and sent with its text", async () => {
    const expected = { content: [text('{"sum":3}')], structuredContent: { sum: 3 } };
    expect(await callTool(give({ sum: 3 }), "add")).toStrictEqual(expected);
  });

  it("keeps the content a tool gave with it", async () => {
    const full = { content: [text("three")], structuredContent: { sum: 3 }, _meta: { a: 1 } };
    expect(await callTool(give(full), "add")).toStrictEqual(full);
    expect(await callTool(give({ ...full, isError: false }), "add")).toStrictEqual(full);
  });

  it("C64: gets text when the content is empty", async () => {
    const result = await callTool(give({ content: [], structuredContent: { sum: 3 } }), "add");
    expect(result).toStrictEqual({ content: [text('{"sum":3}')], structuredContent: { sum: 3 } });
  });

  it.each<[string, unknown]>([
    ["a wrong type", { sum: "secret" }],
    ["nothing", undefined],
    ["null", null],
    ["a string", "secret"],
    ["a full result with wrong structured content", { content: [], structuredContent: { sum: "secret" } }],
    ["a full result without structured content", { content: [text("secret")] }],
  ])("C63: %s fails the call, and only the server learns why", async (_, value) => {
    const { faults, onError } = faultLog();
    const failure = failureOf(await send(give(value, onError), "tools/call", { name: "add" }));
    expect(failure).toMatchObject({ code: "internal", message: expect.stringMatching(/^internal error, id \S+$/) });
    expect(JSON.stringify(failure)).not.toContain("secret");
    expect(faults).toMatchObject([[{ message: expect.stringContaining("tool add returned what its output") }, {}]]);
    expect(faults[0]?.[1]).toEqual({ id: (failure.data as JsonObject).id, method: "tools/call", name: "add" });
  });

  it("C63: is not checked when the tool says that it failed", async () => {
    const failed = { content: [text("sold out")], isError: true };
    expect(await callTool(give(failed), "add")).toStrictEqual(failed);
  });

  it("waits for a schema that checks asynchronously", async () => {
    const even = z.object({ n: z.number().refine(async (n) => n % 2 === 0) });
    const server = createServer({
      ...info,
      onError: () => {},
      tools: {
        pick: tool({
          input: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
          output: even,
          run: ({ n }) => ({ n }),
        }),
      },
    });
    expect(await callTool(server, "pick", { n: 2 })).toMatchObject({ structuredContent: { n: 2 } });
    expect(await send(server, "tools/call", { name: "pick", arguments: { n: 1 } })).toMatchObject({
      kind: "failed",
      failure: { code: "internal" },
    });
  });
});

describe("input", () => {
  const input = {
    type: "object",
    properties: { qty: { type: "integer", minimum: 1 }, "a/b~c": { type: "string" } },
    required: ["qty"],
  } as const;

  function shop(inputErrors?: "result" | "protocol") {
    const seen: unknown[] = [];
    const server = createServer({
      ...info,
      ...(inputErrors && { inputErrors }),
      tools: {
        buy: tool({ input, run: (given) => void seen.push(given) }),
        zod: tool({ input: z.object({ qty: z.number() }), run: (given) => void seen.push(given) }),
        slow: tool({
          input: z.object({ qty: z.number().refine(async (qty) => qty > 0, "too few") }),
          run: (given) => void seen.push(given),
        }),
        any: tool({ run: (given) => void seen.push(given) }),
      },
    });
    return { server, seen };
  }

  it.each(["buy", "zod", "slow"])("C59: reaches %s when it is valid", async (name) => {
    const { server, seen } = shop();
    await callTool(server, name, { qty: 2 });
    expect(seen).toEqual([{ qty: 2 }]);
  });

  it.each([
    ["buy", { qty: 0 }],
    ["buy", { qty: "2" }],
    ["buy", {}],
    ["buy", undefined],
    ["zod", { qty: "2" }],
    ["zod", undefined],
    ["slow", { qty: 0 }],
  ])("C59: never reaches %s when it is %j", async (name, given) => {
    const { server, seen } = shop();
    expect(await callTool(server, name, given)).toMatchObject({ isError: true });
    expect(seen).toEqual([]);
  });

  it.each<[JsonObject, string, string]>([
    [{ qty: 0 }, "/qty", "minimum"],
    [{ qty: 1, "a/b~c": 1 }, "/a~1b~0c", "type"],
    [{}, "", "required"],
  ])("C60: arguments %j are told with path, keyword and message", async (given, path, keyword) => {
    const { server } = shop();
    const result = await callTool(server, "buy", given);
    const issues = result._meta?.["plugbay/issues"];
    expect(issues).toEqual([{ path, keyword, message: expect.any(String) }]);
    const [{ message }] = issues as unknown as [{ message: string }];
    const said = path === "" ? message : `${path} ${message}`;
    expect(result).toStrictEqual({
      content: [text(`invalid arguments for buy: ${said}`)],
      isError: true,
      _meta: { "plugbay/issues": issues },
    });
  });

  it("C60: a Standard Schema tells its issues the same way", async () => {
    const { server } = shop();
    const result = await callTool(server, "zod", { qty: "2" });
    expect(result._meta?.["plugbay/issues"]).toEqual([
      { path: "/qty", keyword: "invalid_type", message: expect.any(String) },
    ]);
  });

  it("C60: all of it is a protocol error where the server was told so", async () => {
    const { server, seen } = shop("protocol");
    const failure = failureOf(await send(server, "tools/call", { name: "buy", arguments: { qty: 0 } }));
    expect(failure).toMatchObject({
      code: "invalid-params",
      data: { path: "/qty", keyword: "minimum", message: expect.any(String), issues: [{ path: "/qty" }] },
    });
    expect(failure.message).toMatch(/^invalid arguments for buy: \/qty /);
    expect(seen).toEqual([]);
  });

  it("C62: a tool without input lists an object and takes anything", async () => {
    const { server, seen } = shop();
    const { tools } = await complete(server, "tools/list", {});
    expect(tools.find(({ name }) => name === "any")?.inputSchema).toEqual({ type: "object" });
    await callTool(server, "any", { whatever: [1] });
    await callTool(server, "any");
    expect(seen).toEqual([{ whatever: [1] }, {}]);
  });

  it("hostile members are members like any other", async () => {
    const { server, seen } = shop();
    const given = JSON.parse('{"__proto__":{"polluted":1},"constructor":1,"toString":2}') as JsonObject;
    await callTool(server, "any", given);
    expect(seen).toEqual([given]);
    expect(Object.keys(seen[0] as object)).toEqual(["__proto__", "constructor", "toString"]);
    expect("polluted" in {}).toBe(false);
    expect(await callTool(server, "buy", JSON.parse('{"__proto__":{"qty":1}}'))).toMatchObject({ isError: true });
  });

  it.each(["nothing", "", "__proto__", "constructor", "toString"])("C61: %j is an unknown tool", async (name) => {
    const { server } = shop();
    const failure = { code: "invalid-params", message: `unknown tool ${name}`, data: { name } satisfies Json };
    expect(await send(server, "tools/call", { name })).toStrictEqual({ kind: "failed", failure });
  });
});
