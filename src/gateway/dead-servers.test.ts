import { describe, expect, it } from "vitest";
import { connect } from "../connect/index.ts";
import type { HostEvent } from "../host/status.ts";
import { createServer, prompt, resource, tool } from "../server/index.ts";
import { type HttpServeHandle, serveHttp } from "../transport/node/serve-http.ts";
import { type Gateway, type GatewayOptions, openGateway } from "./open-gateway.ts";
import { formatUpstreamMetrics } from "./upstream-metrics.ts";

// Servers at URLs that are gone for a while.

const shop = createServer({
  name: "shop",
  version: "1",
  tools: { buy: tool({ annotations: { readOnlyHint: true }, run: () => "bought" }), sell: tool({ run: () => "sold" }) },
  prompts: { offer: prompt({ get: () => "An offer" }) },
  resources: [resource("shop://stock", { read: () => "plenty" }), resource("shop://{item}", { read: () => "one" })],
});
const bank = createServer({ name: "bank", version: "1", tools: { pay: tool({ run: () => "paid" }) } });

const revisions = ["2025-11-25", "2026-07-28"] as const;
const pairs = revisions.flatMap((front) => revisions.map((back) => [front, back] as const));

/** Resolves when a server of the gateway has a state. */
async function until(gateway: Gateway, state: string, events: AsyncIterable<HostEvent>): Promise<void> {
  if (gateway.servers().some((server) => server.state === state)) return;
  for await (const event of events) if (event.kind === "state" && event.status.state === state) return;
}

async function openFor(back: string, options: GatewayOptions = {}) {
  const serve = (port: number): Promise<HttpServeHandle> => serveHttp(shop, { port, drainMs: 0 });
  let serving = await serve(0);
  const { url, port } = serving;
  const revision = back as (typeof revisions)[number];
  const gateway = await openGateway(
    { shop: { target: url, connectOptions: { revision } }, bank },
    { restart: { minDelayMs: 5, maxDelayMs: 20 }, ...options },
  );
  await gateway.settled();
  return {
    gateway,
    events: () => gateway.events(),
    stop: () => serving.close(),
    start: async () => {
      serving = await serve(port);
    },
    async [Symbol.asyncDispose]() {
      await gateway.close();
      await serving.close();
    },
  };
}

const up = (gateway: Gateway): string => formatUpstreamMetrics(gateway.status());

describe.each(pairs)("a client of %s and a server of %s that is gone", (front, back) => {
  it("a call that fails shows in the status, and so does that the server is back", async () => {
    await using world = await openFor(back);
    const { gateway } = world;
    await using client = await connect(gateway, { revision: front, identity: { principal: "ann" } });
    expect(await client.callTool("shop__sell")).toMatchObject({ content: [{ text: "sold" }] });
    const down = world.events();
    await world.stop();
    await expect(client.callTool("shop__sell")).rejects.toMatchObject({ data: { server: "shop" } });
    await until(gateway, "down", down);
    const [status] = gateway.status().servers;
    expect(["down", "connecting"]).toContain(status?.state);
    expect(gateway.status().isDegraded).toBe(true);
    expect(up(gateway)).toContain('mcp_gateway_server_up{server="shop"} 0');
    const ready = world.events();
    await world.start();
    for await (const event of ready) if (event.kind === "state" && event.status.state === "ready") break;
    expect(gateway.status().isDegraded).toBe(false);
    expect(up(gateway)).toContain('mcp_gateway_server_up{server="shop"} 1');
    expect(await client.callTool("shop__sell")).toMatchObject({ content: [{ text: "sold" }] });
  });

  it("stays in lists, which nobody is to keep, and in no other place", async () => {
    await using world = await openFor(back);
    const { gateway } = world;
    await using client = await connect(gateway, { revision: front, identity: { principal: "ann" } });
    const listAll = async () => ({
      tools: (await client.listTools({ fresh: true })).map(({ name }) => name),
      prompts: (await client.listPrompts({ fresh: true })).map(({ name }) => name),
      resources: (await client.listResources({ fresh: true })).map(({ uri }) => uri),
      templates: (await client.listResourceTemplates({ fresh: true })).map(({ uriTemplate }) => uriTemplate),
    });
    const before = await listAll();
    expect(before).toMatchObject({ tools: ["shop__buy", "shop__sell", "bank__pay"], resources: ["shop://stock"] });
    const down = world.events();
    await world.stop();
    await client.callTool("shop__sell").catch(() => {});
    await until(gateway, "down", down);
    expect(await listAll()).toEqual(before);
    const page = await client.request("tools/list", {});
    expect(page.ttlMs ?? 0).toBe(0);
    await expect(client.callTool("shop__buy")).rejects.toMatchObject({
      code: "internal",
      message: "server shop is not available",
      data: { reason: "server-unavailable", server: "shop" },
    });
    await using other = await connect(gateway, { revision: front, identity: { principal: "eve" } });
    expect(other.server._meta).toMatchObject({ "plugbay/degraded": ["shop"] });
    await using bankView = await connect(gateway.views.get("bank") as never, { revision: front });
    expect(bankView.server._meta?.["plugbay/degraded"]).toBeUndefined();
  });

  it("is not in the lists of who may not know of it, and of nobody where lists are to leave it out", async () => {
    const rules = [{ action: "deny", users: "eve", tools: "shop:buy" }] as const;
    for (const listAbsent of [true, false]) {
      await using world = await openFor(back, { rules, listAbsent });
      const { gateway } = world;
      const open = (principal: string) => connect(gateway, { revision: front, identity: { principal } });
      await using ann = await open("ann");
      await using eve = await open("eve");
      const names = async (client: typeof ann) => (await client.listTools({ fresh: true })).map(({ name }) => name);
      await names(ann);
      await names(eve);
      const down = world.events();
      await world.stop();
      await ann.callTool("shop__sell").catch(() => {});
      await until(gateway, "down", down);
      expect(await names(ann)).toEqual(listAbsent ? ["shop__buy", "shop__sell", "bank__pay"] : ["bank__pay"]);
      expect(await names(eve)).toEqual(listAbsent ? ["shop__sell", "bank__pay"] : ["bank__pay"]);
    }
  });
});
