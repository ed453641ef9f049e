import { describe, expect, it } from "vitest";
import { connect } from "../e2e/support/built.ts";
import { script } from "../e2e/support/places.ts";
import { serve } from "../e2e/support/serving.ts";
import { redisProgram, startRedis } from "../support/redis.ts";
import { createHome } from "./support/cli.ts";
import { startGateway } from "./support/gateway.ts";

// `plugbay gateway --workers`, with nothing given but what it needs.

describe.skipIf(redisProgram === undefined)("plugbay gateway --workers", () => {
  it("continues calls of 2026-07-28 at any worker without state keys of its user", async () => {
    await using redis = await startRedis();
    const home = createHome();
    const [v1, v2] = await Promise.all([
      serve(script("test/fixtures/official-v1-server.mjs")),
      serve(script("test/fixtures/official-v2-server.mjs", "--port", "0")),
    ]);
    home.write("mcp.json", { mcpServers: { v1: { url: `${v1.url}/mcp` }, v2: { url: `${v2.url}/mcp` } } });
    const gateway = await startGateway(home, "--workers", "2", "--store", redis.url, "--log", "off");
    await using client = await connect(gateway.url, { onElicit: () => ({ name: "Ada" }) });
    const names = ["v1__greet", "v2__greet", "v1__greet", "v2__greet", "v1__greet", "v2__greet"];
    // Calls at the same time need several connections of HTTP, which the workers share among them.
    const results = await Promise.all(names.map((name) => client.callTool(name)));
    expect(results.map(({ content }) => content)).toEqual(names.map(() => [{ type: "text", text: "Hello, Ada!" }]));
    await client.close();
    expect(await gateway.stop("SIGTERM")).toBe(0);
  });
});
