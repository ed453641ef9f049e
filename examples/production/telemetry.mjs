// Sets up OpenTelemetry; loaded before everything that makes spans. Spans are printed, one
// a line. In production an exporter sends them to a collector: replace `printSpans`.
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";

const kinds = ["internal", "server", "client", "producer", "consumer"];

const printSpans = {
  export(spans, done) {
    for (const span of spans) {
      const { traceId, spanId } = span.spanContext();
      const parentId = span.parentSpanContext?.spanId;
      const [seconds, nanoseconds] = span.duration;
      const durationMs = Math.round(seconds * 1e3 + nanoseconds / 1e6);
      const line = { kind: "span", name: span.name, span: kinds[span.kind], traceId, spanId, parentId, durationMs };
      process.stdout.write(`${JSON.stringify(line)}\n`);
    }
    done({ code: 0 });
  },
  shutdown: async () => {},
};

context.setGlobalContextManager(new AsyncLocalStorageContextManager());
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(printSpans)] }));
