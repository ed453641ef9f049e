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
});
