import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Host } from "../../src/host/index.ts";
import type { HttpServeHandle } from "../../src/transport/node/serve-http.ts";
import { apiKey, connect, openHost, serveHttp } from "./support/built.ts";
import { script } from "./support/places.ts";
import { type Serving, serve } from "./support/serving.ts";

// A host behind HTTP over servers that are programs, for clients of either era.

const upstream = (name: string, ...manners: readonly string[]) =>
  script("test/fixtures/children/upstream.mjs", `name=${name}`, ...manners);

describe.each(["2026-07-28", "2025-11-25"] as const)("a host that is served, over servers of %s", (spoken) => {
  let shop: Serving;
  let host: Host;
  let served: HttpServeHandle;

  beforeAll(async () => {
    shop = await serve(upstream("shop", "http"));
    const options = { revision: spoken };
    host = await openHost(
      {
        shop: { target: shop.url, connectOptions: options },
        bank: { target: upstream("bank"), connectOptions: options },
      },
      {
        resultLimits: { maxChars: 1_000, pageChars: 400 },
        listTimeoutMs: 0,
        policy: [{ tools: "*:order", action: "deny" }],
      },
    );
    await host.settled();
    served = await serveHttp(host, { port: 0 });
  });

  afterAll(async () => {
    await served.close();
    await host.close();
  });

  describe.each(["2026-07-28", "2025-11-25"] as const)("for clients of %s", (revision) => {
    it("lists a template once, and leads to the first server that has it (X4)", async () => {
      await using client = await connect(served.url, { revision });
      const templates = await client.listResourceTemplates();
      expect(templates.map(({ uriTemplate }) => uriTemplate)).toEqual(["stock://{sku}"]);
      expect((await client.readResource("stock://hammer")).contents[0]).toMatchObject({ text: "hammer of shop" });
      const other = `plugbay-resource://bank/${encodeURIComponent("stock://hammer")}`;
      expect((await client.readResource(other)).contents[0]).toMatchObject({ text: "hammer of bank" });
    });

    it("sends logs of the level that the client wants, and says that it does (X5)", async () => {
      const heard: unknown[] = [];
      await using client = await connect(served.url, { revision, onLog: ({ data }) => heard.push(data) });
      expect(client.server.capabilities.logging).toEqual({});
      await client.callTool("shop__say");
      expect(heard).toEqual(["info of shop", "error of shop"]);
      await client.setLogLevel("error");
      heard.length = 0;
      await client.callTool("shop__say");
      expect(heard).toEqual(["error of shop"]);
    });

    it("cuts results that are too large, and has the rest as pages (X3)", async () => {
      await using client = await connect(served.url, { revision });
      const { content } = await client.callTool("bank__text", { count: 1_001 });
      const { uri = "" } = content.find(({ type }) => type === "resource_link") as { uri?: string };
      expect(JSON.stringify(content)).toContain("cut: 1001 characters on 3 pages");
      const pages = [1, 2, 3].map((page) => client.readResource(uri.replace(/1$/, String(page))));
      const texts = (await Promise.all(pages)).flatMap(({ contents }) =>
        contents.map((page) => "text" in page && page.text),
      );
      expect(texts.join("")).toBe("x".repeat(1_001));
      await expect(client.readResource(uri.replace(/1$/, "4"))).rejects.toMatchObject({ code: "resource-not-found" });
      const fits = await client.callTool("bank__text", { count: 1_000 });
      expect(fits.content).toEqual([{ type: "text", text: "x".repeat(1_000) }]);
    });

    it("says that structured content was cut by a result that failed, since clients insist on it otherwise (X3)", async () => {
      await using client = await connect(served.url, { revision });
      await client.listTools();
      const small = await client.callTool("bank__items", { count: 3 });
      expect(small.structuredContent).toEqual({ items: [0, 1, 2] });
      const large = await client.callTool("bank__items", { count: 1_000 });
      expect(large.isError).toBe(true);
      expect(large.content.at(-1)).toMatchObject({ type: "resource_link" });
      expect(large.structuredContent).toBeUndefined();
    });

    it("has one policy, whoever calls (X3)", async () => {
      await using client = await connect(served.url, { revision });
      const names = (await client.listTools()).map(({ name }) => name);
      expect(names).toContain("shop__pid");
      expect(names).not.toContain("shop__order");
      for (const call of [host.callTool("shop:order"), client.callTool("shop__order")]) {
        await expect(call).rejects.toMatchObject({
          message: expect.stringContaining("denied by rule 1 of the policy"),
        });
      }
    });
  });
});

describe("pages of a result", () => {
  it("are for the principal that called (X3)", async () => {
    await using host = await openHost(
      { bank: upstream("bank") },
      { resultLimits: { maxChars: 100 }, listTimeoutMs: 0 },
    );
    const auth = apiKey({ verify: (key) => ({ principal: key }) });
    await using served = await serveHttp(host, { port: 0, auth });
    const as = (who: string) => connect(served.url, { headers: { "x-api-key": who } });
    await using ann = await as("ann");
    await using bob = await as("bob");
    const { content } = await ann.callTool("bank__text", { count: 101 });
    const { uri = "" } = content.find(({ type }) => type === "resource_link") as { uri?: string };
    await expect(ann.readResource(uri)).resolves.toBeDefined();
    await expect(bob.readResource(uri)).rejects.toMatchObject({ code: "resource-not-found" });
  });
});
