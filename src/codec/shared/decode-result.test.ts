import { describe, expect, it } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";

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
