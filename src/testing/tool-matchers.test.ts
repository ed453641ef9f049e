import { describe, expect, it } from "vitest";
import { connect } from "../connect/connect.ts";
import { toolError } from "../protocol/errors.ts";
import { createServer } from "../server/server.ts";
import { tool } from "../server/tool.ts";
import { type ToolMatchers, toolMatchers } from "./tool-matchers.ts";
import { assertToolResult } from "./tool-result.ts";

declare module "vitest" {
  // biome-ignore lint/suspicious/noExplicitAny: vitest declares it so
  interface Matchers<T = any> extends ToolMatchers<T> {}
}

expect.extend(toolMatchers);

const server = createServer({
  name: "shop",
  version: "1",
  tools: {
    buy: tool({ run: () => ({ order: 7, at: Date.now() }) }),
    say: tool({ run: () => "bought it" }),
    sold: tool({ run: () => Promise.reject(toolError("sold out")) }),
  },
});

const results = async () => {
  await using client = await connect(server);
  const [bought, said, sold] = await Promise.all(
    (["buy", "say", "sold"] as const).map((name) => client.callTool(name)),
  );
  if (bought === undefined || said === undefined || sold === undefined) throw new Error("no results");
  return { bought, said, sold };
};

describe("matchers of results", () => {
  it("tell success from failure, and what was said", async () => {
    const { bought, said, sold } = await results();
    expect(said).toHaveSucceeded();
    expect(sold).not.toHaveSucceeded();
    expect(sold).toHaveFailed();
    expect(sold).toHaveFailed("sold");
    expect(sold).toHaveFailed(/out$/);
    expect(sold).not.toHaveFailed("bought");
    expect(said).not.toHaveFailed();
    expect(said).toHaveText("bought it");
    expect(said).toHaveText(/^bought/);
    expect(said).not.toHaveText("bought");
    expect(bought).toHaveStructuredContent({ order: 7, at: expect.any(Number) });
    expect(bought).not.toHaveStructuredContent({ order: 8, at: expect.any(Number) });
  });

  it("say what the tool said when they do not match", async () => {
    const { bought, said, sold } = await results();
    expect(() => expect(sold).toHaveSucceeded()).toThrow("the tool failed: sold out");
    expect(() => expect(said).toHaveFailed()).toThrow("the tool did not fail; it returned: bought it");
    expect(() => expect(sold).toHaveFailed("stolen")).toThrow("the tool failed: sold out; expected stolen");
    expect(() => expect(said).toHaveText("sold")).toThrow('the text of the result is "bought it", not sold');
    expect(() => expect(bought).toHaveStructuredContent({})).toThrow('"order":7');
  });
});

describe("assertToolResult", () => {
  it("looks at what is expected, and no more", async () => {
    const { bought, said, sold } = await results();
    assertToolResult(said);
    assertToolResult(said, { text: "bought it" });
    assertToolResult(sold, { isError: true, text: /sold/ });
    assertToolResult(bought, { structuredContent: bought.structuredContent });
  });

  it("throws what a runner without expect shows well", async () => {
    const { bought, said, sold } = await results();
    expect(() => assertToolResult(sold)).toThrow("the tool failed: sold out");
    expect(() => assertToolResult(said, { isError: true })).toThrow("the tool did not fail");
    expect(() => assertToolResult(said, { text: "sold" })).toThrow(/sold/);
    expect(() => assertToolResult(said, { text: /sold/ })).toThrow(/sold/);
    expect(() => assertToolResult(bought, { structuredContent: { order: 8 } })).toThrow(
      expect.objectContaining({ name: "AssertionError" }),
    );
  });
});
