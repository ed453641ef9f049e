import { describe, expect, it } from "vitest";
import { apiKey } from "../../src/auth/server/api-key.ts";
import { connect } from "../../src/connect/connect.ts";
import { createServer, tool } from "../../src/server/index.ts";
import { toFetchHandler } from "../../src/transport/http/fetch-handler.ts";
import { serveHttp } from "../../src/transport/node/serve-http.ts";

const keyed = apiKey({ verify: (key) => (key === "k" ? { principal: "me" } : undefined) });

describe("ctx.platform", () => {
  const tellUrl = tool({ run: (_, { platform }) => String((platform as { url?: string } | undefined)?.url) });
  const shop = createServer({ name: "shop", version: "1.0.0", tools: { url: tellUrl } });

  it.each(["2026-07-28", "2025-11-25"] as const)(
    "is what the option platform makes of the request, in %s",
    async (revision) => {
      let asked = 0;
      const platform = (request: { url?: string | undefined }, response: object) => {
        asked++;
        return { url: request.url, response };
      };
      await using serving = await serveHttp(shop, { port: 0, platform });
      await using client = await connect(serving.url, { revision });
      expect(await client.callTool("url")).toMatchObject({ content: [{ text: "/mcp" }] });
      expect(asked).toBe(1);
    },
  );

  it("is there behind auth, and is undefined without the option", async () => {
    await using serving = await serveHttp(shop, { port: 0, auth: keyed, platform: ({ url }) => ({ url }) });
    await using client = await connect(serving.url, { headers: { "x-api-key": "k" } });
    expect(await client.callTool("url")).toMatchObject({ content: [{ text: "/mcp" }] });
    await using plain = await connect(shop);
    expect(await plain.callTool("url")).toMatchObject({ content: [{ text: "undefined" }] });
  });

  it("is what a fetch handler makes of the request and of what the platform passes besides", async () => {
    const platform = (request: Request, env: { readonly url: string }) => ({ url: `${env.url} ${request.method}` });
    const handle = toFetchHandler(shop, { platform });
    const fetch: typeof globalThis.fetch = (input, init) => handle(new Request(input, init), { url: "env" });
    await using client = await connect("http://localhost/mcp", { fetch });
    expect(await client.callTool("url")).toMatchObject({ content: [{ text: "env POST" }] });
  });

  it("is asked for once a call, when a handler reads it", async () => {
    let asked = 0;
    const both = tool({ run: (_, ctx) => String(new Set([ctx.platform, ctx.platform]).size) });
    const none = tool({ run: () => "nothing read" });
    const server = createServer({ name: "shop", version: "1.0.0", tools: { both, none } });
    await using serving = await serveHttp(server, { port: 0, platform: () => ({ asked: ++asked }) });
    await using client = await connect(serving.url);
    await client.callTool("none");
    expect(asked).toBe(0);
    for (let call = 0; call < 2; call++)
      expect(await client.callTool("both")).toMatchObject({ content: [{ text: "1" }] });
    expect(asked).toBe(2);
  });

  it("that throws fails the call that reads it, without telling the client why", async () => {
    const errors: unknown[] = [];
    const server = createServer({
      name: "shop",
      version: "1.0.0",
      tools: { url: tellUrl },
      onError: (error) => errors.push(error),
    });
    const secret = new Error("secret");
    const platform = () => {
      throw secret;
    };
    await using serving = await serveHttp(server, { port: 0, platform });
    await using client = await connect(serving.url);
    expect(JSON.stringify(await client.callTool("url").catch((error) => error.message))).not.toContain("secret");
    expect(errors).toContain(secret);
  });
});
