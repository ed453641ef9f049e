import { describe, expect, it } from "vitest";
import { connect } from "../connect/connect.ts";
import { toolError } from "../protocol/errors.ts";
import { createServer } from "../server/server.ts";
import { tool } from "../server/tool.ts";
import { createMemoryChannels } from "../transport/memory-channels.ts";
import { serveHttp } from "../transport/node/serve-http.ts";
import { serveChannel } from "../transport/serve-channel.ts";
import { createMetrics } from "./metrics.ts";

function shop(metrics = createMetrics()) {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const server = createServer({
    name: "shop",
    version: "1",
    telemetry: metrics,
    tools: {
      buy: tool({ run: () => "bought" }),
      sold: tool({ run: () => Promise.reject(toolError("sold out")) }),
      hold: tool({ run: () => held.then(() => "held") }),
    },
  });
  return { metrics, server, release };
}

const lines = async (metrics: { text(): Promise<string> }, pattern: RegExp): Promise<readonly string[]> =>
  (await metrics.text()).split("\n").filter((line) => pattern.test(line));

describe("createMetrics", () => {
  it("counts calls by method, name, error, revision and transport", async () => {
    const { metrics, server } = shop();
    await using client = await connect(server, { telemetry: metrics });
    await client.callTool("buy");
    await client.callTool("buy");
    await client.callTool("sold");
    const labels = (name: string, error: string) =>
      `{method="tools/call",name="${name}",error_type="${error}",protocol_version="2026-07-28",transport=""}`;
    for (const side of ["server", "client"]) {
      expect(await lines(metrics, new RegExp(`^mcp_${side}_operation_duration_seconds_count.*tools`))).toEqual([
        `mcp_${side}_operation_duration_seconds_count${labels("buy", "")} 2`,
        `mcp_${side}_operation_duration_seconds_count${labels("sold", "tool_error")} 1`,
      ]);
    }
  });

  it("tells what is open: calls, subscriptions and sessions", async () => {
    const { metrics, server, release } = shop();
    const client = await connect(server, { telemetry: metrics, revision: "2025-11-25" });
    const abort = new AbortController();
    const held = client.callTool("hold");
    await using modern = await connect(server);
    const listening = modern.request("subscriptions/listen", { notifications: {} }, { signal: abort.signal });
    const open = () => lines(metrics, /^mcp_(server_open_calls|server_open_streams|client_open_sessions) /);
    await expect
      .poll(open)
      .toEqual(["mcp_server_open_calls 1", "mcp_server_open_streams 1", "mcp_client_open_sessions 1"]);
    release();
    abort.abort();
    await held;
    await listening.catch(() => {});
    await client.close();
    await expect
      .poll(open)
      .toEqual(["mcp_server_open_calls 0", "mcp_server_open_streams 0", "mcp_client_open_sessions 0"]);
    expect(await lines(metrics, /^mcp_client_session_duration_seconds_count/)).toHaveLength(1);
  });

  it("counts sessions that clients have with a server, over HTTP and over a channel, until they end", async () => {
    const { metrics, server } = shop();
    await using serving = await serveHttp(server, { port: 0 });
    const [here, there] = createMemoryChannels();
    const served = serveChannel(there, server);
    const clients = [
      await connect(serving.url, { revision: "2025-11-25" }),
      await connect(here, { revision: "2025-06-18" }),
      await connect(serving.url),
    ];
    const open = () => lines(metrics, /^mcp_server_open_sessions /);
    await expect.poll(open).toEqual(["mcp_server_open_sessions 2"]);
    await Promise.all(clients.map((client) => client.close()));
    await expect.poll(open).toEqual(["mcp_server_open_sessions 0"]);
    expect(await lines(metrics, /^mcp_server_session_duration_seconds_count/)).toEqual([
      'mcp_server_session_duration_seconds_count{protocol_version="2025-06-18",transport="pipe",error_type=""} 1',
      'mcp_server_session_duration_seconds_count{protocol_version="2025-11-25",transport="tcp",error_type=""} 1',
    ]);
    await served.close();
  });

  it("keeps no names that callers make up", async () => {
    const { metrics, server } = shop();
    await using client = await connect(server);
    for (let number = 0; number < 50; number++)
      await client.callTool(`made-up-${number}` as never, {} as never).catch(() => {});
    expect(await metrics.text()).not.toContain("made-up");
  });

  it("answers a scrape", async () => {
    const { handler } = createMetrics({ prefix: "shop_", buckets: [0.1, 1] });
    const response = await handler(new Request("http://localhost/metrics"));
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "text/plain; version=0.0.4; charset=utf-8",
    ]);
    expect(await response.text()).toContain("# TYPE shop_server_operation_duration_seconds histogram");
    expect((await handler(new Request("http://localhost/metrics", { method: "HEAD" }))).status).toBe(200);
    expect((await handler(new Request("http://localhost/metrics", { method: "POST" }))).status).toBe(405);
  });

  it("may be there several times in one process", () => {
    expect(() => [createMetrics(), createMetrics()]).not.toThrow();
  });

  it("refuses what Prometheus would", () => {
    expect(() => createMetrics({ prefix: "my-shop " })).toThrow("the option prefix");
    for (const buckets of [[], [1, 1], [0, 1], [Number.NaN]]) {
      expect(() => createMetrics({ buckets })).toThrow("the option buckets");
    }
    expect(() => createMetrics({ bucket: [1] } as object)).toThrow('did you mean "buckets"?');
  });
});
