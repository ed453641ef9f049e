import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../json/json.ts";
import { headerProblem, standardHeaders } from "./headers.ts";

describe("standardHeaders", () => {
  it.each<[method: string, params: JsonObject | undefined, headers: object]>([
    ["tools/list", undefined, { "mcp-method": "tools/list" }],
    ["tools/list", { name: "a" }, { "mcp-method": "tools/list" }],
    ["tools/call", { name: "my-tool" }, { "mcp-method": "tools/call", "mcp-name": "my-tool" }],
    ["tools/call", { name: "" }, { "mcp-method": "tools/call", "mcp-name": "" }],
    ["tools/call", { name: "日本" }, { "mcp-method": "tools/call", "mcp-name": "=?base64?5pel5pys?=" }],
    ["tools/call", { name: 1 }, { "mcp-method": "tools/call" }],
    ["prompts/get", { name: "p" }, { "mcp-method": "prompts/get", "mcp-name": "p" }],
    [
      "resources/read",
      { uri: "file:///path/to/file%20name.txt", name: "n" },
      { "mcp-method": "resources/read", "mcp-name": "file:///path/to/file%20name.txt" },
    ],
    ["tasks/get", { taskId: "t" }, { "mcp-method": "tasks/get", "mcp-name": "t" }],
    ["tasks/update", { taskId: "t" }, { "mcp-method": "tasks/update", "mcp-name": "t" }],
    ["tasks/cancel", { taskId: "t" }, { "mcp-method": "tasks/cancel", "mcp-name": "t" }],
    ["example/own", { name: "a" }, { "mcp-method": "example/own" }],
    ["a\r\nX: 1", {}, { "mcp-method": "=?base64?YQ0KWDogMQ==?=" }],
  ])("of %j %j", (method, params, headers) => {
    expect(standardHeaders(method, params)).toEqual(headers);
  });
});

describe("headerProblem", () => {
  const version = "2026-07-28";
  const call = { method: "tools/call", params: { name: "a b" } };
  const good = { "mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": "a b" };
  const lookup = (headers: Readonly<Record<string, string | undefined>>) => ({
    header: (name: string) => headers[name],
  });

  it.each<[headers: Record<string, string | undefined>]>([
    [good],
    [{ ...good, "mcp-name": " \ta b " }],
    [{ ...good, "mcp-name": "=?base64?YSBi?=" }],
    [{ ...good, "mcp-method": " tools/call\t", "mcp-protocol-version": ` ${version}` }],
  ])("finds none in %j", (headers) => {
    expect(headerProblem(call, version, lookup(headers))).toBeUndefined();
  });

  it.each<[headers: Record<string, string | undefined>, problem: string]>([
    [{ "mcp-protocol-version": undefined }, "the MCP-Protocol-Version header is missing"],
    [
      { "mcp-protocol-version": "2025-11-25" },
      'the MCP-Protocol-Version header is "2025-11-25", the body says "2026-07-28"',
    ],
    [{ "mcp-protocol-version": "" }, 'the MCP-Protocol-Version header is "", the body says "2026-07-28"'],
    [{ "mcp-method": undefined }, "the Mcp-Method header is missing"],
    [{ "mcp-method": "TOOLS/CALL" }, 'the Mcp-Method header is "TOOLS/CALL", the body says "tools/call"'],
    [
      { "mcp-method": "tools/call, tools/call" },
      'the Mcp-Method header is "tools/call, tools/call", the body says "tools/call"',
    ],
    [{ "mcp-method": "\u00a0tools/call" }, 'the Mcp-Method header is "\u00a0tools/call", the body says "tools/call"'],
    [{ "mcp-name": undefined }, "the Mcp-Name header is missing"],
    [{ "mcp-name": "A b" }, 'the Mcp-Name header is "A b", the body says "a b"'],
    [{ "mcp-name": "=?base64?YSBi=?=" }, 'the Mcp-Name header is "=?base64?YSBi=?=", the body says "a b"'],
    [{ "mcp-name": "=?BASE64?YSBi?=" }, 'the Mcp-Name header is "=?BASE64?YSBi?=", the body says "a b"'],
  ])("finds %j", (headers, problem) => {
    expect(headerProblem(call, version, lookup({ ...good, ...headers }))).toBe(problem);
  });

  it("compares what the body has", () => {
    const { "mcp-name": _, ...nameless } = good;
    expect(headerProblem(call, undefined, lookup(good))).toBeUndefined();
    expect(headerProblem(call, undefined, lookup({}))).toBe("the MCP-Protocol-Version header is missing");
    expect(headerProblem({ method: "tools/call" }, version, lookup(nameless))).toBeUndefined();
    expect(headerProblem({ method: "tools/call", params: { name: 1 } }, version, lookup(good))).toBeUndefined();
    const list = { method: "tools/list", params: {} };
    expect(headerProblem(list, version, lookup({ ...good, "mcp-method": "tools/list" }))).toBeUndefined();
  });

  it("accepts what standardHeaders gives", () => {
    for (const name of ["a", "", " ", "é", "=?base64?YQ==?=", "a\nb"]) {
      const headers = { "mcp-protocol-version": version, ...standardHeaders("tools/call", { name }) };
      expect(headerProblem({ method: "tools/call", params: { name } }, version, lookup(headers))).toBeUndefined();
    }
  });

  it("repeats no more than 100 characters of a value", () => {
    const request = { method: "m".repeat(1000), params: {} };
    const problem = headerProblem(request, version, lookup({ ...good, "mcp-method": "h".repeat(1000) }));
    expect(problem).toBe(`the Mcp-Method header is "${"h".repeat(100)}…", the body says "${"m".repeat(100)}…"`);
  });
});
