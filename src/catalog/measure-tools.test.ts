import { describe, expect, it } from "vitest";
import type { CatalogTool } from "./sort-tools.ts";
import { measureTools } from "./tokens.ts";

const toolOf = (server: string, name: string, description: string): CatalogTool => ({
  server,
  tool: { name, description, inputSchema: { type: "object" } },
});

describe("measureTools", () => {
  it("adds up by server, the dearest first, and by name among equals", () => {
    const long = "Says a lot about what it does. ".repeat(20);
    const measured = measureTools([
      toolOf("b", "one", "Short."),
      toolOf("a", "two", "Short."),
      toolOf("a", "one", "Short."),
      toolOf("c", "big", long),
      toolOf("a", "tiny", ""),
    ]);
    expect(measured.servers.map(({ server, tools }) => [server, tools.map(({ name }) => name)])).toEqual([
      ["c", ["big"]],
      ["a", ["one", "two", "tiny"]],
      ["b", ["one"]],
    ]);
    const all = measured.servers.flatMap(({ tools }) => tools);
    expect(measured.tokens).toBe(all.reduce((sum, { tokens }) => sum + tokens, 0));
    for (const { tokens, tools } of measured.servers) {
      expect(tokens).toBe(tools.reduce((sum, tool) => sum + tool.tokens, 0));
    }
    expect(JSON.parse(JSON.stringify(measured))).toEqual(measured);
  });

  it("is nothing for no tools", () => {
    expect(measureTools([])).toEqual({ tokens: 0, servers: [] });
  });
});
