import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json/json.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import { type SelectionPolicy, selectTools, type ToolSelection } from "./select-tools.ts";
import { type CatalogTool, toFullName } from "./sort-tools.ts";
import { measureTools } from "./tokens.ts";

const toolOf = (server: string, name: string, description: string): CatalogTool => ({
  server,
  tool: {
    name,
    description,
    inputSchema: { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] },
  },
});

const tools = [
  toolOf("shop", "sell", "Sell something. It must be ours."),
  toolOf("shop", "buy", "Buy something."),
  toolOf("mail", "send_message", "Send an e-mail."),
];

function textOf({ content }: CallToolResult): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

/** Runs what a model called, and notes what reached a real tool. */
function setUp(policy: SelectionPolicy | SelectionPolicy["kind"], given: readonly CatalogTool[] = tools) {
  const calls: [string, JsonObject][] = [];
  const selection = selectTools(given, policy);
  const run = (name: string, args: unknown) =>
    selection.run(name, args as JsonObject, async (full, input) => {
      calls.push([full, input]);
      return { content: [{ type: "text", text: "done" }] };
    });
  const refusal = async (name: string, args: unknown): Promise<string> => {
    const before = calls.length;
    const result = await run(name, args);
    expect(result.isError).toBe(true);
    expect(calls).toHaveLength(before);
    return textOf(result);
  };
  return { selection, calls, run, refusal };
}

describe("all", () => {
  it("tells every tool as it is, by its full name, and runs it", async () => {
    const { selection, calls, run } = setUp("all");
    expect(selection.tools).toEqual(
      ["mail:send_message", "shop:buy", "shop:sell"].map((name) => ({
        ...tools.find((tool) => toFullName(tool) === name)?.tool,
        name,
      })),
    );
    expect(textOf(await run("shop:buy", { sku: "a" }))).toBe("done");
    expect(calls).toEqual([["shop:buy", { sku: "a" }]]);
  });

  it("suggests the nearest name for one that does not exist", async () => {
    const { refusal } = setUp("all");
    expect(await refusal("shop:bye", {})).toBe('There is no tool "shop:bye". Did you mean shop:buy?');
    expect(await refusal("buy", {})).toContain("shop:buy");
    expect(await refusal("send an e-mail please", {})).toContain("mail:send_message");
    expect(await refusal("__proto__", {})).toBe('There is no tool "__proto__".');
    expect((await refusal("x".repeat(10_000), {})).length).toBeLessThan(300);
  });

  it("takes only objects as arguments", async () => {
    expect(await setUp("all").refusal("shop:buy", "sku")).toBe("The arguments of shop:buy must be an object.");
  });

  it("has each name once", () => {
    expect(selectTools([...tools, ...tools], "all").tools).toHaveLength(3);
  });

  it("passes on what the tool rejects with", async () => {
    const broken = selectTools(tools, "all").run("shop:buy", {}, () => Promise.reject(new Error("gone")));
    await expect(broken).rejects.toThrow("gone");
  });
});

describe("search", () => {
  it("tells two tools, with nothing in them that depends on single tools", () => {
    const { tools: told } = selectTools(tools, "search");
    expect(told.map(({ name }) => name)).toEqual(["search_tools", "call_tool"]);
    expect(selectTools([...tools, toolOf("shop", "refund", "")], "search").tools).toEqual(told);
    expect(told[0]?.description).toContain("mail, shop");
  });

  it("shows the definitions of what fits, which can be called then, in either way", async () => {
    const { calls, run } = setUp("search");
    const found = textOf(await run("search_tools", { query: "buying things", limit: 1 }));
    const [, line = ""] = found.split("\n");
    expect(JSON.parse(line)).toEqual({ ...tools[1]?.tool, name: "shop:buy" });
    expect(found.split("\n")).toHaveLength(2);
    await run("call_tool", { name: "shop:buy", arguments: { sku: "a" } });
    await run("shop:buy", { sku: "b" });
    expect(calls).toEqual([
      ["shop:buy", { sku: "a" }],
      ["shop:buy", { sku: "b" }],
    ]);
  });

  it("has a tool looked at before it is called by its own name", async () => {
    const { run, refusal } = setUp("search");
    expect(await refusal("shop:buy", { sku: "a" })).toContain("Get it with search_tools first");
    await run("search_tools", { query: "shop:buy" });
    expect(textOf(await run("shop:buy", { sku: "a" }))).toBe("done");
  });

  it.each<[unknown, RegExp]>([
    [{}, /needs "query"/],
    [{ query: " " }, /needs "query"/],
    [{ query: 7 }, /needs "query"/],
    [null, /needs "query"/],
    [{ query: "buy", limit: "3" }, /"limit" must be a number from 1 to 20, not a string/],
    [{ query: "buy", limit: null }, /not null/],
  ])("says what is wrong with search_tools %j", async (args, words) => {
    expect(await setUp("search").refusal("search_tools", args)).toMatch(words);
  });

  it.each<[unknown, RegExp]>([
    [{}, /call_tool needs "name"/],
    ["shop:buy", /call_tool needs "name"/],
    [{ name: "shop:byu" }, /There is no tool "shop:byu"\. Did you mean shop:buy\? Find tools with search_tools\./],
    [{ name: "shop:buy", arguments: '{"sku":"a"}' }, /"arguments" of call_tool must be an object, not a string/],
    [{ name: "shop:buy", arguments: ["a"] }, /not an array/],
    [{ name: "shop:buy", arguments: null }, /not null/],
    [{ name: "shop:buy", sku: "a" }, /Put "sku" into "arguments"/],
    [{ name: "search_tools", arguments: { query: "a" } }, /Call search_tools itself/],
    [{ name: "call_tool" }, /Call call_tool itself/],
  ])("says what is wrong with call_tool %j", async (args, words) => {
    expect(await setUp("search").refusal("call_tool", args)).toMatch(words);
  });

  it("calls without arguments when there are none", async () => {
    const { calls, run } = setUp("search");
    await run("call_tool", { name: "shop:buy" });
    expect(calls).toEqual([["shop:buy", {}]]);
  });

  it("is no error when nothing fits", async () => {
    const result = await setUp("search").run("search_tools", { query: "volcano" });
    expect(result.isError).toBeUndefined();
    expect(textOf(result)).toBe('No tool fits "volcano". Try other words. The servers are: mail, shop.');
  });

  it("keeps the number of hits within bounds", async () => {
    const many = Array.from({ length: 50 }, (_, index) => toolOf("shop", `buy_${index}`, "Buy."));
    const { run } = setUp("search", many);
    const lines = async (limit: number) =>
      textOf(await run("search_tools", { query: "buy", limit })).split("\n").length - 1;
    expect([await lines(-5), await lines(2.9), await lines(1000)]).toEqual([1, 2, 20]);
  });

  it("names what has no room, and shows it when it is searched for", async () => {
    const long = "All there is to say about it. ".repeat(50);
    const { run, refusal } = setUp({ kind: "search", maxAnswerTokens: 100 }, [
      toolOf("shop", "buy_first", long),
      toolOf("shop", "buy_second", long),
    ]);
    const text = textOf(await run("search_tools", { query: "buy" }));
    expect(text).toContain('{"name":"shop:buy_first"');
    expect(text).toContain("\nshop:buy_second: All there is to say about it.");
    expect(text).toContain("Search for the name");
    await refusal("shop:buy_second", {});
    expect(textOf(await run("search_tools", { query: "shop:buy_second" }))).toContain('{"name":"shop:buy_second"');
  });
});

describe("groups", () => {
  it("tells the servers, each by a line", () => {
    const summaries = { shop: "Sells\nthings. And more.", unknown: "?" };
    const { tools: told } = selectTools(tools, { kind: "groups", servers: ["shop"], summaries });
    expect(told.map(({ name }) => name)).toEqual(["list_tools", "call_tool"]);
    expect(told[0]?.description).toMatch(/The groups are:\n- shop: Sells things\.\n- mail: send_message$/);
    const many = Array.from({ length: 9 }, (_, index) => toolOf("a", `t${index}`, ""));
    expect(selectTools(many, "groups").tools[0]?.description).toMatch(/\n- a: t0, t1, t2, t3, t4 and more$/);
  });

  it("opens a group, whose tools can be called then", async () => {
    const { calls, run, refusal } = setUp("groups");
    await refusal("shop:buy", {});
    const text = textOf(await run("list_tools", { group: "shop" }));
    const [, ...lines] = text.split("\n");
    expect(lines.map((line) => JSON.parse(line).name)).toEqual(["shop:buy", "shop:sell"]);
    await run("shop:buy", { sku: "a" });
    await run("call_tool", { name: "mail:send_message", arguments: { sku: "b" } });
    expect(calls).toEqual([
      ["shop:buy", { sku: "a" }],
      ["mail:send_message", { sku: "b" }],
    ]);
  });

  it("names what has no room, and shows it when asked by name", async () => {
    const long = "All there is to say. ".repeat(100);
    const many = Array.from({ length: 300 }, (_, index) => toolOf("shop", `buy_${index}`, long));
    const { run } = setUp({ kind: "groups", maxAnswerTokens: 10 }, many);
    const [hint = "", first = "", ...rest] = textOf(await run("list_tools", { group: "shop" })).split("\n");
    expect(hint).toContain('"names"');
    expect(JSON.parse(first).name).toBe("shop:buy_0");
    expect(rest).toHaveLength(201);
    expect(rest.at(-1)).toBe("and 99 more");
    const asked = textOf(await run("list_tools", { group: "shop", names: ["shop:buy_7"] }));
    expect(JSON.parse(asked.split("\n")[1] ?? "").name).toBe("shop:buy_7");
    expect(textOf(await run("list_tools", { group: "shop", names: ["buy_8"] }))).toContain('"shop:buy_8"');
  });

  it.each<[unknown, RegExp]>([
    [{}, /needs "group"\. The groups are:\n- mail: send_message\n- shop: buy, sell/],
    [{ group: "shp" }, /There is no group "shp"\. Did you mean shop\?/],
    [{ group: "weather-station" }, /The groups are: mail, shop\./],
    [{ group: "__proto__" }, /There is no group/],
    [{ group: "shop", names: "buy" }, /"names" must be a list/],
    [{ group: "shop", names: [] }, /"names" must be a list/],
    [{ group: "shop", names: [1] }, /"names" must be a list/],
    [{ group: "shop", names: ["bye"] }, /Group shop has no tool "bye"\. Did you mean shop:buy\?/],
    [{ group: "shop", names: ["mail:send_message"] }, /Group shop has no tool/],
  ])("says what is wrong with list_tools %j", async (args, words) => {
    expect(await setUp("groups").refusal("list_tools", args)).toMatch(words);
  });
});

describe("auto", () => {
  it("tells all while that is within its budget, and lets the model search else", () => {
    const { tokens } = measureTools(tools);
    const kindOf = (maxTokens: number): ToolSelection["kind"] => selectTools(tools, { kind: "auto", maxTokens }).kind;
    expect([kindOf(tokens), kindOf(tokens - 1), kindOf(0)]).toEqual(["all", "search", "search"]);
    expect(selectTools([], { kind: "auto", maxTokens: 0 }).kind).toBe("all");
    expect(selectTools(tools, "auto").kind).toBe("all");
  });
});

describe("what models are told", () => {
  const kinds = ["all", "groups", "search"] as const;
  const word = fc.stringMatching(/^[a-z]{1,5}$/);
  const catalogs = fc.array(
    fc.tuple(word, word, fc.string()).map(([server, name, about]) => toolOf(server, name, about)),
    { maxLength: 20 },
  );

  it("is the same for the same tools in any order", () => {
    const unique = fc.uniqueArray(
      fc.tuple(word, word).map(([server, name]) => toolOf(server, name, `${server} ${name}`)),
      { selector: toFullName, maxLength: 20 },
    );
    fc.assert(
      fc.property(unique, fc.constantFrom(...kinds), (given, kind) => {
        const told = JSON.stringify(selectTools(given, kind).tools);
        expect(JSON.stringify(selectTools(given.toReversed(), kind).tools)).toBe(told);
      }),
    );
  });

  it("never makes a call fail that the model got wrong", async () => {
    await fc.assert(
      fc.asyncProperty(
        catalogs,
        fc.constantFrom(...kinds),
        fc.oneof(fc.constantFrom("search_tools", "list_tools", "call_tool"), word),
        fc.jsonValue(),
        async (given, kind, name, args) => {
          const { run } = setUp(kind, given);
          expect(textOf(await run(name, args))).not.toBe("");
        },
      ),
    );
  });
});
