import { type Context, context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { afterEach, describe, expect, it } from "vitest";
import { createTraces, treeOf } from "../../test/support/traces.ts";
import { connect } from "../connect/connect.ts";
import { McpError, toolError } from "../protocol/errors.ts";
import type { Service } from "../protocol/service.ts";
import { prompt } from "../server/prompt.ts";
import { resource } from "../server/resource.ts";
import { createServer } from "../server/server.ts";
import { tool } from "../server/tool.ts";
import { serveHttp } from "../transport/node/serve-http.ts";
import { otel } from "./otel.ts";

afterEach(() => context.disable());

const secret = "sk-live-4242424242424242";
const arrived = { type: "object", properties: { sku: { type: "string" }, apiKey: { type: "string" } } } as const;

function shop(options: Parameters<typeof otel>[0] = {}) {
  const traces = createTraces();
  const { tracer, meter } = traces;
  const active: Context[] = [];
  const server = createServer({
    name: "shop",
    version: "1",
    onError: () => {},
    telemetry: otel({ tracer, meter, ...options }),
    tools: {
      buy: tool({
        input: arrived,
        run: ({ sku = "" }) => {
          active.push(context.active());
          return `bought ${sku}`;
        },
      }),
      sold: tool({ run: () => Promise.reject(toolError("sold out")) }),
      broken: tool({ run: () => Promise.reject(new TypeError(`no ${secret}`)) }),
      slow: tool({ timeoutMs: 1, run: () => new Promise(() => {}) }),
      denied: tool({ run: () => Promise.reject(new McpError("denied", "not you")) }),
      odd: tool({ run: () => Promise.reject(new McpError("application", "odd", { number: 429 })) }),
    },
    prompts: { hello: prompt({ get: () => "Hello" }) },
    resources: [resource("doc://a", { read: () => "a" })],
  });
  return { ...traces, server, active };
}

describe("a span of a server", () => {
  it("has the name, the kind and the attributes of the conventions, over HTTP and without a wire", async () => {
    const { server, spans } = shop();
    await using serving = await serveHttp(server, { port: 0 });
    for (const target of [serving.url, server]) {
      await using client = await connect(target);
      await client.callTool("buy", { sku: "A1" });
    }
    const [first, second] = spans().filter(({ name }) => name === "tools/call buy");
    expect(first).toMatchObject({ kind: SpanKind.SERVER, status: { code: SpanStatusCode.UNSET } });
    const common = {
      "mcp.method.name": "tools/call",
      "mcp.protocol.version": "2026-07-28",
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "buy",
    };
    expect(first?.attributes).toEqual({
      ...common,
      "network.transport": "tcp",
      "client.address": "127.0.0.1",
      "jsonrpc.request.id": expect.stringMatching(/^\d+$/),
    });
    expect(second?.attributes).toEqual(common);
  });

  it("names prompts, and resources by an attribute alone", async () => {
    const { server, spans } = shop();
    await using client = await connect(server);
    await client.getPrompt("hello");
    await client.readResource("doc://a");
    expect(spans().map(({ name }) => name)).toEqual(["server/discover", "prompts/get hello", "resources/read"]);
    expect(spans()[1]?.attributes).toMatchObject({ "gen_ai.prompt.name": "hello" });
    expect(spans()[2]?.attributes).toMatchObject({ "mcp.resource.uri": "doc://a" });
  });

  it.each([
    ["sold", { "error.type": "tool_error" }],
    ["broken", { "error.type": "tool_error" }],
    ["slow", { "error.type": "timeout", "rpc.response.status_code": "-32603" }],
    ["denied", { "rpc.response.status_code": "-32603" }],
    ["odd", { "rpc.response.status_code": "429" }],
    ["unknown", { "rpc.response.status_code": "-32602" }],
  ])("of %s is an error only where the server is at fault", async (name, ending) => {
    const { server, spans } = shop();
    await using client = await connect(server);
    await client.callTool(name as never, {} as never).catch(() => {});
    const span = spans().at(-1);
    const { "error.type": type, "rpc.response.status_code": status } = span?.attributes ?? {};
    expect({ ...(type && { "error.type": type }), ...(status && { "rpc.response.status_code": status }) }).toEqual(
      ending,
    );
    expect(span?.status.code).toBe(type === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR);
  });

  it("has the exception, without what looks like a secret", async () => {
    const { server, spans } = shop();
    await using client = await connect(server);
    await client.callTool("broken");
    const [exception] = spans().at(-1)?.events ?? [];
    expect(exception).toMatchObject({ name: "exception", attributes: { "exception.type": "TypeError" } });
    expect(exception?.attributes?.["exception.message"]).toBe("no ***");
    expect(JSON.stringify(exception)).not.toContain(secret);
  });

  it("has arguments and results only where that is asked for, with credentials hidden", async () => {
    const plain = shop();
    const full = shop({ recordArguments: true, recordResults: true });
    for (const { server } of [plain, full]) {
      await using client = await connect(server);
      await client.callTool("buy", { sku: "A1", apiKey: secret });
    }
    expect(JSON.stringify(plain.spans().at(-1)?.attributes)).not.toContain("A1");
    expect(full.spans().at(-1)?.attributes).toMatchObject({
      "gen_ai.tool.call.arguments": JSON.stringify({ sku: "A1", apiKey: "[REDACTED]" }),
      "gen_ai.tool.call.result": JSON.stringify([{ type: "text", text: "bought A1" }]),
    });
  });

  it("belongs to the span of the caller; one that is open here is linked", async () => {
    const { server, spans, tracer, active } = shop();
    await using client = await connect(server);
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await tracer.startActiveSpan("http", async (http) => {
      await client.callTool("buy", {}, { meta: { traceparent } });
      http.end();
      const span = spans().find(({ name }) => name === "tools/call buy");
      expect(span?.parentSpanContext).toMatchObject({ spanId: "b7ad6b7169203331", isRemote: true });
      expect(span?.links.map((link) => link.context.spanId)).toEqual([http.spanContext().spanId]);
      expect(active.map((each) => trace.getSpanContext(each)?.spanId)).toEqual([span?.spanContext().spanId]);
    });
  });

  it("is not begun for a subscription", async () => {
    const { server, spans } = shop();
    await using client = await connect(server);
    const abort = new AbortController();
    const listening = client.request("subscriptions/listen", { notifications: {} }, { signal: abort.signal });
    abort.abort();
    await expect(listening).rejects.toMatchObject({ code: "cancelled" });
    expect(spans().map(({ name }) => name)).toEqual(["server/discover"]);
  });
});

/** A server that answers with what it was sent. */
const echo: Service = createServer({
  name: "echo",
  version: "1",
  tools: {
    meta: tool({ run: (_, ctx) => ({ ...ctx.meta }) }),
    fail: tool({ run: () => Promise.reject(new Error("x")) }),
  },
});

describe("a span of a client", () => {
  it("has the place of the server, and its context is sent", async () => {
    const { tracer, meter, spans } = createTraces();
    await using serving = await serveHttp(echo, { port: 0 });
    await using client = await connect(serving.url, { telemetry: otel({ tracer, meter }) });
    const { structuredContent } = await client.callTool("meta", {}, { meta: { mine: 1, tracestate: "old=1" } });
    const [span] = spans();
    expect(span).toMatchObject({ name: "tools/call meta", kind: SpanKind.CLIENT });
    expect(span?.attributes).toMatchObject({
      "network.transport": "tcp",
      "server.address": "127.0.0.1",
      "server.port": serving.port,
      "jsonrpc.request.id": expect.any(String),
    });
    const { traceId, spanId } = span?.spanContext() ?? {};
    expect(structuredContent).toMatchObject({ mine: 1, traceparent: `00-${traceId}-${spanId}-01` });
    expect(structuredContent).not.toHaveProperty("tracestate");
  });

  it("tells every failure as an error, also one that this side finds out", async () => {
    const { tracer, spans } = createTraces();
    await using serving = await serveHttp(shop().server, { port: 0 });
    await using client = await connect(serving.url, { telemetry: otel({ tracer }) });
    await client.callTool("unknown").catch(() => {});
    await client.callTool("sold");
    await client.request("tools/call", { name: "slow" }, { maxTotalMs: 1, timeoutMs: 1 }).catch(() => {});
    await expect.poll(() => spans().length).toBe(3);
    expect(spans().map(({ attributes }) => attributes["error.type"])).toEqual(["-32602", "tool_error", "timeout"]);
    expect(spans().every(({ status }) => status.code === SpanStatusCode.ERROR)).toBe(true);
  });

  it.each([
    ["rebuy", false],
    ["2buy", false],
    ["buy", true],
    ["shop__buy", true],
    ["shop.buy", true],
  ])("within a span that runs the tool %s is left out for the tool buy: %s", async (running, isLeftOut) => {
    const { tracer, spans } = createTraces();
    await using client = await connect(shop().server, { telemetry: otel({ tracer }) });
    const attributes = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": running };
    await tracer.startActiveSpan(`execute_tool ${running}`, { attributes }, async (span) => {
      await client.callTool("buy");
      span.end();
    });
    const ofClient = spans().filter(({ kind, name }) => kind === SpanKind.CLIENT && name === "tools/call buy");
    expect(ofClient).toHaveLength(isLeftOut ? 0 : 1);
  });

  it("is not begun within a span that runs this very tool, which gets the attributes", async () => {
    const { tracer, spans } = createTraces();
    await using client = await connect(echo, { telemetry: otel({ tracer }) });
    const attributes = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "echo:meta" };
    await tracer.startActiveSpan("execute_tool echo:meta", { attributes }, async (span) => {
      const { structuredContent } = await client.callTool("meta");
      expect(structuredContent).toHaveProperty("traceparent", expect.stringContaining(span.spanContext().spanId));
      await client.callTool("fail");
      span.end();
    });
    expect(treeOf(spans())).toEqual(["internal execute_tool echo:meta", "  client tools/call fail"]);
    expect(spans()[0]?.attributes).toMatchObject({ "mcp.method.name": "tools/call", "gen_ai.tool.name": "echo:meta" });
  });

  it("belongs to the span of its caller, also where the call had to wait for others", async () => {
    const { tracer, spans } = createTraces();
    await using client = await connect(echo, { telemetry: otel({ tracer }), maxOpenRequests: 1 });
    const calls = ["a", "b", "c"].map((name) =>
      tracer.startActiveSpan(name, async (span) => {
        await client.callTool("meta");
        span.end();
      }),
    );
    await Promise.all(calls);
    const child = "  client tools/call meta";
    expect(treeOf(spans())).toEqual(["internal a", child, "internal b", child, "internal c", child]);
  });
});

describe("metrics", () => {
  it("are the four histograms of the conventions, in seconds", async () => {
    const { server, recorded, tracer, meter } = shop();
    const telemetry = otel({ tracer, meter });
    const client = await connect(server, { telemetry, revision: "2025-11-25" });
    await client.callTool("buy");
    await client.callTool("buy");
    await client.close();
    const [buy] = (await recorded("mcp.server.operation.duration")).filter(
      ({ attributes }) => attributes["gen_ai.tool.name"] === "buy",
    );
    expect(buy).toMatchObject({
      value: { count: 2, buckets: { boundaries: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300] } },
      attributes: {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2025-11-25",
        "network.transport": "pipe",
      },
    });
    expect(buy?.value.max).toBeLessThan(60);
    expect(await recorded("mcp.client.operation.duration")).toMatchObject([{ value: { count: 2 } }]);
    expect(await recorded("mcp.client.session.duration")).toMatchObject([{ value: { count: 1 } }]);
    await expect
      .poll(() => recorded("mcp.server.session.duration"))
      .toMatchObject([{ value: { count: 1 }, attributes: { "mcp.protocol.version": "2025-11-25" } }]);
  });

  it("have no names that callers made up, and methods that nobody knows count as one", async () => {
    const { server, recorded } = shop();
    await using client = await connect(server);
    for (let number = 0; number < 20; number++) {
      await client.callTool(`made-up-${number}` as never, {} as never).catch(() => {});
      await client.request(`made/up-${number}`).catch(() => {});
    }
    const points = await recorded("mcp.server.operation.duration");
    expect(points.map(({ attributes }) => attributes["mcp.method.name"]).toSorted()).toEqual([
      "_OTHER",
      "server/discover",
      "tools/call",
    ]);
    expect(JSON.stringify(points)).not.toContain("made");
  });
});

describe("otel", () => {
  it("without an SDK changes nothing", async () => {
    const server = createServer({ name: "s", version: "1", telemetry: otel(), tools: { a: tool({ run: () => "a" }) } });
    await using client = await connect(server, { telemetry: otel() });
    expect(await client.callTool("a")).toMatchObject({ content: [{ text: "a" }] });
  });

  it("refuses options that do not exist", () => {
    expect(() => otel({ recordArgument: true } as object)).toThrow('did you mean "recordArguments"?');
  });
});
