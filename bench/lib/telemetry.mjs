import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { published } from "./published.mjs";

/** What can hear of the calls of a server: each of these, set up as in production, but sending nothing anywhere. */
export const telemetries = {
  async otel() {
    const { otel } = await published("plugbay/otel");
    context.setGlobalContextManager(new AsyncLocalStorageContextManager());
    const exporter = { export: (_, done) => done({ code: 0 }), shutdown: async () => {}, forceFlush: async () => {} };
    const traces = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
    const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const meters = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter: metrics })] });
    return { telemetry: otel({ tracer: traces.getTracer("bench"), meter: meters.getMeter("bench") }) };
  },
  async metrics() {
    const { createMetrics } = await published("plugbay/metrics");
    return { telemetry: createMetrics() };
  },
  async events() {
    return { onEvent: () => {} };
  },
};
