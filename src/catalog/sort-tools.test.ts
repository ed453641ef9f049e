import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CatalogTool, sortTools, toFullName } from "./sort-tools.ts";

const toolOf = (server: string, name: string): CatalogTool => ({ server, tool: { name, inputSchema: {} } });
const word = fc.stringMatching(/^[a-zA-ZäZ_0-9]{1,3}$/u);
const catalogs = fc.uniqueArray(
  fc.tuple(word, word).map(([server, name]) => toolOf(server, name)),
  { selector: toFullName, maxLength: 30 },
);

describe("sortTools", () => {
  it("has servers as registered, then by name, and tools by code units", () => {
    const tools = [
      toolOf("b", "z"),
      toolOf("x", "1"),
      toolOf("a", "ä"),
      toolOf("c", "1"),
      toolOf("a", "Z"),
      toolOf("a", "a"),
    ];
    expect(sortTools(tools, ["b", "a"]).map(toFullName)).toEqual(["b:z", "a:Z", "a:a", "a:ä", "c:1", "x:1"]);
  });

  it("does not depend on the order of arrival", () => {
    fc.assert(
      fc.property(catalogs, fc.array(word), fc.infiniteStream(fc.nat()), (tools, servers, random) => {
        const keys = new Map(tools.map((tool) => [tool, random.next().value ?? 0]));
        const shuffled = tools.toSorted((a, b) => (keys.get(a) ?? 0) - (keys.get(b) ?? 0));
        expect(sortTools(shuffled, servers)).toEqual(sortTools(tools, servers));
      }),
    );
  });

  it("leaves the others in their order when one comes", () => {
    fc.assert(
      fc.property(catalogs, fc.array(word), (tools, servers) => {
        const [last, ...others] = tools;
        const order = sortTools(tools, servers).filter((tool) => tool !== last);
        expect(sortTools(others, servers)).toEqual(order);
      }),
    );
  });
});
