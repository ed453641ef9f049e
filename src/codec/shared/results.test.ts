import { describe, expect, it } from "vitest";
import { mendResult, resultProblem } from "./results.ts";

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
    expect(mendResult(method, result)).toEqual(mended);
  });

  it.each([
    ["tools/list", { tools: [], nextCursor: "", ttlMs: 1, cacheScope: "public" }],
    ["tools/call", { content: null }],
    ["com.example/mine", { nextCursor: null }],
  ])("leaves %s %j alone", (method, result) => {
    expect(mendResult(method, result)).toBe(result);
  });
});
