import { describe, expect, it } from "vitest";
import { createServer, requireAuth, tool } from "../server/index.ts";
import { testMatrix } from "../testing/matrix.ts";
import { connect } from "./connect.ts";

const shop = createServer({
  name: "shop",
  version: "1",
  tools: {
    who: tool({ run: (_, ctx) => ({ ...requireAuth(ctx) }) }),
    sell: tool({ scopes: ["sell"], run: () => "sold" }),
  },
});

const identity = { principal: "ann", scopes: ["buy"], claims: { tenant: "blue" } };

describe("an identity for a server in this process", () => {
  it.each(["2026-07-28", "2025-11-25", "2024-11-05"] as const)("is who calls, in %s", async (revision) => {
    await using client = await connect(shop, { identity, revision });
    const { content } = await client.callTool("who");
    expect(JSON.parse(content[0]?.type === "text" ? content[0].text : "")).toEqual(identity);
    await expect(client.callTool("sell")).rejects.toMatchObject({ message: expect.stringContaining("scopes") });
    await using seller = await connect(shop, { revision, identity: { principal: "bob", scopes: ["sell"] } });
    expect(await seller.callTool("sell")).toMatchObject({ content: [{ text: "sold" }] });
  });

  it("is nobody without it", async () => {
    await using client = await connect(shop);
    await expect(client.callTool("who")).rejects.toMatchObject({ code: "unauthorized" });
  });

  it("is refused for what is not in this process", async () => {
    await expect(connect("http://127.0.0.1:9/mcp", { identity })).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringMatching(/127\.0\.0\.1:9.*identity.*auth or headers/),
    });
    await expect(connect("node server.js", { identity })).rejects.toMatchObject({ code: "unsupported" });
  });

  it.each(testMatrix({ server: shop, revisions: ["2026-07-28", "2025-06-18"] }))(
    "is who calls over $name",
    async (way) => {
      await using client = await way.connect({ identity });
      expect(await client.tools.who()).toMatchObject({ principal: "ann", scopes: ["buy"] });
    },
  );
});
