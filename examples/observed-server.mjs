// A server that is watched: traces by OpenTelemetry, figures for Prometheus, and an audit
// of who called what. In a real program the SDK is set up in a file of its own, which is
// loaded first, and its exporters send to a collector.
import assert from "node:assert/strict";
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { connect } from "plugbay/client";
import { serveHttp } from "plugbay/http";
import { createMetrics } from "plugbay/metrics";
import { otel } from "plugbay/otel";
import { createServer, jsonLines, tool, toolError } from "plugbay/server";

const exporter = new InMemorySpanExporter();
context.setGlobalContextManager(new AsyncLocalStorageContextManager());
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));

const metrics = createMetrics();
const audit = [];

const shop = createServer({
  name: "shop",
  version: "1.0.0",
  telemetry: [otel(), metrics],
  onEvent: jsonLines({ write: (line) => audit.push(line) }), // or process.stderr, or a file
  tools: {
    buy: tool({ run: ({ sku }) => trace.getTracer("shop").startActiveSpan("reserve", (span) => reserve(sku, span)) }),
  },
});

/** Work of the tool, in a span of its own: it belongs to the span of the call. */
function reserve(sku, span) {
  span.end();
  if (sku === "A2") throw toolError("sold out");
  return `bought ${sku}`;
}

const serving = await serveHttp(shop, { port: 0 });
const client = await connect(serving.url, { telemetry: otel() });
await client.callTool("buy", { sku: "A1" });
await client.callTool("buy", { sku: "A2" });
await client.close();
await serving.close();

// Client, server and the span of the handler are one trace.
const [reserved, served, sent] = exporter.getFinishedSpans().filter(({ name }) => name !== "server/discover");
assert.deepEqual([reserved.name, served.name, sent.name], ["reserve", "tools/call buy", "tools/call buy"]);
assert.equal(reserved.parentSpanContext.spanId, served.spanContext().spanId);
assert.equal(served.parentSpanContext.spanId, sent.spanContext().spanId);

// What Prometheus reads at /metrics: give `metrics.handler` to whatever serves that path.
const scraped = await (await metrics.handler(new Request("http://localhost/metrics"))).text();
assert.match(
  scraped,
  /mcp_server_operation_duration_seconds_count\{method="tools\/call",name="buy",error_type="tool_error".*\} 1/,
);

const events = audit.map((line) => JSON.parse(line)).filter(({ method }) => method === "tools/call");
assert.deepEqual(
  events.map(({ name, outcome }) => [name, outcome]),
  [
    ["buy", "complete"],
    ["buy", "tool-error"],
  ],
);
