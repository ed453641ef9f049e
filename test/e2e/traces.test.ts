import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { context, propagation } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { afterEach, describe, expect, it } from "vitest";
import { type Model, runTools } from "../../src/agent/run-tools.ts";
import { connect } from "../../src/connect/connect.ts";
import { openHost } from "../../src/host/node/open-host.ts";
import { otel } from "../../src/otel/index.ts";
import type { Revision } from "../../src/protocol/revision.ts";
import { createServer, tool } from "../../src/server/index.ts";
import { serveHttp } from "../../src/transport/node/serve-http.ts";
import { createTraces, treeOf } from "../support/traces.ts";

afterEach(() => context.disable());

/** What a process tells of a span. */
interface ToldSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId?: string | undefined;
}

/** As much of a span as its place in a tree takes. */
function asSpan({ name, kind, traceId, spanId, parentId }: ToldSpan): ReadableSpan {
  const spanContext = { traceId, spanId, traceFlags: 1 };
  const parentSpanContext = parentId === undefined ? undefined : { traceId, spanId: parentId, traceFlags: 1 };
  return { name, kind, parentSpanContext, spanContext: () => spanContext } as unknown as ReadableSpan;
}

/** A server with telemetry in a process of its own, in front of the one at `behind`. */
async function startSpanning(revision: Revision, ...behind: readonly string[]) {
  const path = fileURLToPath(new URL("../fixtures/children/spanning-server.ts", import.meta.url));
  const child = fork(path, [revision, ...behind], { execArgv: ["--import", import.meta.resolve("tsx")] });
  const gone = once(child, "exit");
  const failed = gone.then(() => Promise.reject(new Error("the process has ended")));
  failed.catch(() => {});
  const said = async <T>(): Promise<T> => ((await Promise.race([once(child, "message"), failed])) as [T])[0];
  const { url } = await said<{ readonly url: string }>();
  return {
    url,
    report() {
      const told = said<{ readonly spans: readonly ToldSpan[]; readonly tenant?: string }>();
      child.send("report");
      return told;
    },
    async end() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}

/** Uses the tool, then answers. */
const model: Model = async ({ messages }) => {
  if (messages.length > 1) return "done";
  const use = { type: "tool_use", id: "1", name: "shop:buy", input: { sku: "A1" } } as const;
  return { role: "assistant", content: [use], model: "m", stopReason: "toolUse" };
};

describe.each(["2026-07-28", "2025-11-25"] satisfies Revision[])("a trace in revision %s", (revision) => {
  it("is one tree from an agent over its host and a server to the server behind that", async () => {
    const { tracer, meter, spans } = createTraces();
    const telemetry = otel({ tracer, meter });
    const baggage: unknown[] = [];
    const stock = createServer({
      name: "stock",
      version: "1",
      telemetry,
      tools: {
        take: tool({
          run: () => {
            baggage.push(propagation.getActiveBaggage()?.getEntry("tenant")?.value);
            return "taken";
          },
        }),
      },
    });
    await using behind = await serveHttp(stock, { port: 0 });
    await using upstream = await connect(behind.url, { revision, telemetry });
    const shop = createServer({
      name: "shop",
      version: "1",
      telemetry,
      tools: {
        buy: tool({
          input: { type: "object", properties: { sku: { type: "string" } } } as const,
          run: async () => {
            // What else the handler waits for does not lose the trace.
            await new Promise((resolve) => setImmediate(resolve));
            return tracer.startActiveSpan("reserve", async (span) => {
              const taken = await upstream.callTool("take");
              span.end();
              return taken.content;
            });
          },
        }),
      },
    });
    await using serving = await serveHttp(shop, { port: 0 });
    await using host = await openHost({ shop: { target: serving.url } }, { telemetry, connectOptions: { revision } });
    await host.settled();
    await host.listTools();
    const before = spans().length;

    const tenant = propagation.createBaggage({ tenant: { value: "blue, ltd" } });
    await context.with(propagation.setBaggage(context.active(), tenant), () =>
      tracer.startActiveSpan("invoke_agent", async (span) => {
        await runTools({ model, messages: "Buy A1", tools: host });
        span.end();
      }),
    );

    const trace = spans().slice(before);
    expect(treeOf(trace)).toEqual([
      "internal invoke_agent",
      "  client tools/call buy",
      "    server tools/call buy",
      "      internal reserve",
      "        client tools/call take",
      "          server tools/call take",
    ]);
    expect(new Set(trace.map((each) => each.spanContext().traceId)).size).toBe(1);
    expect(trace.flatMap(({ attributes }) => attributes["mcp.protocol.version"] ?? [])).toEqual(
      Array(4).fill(revision),
    );
    const sessions = trace.flatMap(({ attributes }) => attributes["mcp.session.id"] ?? []);
    expect(sessions).toHaveLength(revision === "2026-07-28" ? 0 : 2);
    expect(baggage).toEqual(["blue, ltd"]);
  });

  it("is one tree, and carries baggage, where each server is a process of its own", async () => {
    const stock = await startSpanning(revision);
    const shop = await startSpanning(revision, stock.url);
    try {
      const { tracer, spans } = createTraces();
      const telemetry = otel({ tracer });
      await using host = await openHost({ shop: { target: shop.url } }, { telemetry, connectOptions: { revision } });
      await host.settled();
      await host.listTools();
      const tenant = propagation.createBaggage({ tenant: { value: "blue, ltd" } });
      await context.with(propagation.setBaggage(context.active(), tenant), () =>
        tracer.startActiveSpan("invoke_agent", async (span) => {
          await runTools({ model, messages: "Buy A1", tools: host });
          span.end();
        }),
      );
      const here = spans().map((span) => {
        const { traceId, spanId } = span.spanContext();
        return { name: span.name, kind: span.kind, traceId, spanId, parentId: span.parentSpanContext?.spanId };
      });
      const [ofShop, ofStock] = [await shop.report(), await stock.report()];
      const [root] = here.filter(({ name }) => name === "invoke_agent");
      const trace = [...here, ...ofShop.spans, ...ofStock.spans].filter(({ traceId }) => traceId === root?.traceId);
      expect(treeOf(trace.map(asSpan))).toEqual([
        "internal invoke_agent",
        "  client tools/call buy",
        "    server tools/call buy",
        "      internal reserve",
        "        client tools/call take",
        "          server tools/call take",
      ]);
      expect(ofStock.tenant).toBe("blue, ltd");
    } finally {
      await Promise.all([shop.end(), stock.end()]);
    }
  });

  it("goes through a host that is served", async () => {
    const { tracer, spans } = createTraces();
    const telemetry = otel({ tracer });
    const shop = createServer({ name: "shop", version: "1", telemetry, tools: { buy: tool({ run: () => "bought" }) } });
    await using serving = await serveHttp(shop, { port: 0 });
    await using host = await openHost({ shop: { target: serving.url } }, { telemetry, connectOptions: { revision } });
    await using front = await serveHttp(host, { port: 0 });
    await using client = await connect(front.url, { telemetry, revision });
    const [listed] = await client.listTools();
    const before = spans().length;
    await client.callTool(listed?.name ?? "");
    expect(treeOf(spans().slice(before))).toEqual([
      "client tools/call shop__buy",
      "  server tools/call shop__buy",
      "    client tools/call buy",
      "      server tools/call buy",
    ]);
  });
});
