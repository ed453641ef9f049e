import { describe, expect, it } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import { decodeLegacyResult } from "../../legacy/codec/tasks.ts";
import { decodeModernResult, readDetails, repairResult, resultProblem, safeIcons } from "./results.ts";

const codec = codecFor("2026-07-28");
const serverInfo = "io.modelcontextprotocol/serverInfo";
const server = { name: "shop", version: "1" };

describe("decodeResult", () => {
  it.each([{}, { resultType: "complete" }])("takes %j for complete, without what only the wire needs", (type) => {
    const wire = { ...type, content: [], unknown: 1, _meta: { [serverInfo]: server, own: 1 } };
    expect(codec.decodeResult("tools/call", wire)).toEqual({
      kind: "complete",
      result: { content: [], unknown: 1, _meta: { own: 1 } },
    });
    expect(codec.decodeResult("tools/call", { ...wire, _meta: { [serverInfo]: server } })).toEqual({
      kind: "complete",
      result: { content: [], unknown: 1 },
    });
  });

  it.each([
    ["tools/call", { resultType: "later" }, 'tools/call result.resultType "later" is unknown'],
    ["tools/call", { resultType: null }, "tools/call result.resultType null is unknown"],
    ["tools/list", { resultType: "task" }, "tools/list result.resultType must not be task"],
    ["tools/list", { resultType: "input_required" }, "tools/list result.resultType must not be input_required"],
    ["tools/call", { resultType: "input_required" }, "tools/call result asks nothing and has no requestState"],
    [
      "tools/call",
      { resultType: "input_required", inputRequests: [] },
      "tools/call result.inputRequests must be an object",
    ],
    [
      "tools/call",
      { resultType: "input_required", requestState: 1 },
      "tools/call result.requestState must be a string",
    ],
    [
      "tools/call",
      { resultType: "input_required", inputRequests: { a: 1 } },
      "tools/call result.inputRequests.a: must be an object",
    ],
    [
      "tools/call",
      { resultType: "input_required", inputRequests: { a: {} } },
      "tools/call result.inputRequests.a: method must be a string",
    ],
    [
      "tools/call",
      { resultType: "input_required", inputRequests: { a: { method: "ping" } } },
      "tools/call result.inputRequests.a: unknown method ping",
    ],
    [
      "tools/call",
      { resultType: "input_required", inputRequests: { a: { method: "elicitation/create", params: {} } } },
      "tools/call result.inputRequests.a: params.message must be a string",
    ],
    [
      "tools/call",
      { resultType: "input_required", inputRequests: { a: { method: "roots/list", params: 1 } } },
      "tools/call result.inputRequests.a: params must be an object",
    ],
    ["tools/list", { resultType: "complete", tools: {} }, "tools/list result.tools must be an array"],
  ] as const)("refuses %s %j", (method, wire, message) => {
    expect(codec.decodeResult(method, wire)).toEqual({
      kind: "failed",
      failure: { code: "invalid-response", message },
    });
  });

  it("reads questions, also without params, and keeps the state", () => {
    const form = { method: "elicitation/create", params: { message: "m", requestedSchema: {}, unknown: 1 } };
    const inputRequests = JSON.parse('{"__proto__":{"method":"roots/list"}}');
    const outcome = codec.decodeResult("prompts/get", {
      resultType: "input_required",
      inputRequests: { ...inputRequests, form },
      requestState: "",
    });
    const questions = { ...inputRequests, ["__proto__"]: { method: "roots/list", params: {} }, form };
    expect(outcome).toEqual({ kind: "input-required", questions, state: "" });
    expect(codec.decodeResult("tools/call", { resultType: "input_required", requestState: "s" })).toEqual({
      kind: "input-required",
      questions: {},
      state: "s",
    });
  });

  it.each([
    [{ _meta: { [serverInfo]: server } }, server],
    [{ serverInfo: server }, server],
    [{ _meta: { [serverInfo]: { name: 1, version: "2" } } }, { name: "unknown", version: "2" }],
    [{}, { name: "unknown", version: "" }],
  ])("finds the server of a discovery in %j", (more, found) => {
    const wire = { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: { tools: null }, ...more };
    expect(codec.decodeResult("server/discover", wire)).toEqual({
      kind: "complete",
      result: { supportedVersions: ["2026-07-28"], capabilities: {}, serverInfo: found },
    });
  });
});

describe("resultProblem", () => {
  it.each([
    ["tools/list", {}, ".tools must be an array"],
    ["tools/list", { tools: [], nextCursor: 1 }, ".nextCursor must be a string"],
    ["tools/call", { content: "hi" }, ".content must be an array"],
    ["tools/call", { content: [{}] }, ".content[0].type must be a string"],
    ["resources/templates/list", { resources: [] }, ".resourceTemplates must be an array"],
    ["resources/read", { contents: [{ uri: "a" }] }, ".contents[0] must have a text or a blob"],
    ["resources/read", { contents: [{ uri: "a", text: 1, blob: null }] }, ".contents[0] must have a text or a blob"],
    ["prompts/list", { prompts: {} }, ".prompts must be an array"],
    ["prompts/get", { messages: [{ role: "user", content: [] }] }, ".messages[0].content must be an object"],
    ["completion/complete", { completion: { values: [1] } }, ".completion.values[0] must be a string"],
    ["server/discover", { supportedVersions: "2026-07-28" }, ".supportedVersions must be an array"],
    ["server/discover", { supportedVersions: [], capabilities: [] }, ".capabilities must be an object"],
  ])("names what is wrong with %s %j", (method, result, problem) => {
    expect(resultProblem(method, result)).toBe(`${method} result${problem}`);
  });

  it.each([
    ["tools/list", { tools: [{ name: "a", unknown: 1 }, { name: 1 }, null], nextCursor: "" }],
    [
      "resources/read",
      {
        contents: [
          { uri: "a", text: "" },
          { uri: "b", blob: "" },
        ],
      },
    ],
    ["subscriptions/listen", {}],
    ["com.example/mine", { tools: 1 }],
    ["constructor", {}],
  ])("finds nothing wrong with %s %j", (method, result) => {
    expect(resultProblem(method, result)).toBeUndefined();
  });
});

describe("mendResult", () => {
  it.each([
    ["tools/list", { tools: [], nextCursor: null }, { tools: [] }],
    ["tools/list", { tools: [], ttlMs: "1" }, { tools: [] }],
    ["prompts/list", { prompts: [{ name: "p", title: null, other: null }] }, { prompts: [{ name: "p", other: null }] }],
    ["resources/read", { contents: [], ttlMs: 1, cacheScope: "all" }, { contents: [] }],
    ["tools/call", { structuredContent: 1 }, { structuredContent: 1, content: [] }],
  ])("puts %s %j right", (method, result, mended) => {
    expect(repairResult(method, result)).toEqual(mended);
  });

  it.each([
    ["tools/list", { tools: [], nextCursor: "", ttlMs: 1, cacheScope: "public" }],
    ["tools/call", { content: null }],
    ["com.example/mine", { nextCursor: null }],
  ])("leaves %s %j alone", (method, result) => {
    expect(repairResult(method, result)).toBe(result);
  });
});

const good = [
  { src: "https://shop.example/icon.png", sizes: ["48x48"] },
  { src: "data:image/png;base64,AAAA" },
  { src: "http://localhost:8080/icon.png" },
  { src: "http://[::1]/icon.png" },
];
const bad = [
  { src: "javascript:alert(1)" },
  { src: "JavaScript:alert(1)" },
  { src: " javascript:alert(1)" },
  { src: "data:text/html,<script>alert(1)</script>" },
  { src: "file:///etc/passwd" },
  { src: "ftp://shop.example/icon.png" },
  { src: "ws://shop.example/" },
  { src: "blob:https://shop.example/1" },
  { src: "http://shop.example/icon.png" },
  { src: "http://127.0.0.1.evil.example/icon.png" },
  { src: "icon.png" },
  { src: 7 },
  {},
  "https://shop.example/icon.png",
];

describe("icons", () => {
  it.each(bad)("%j is dropped (B10, V37)", (icon) => {
    expect(safeIcons({ name: "a", icons: [icon] })).toEqual({ name: "a" });
    expect(safeIcons({ name: "a", icons: [icon, ...good] })).toEqual({ name: "a", icons: good });
  });

  it("that are safe stay, and nothing is copied for them", () => {
    const value = { name: "a", icons: good };
    expect(safeIcons(value)).toBe(value);
    expect(safeIcons({ name: "a", icons: "javascript:alert(1)" })).toEqual({ name: "a" });
  });

  const icons = [{ src: "javascript:alert(1)" }];
  const link = { type: "resource_link", uri: "a://1", name: "one" };
  it.each([
    ["tools/list", { tools: [{ name: "a", inputSchema: {}, icons }] }],
    ["resources/list", { resources: [{ uri: "a://1", name: "a", icons }] }],
    ["resources/templates/list", { resourceTemplates: [{ uriTemplate: "a://{x}", name: "a", icons }] }],
    ["prompts/list", { prompts: [{ name: "a", icons }] }],
    ["prompts/get", { messages: [{ role: "user", content: { ...link, icons } }] }],
    ["tools/call", { content: [{ ...link, icons }] }],
    ["tasks/result", { content: [{ ...link, icons }] }],
    ["server/discover", { supportedVersions: [], capabilities: {}, serverInfo: { name: "a", version: "1", icons } }],
  ] as const)("in the result of %s are looked at, in both eras (B10)", (method, result) => {
    for (const decode of [decodeModernResult, decodeLegacyResult]) {
      if (method === "server/discover" && decode === decodeLegacyResult) continue;
      const outcome = decode(method, structuredClone(result) as never);
      expect(outcome.kind).toBe("complete");
      expect(JSON.stringify(outcome)).not.toContain("javascript");
    }
  });

  it("in what a task came to are looked at (B10)", () => {
    const task = { taskId: "t", status: "completed", createdAt: "", lastUpdatedAt: "", ttlMs: null };
    const read = readDetails({ ...task, result: { content: [{ ...link, icons }] } });
    expect(read.ok).toBe(true);
    expect(JSON.stringify(read)).not.toContain("javascript");
  });
});
