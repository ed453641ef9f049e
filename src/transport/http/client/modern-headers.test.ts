import { describe, expect, it } from "vitest";
import { createModernHeaders } from "./modern-headers.ts";

const common = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
  "mcp-protocol-version": "2026-07-28",
};

describe("createModernHeaders", () => {
  it("repeats the method, and the name where there is one", () => {
    const headersFor = createModernHeaders();
    expect(headersFor("tools/list", {})).toEqual({ ...common, "mcp-method": "tools/list" });
    expect(headersFor("tools/call", { name: "add" })).toEqual({
      ...common,
      "mcp-method": "tools/call",
      "mcp-name": "add",
    });
    expect(headersFor("resources/read", { uri: "file:///a" })).toMatchObject({ "mcp-name": "file:///a" });
  });

  it("keeps them apart: by method, by name, and by whether there is a name", () => {
    const headersFor = createModernHeaders();
    for (let round = 0; round < 2; round++) {
      expect(headersFor("tools/call", { name: "a" })).toMatchObject({ "mcp-method": "tools/call", "mcp-name": "a" });
      expect(headersFor("tools/call", { name: "b" })).toMatchObject({ "mcp-method": "tools/call", "mcp-name": "b" });
      expect(headersFor("prompts/get", { name: "a" })).toMatchObject({ "mcp-method": "prompts/get", "mcp-name": "a" });
      expect(headersFor("tools/call", { name: "" })).toMatchObject({ "mcp-name": "" });
      expect(headersFor("tools/call", {})).not.toHaveProperty("mcp-name");
    }
  });

  it("is not confused by more names than it keeps", () => {
    const headersFor = createModernHeaders();
    for (let round = 0; round < 2; round++) {
      for (let index = 0; index < 1_500; index++) {
        expect(headersFor("tools/call", { name: `t${index}` })["mcp-name"]).toBe(`t${index}`);
      }
    }
  });
});
