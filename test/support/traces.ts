import { context, type Meter, type Tracer } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { type DataPoint, type Histogram, MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, type ReadableSpan, type SpanProcessor } from "@opentelemetry/sdk-trace-base";

/** A real SDK that keeps everything in memory. */
export interface Traces {
  readonly tracer: Tracer;
  readonly meter: Meter;
  /** Spans that have ended, the first that began first. */
  spans(): readonly ReadableSpan[];
  /** What a histogram has recorded. */
  recorded(name: string): Promise<readonly DataPoint<Histogram>[]>;
}

/** Sets up an SDK. Contexts follow async work from now on. */
export function createTraces(): Traces {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  const begun: ReadableSpan[] = [];
  const provider = new BasicTracerProvider({ spanProcessors: [listOf(begun)] });
  const reader = new AskedReader();
  const meters = new MeterProvider({ readers: [reader] });

  return {
    tracer: provider.getTracer("test"),
    meter: meters.getMeter("test"),
    spans: () => begun.filter(({ ended }) => ended),
    async recorded(name) {
      const { resourceMetrics } = await reader.collect();
      const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
      return metrics.flatMap((metric) =>
        metric.descriptor.name === name ? (metric.dataPoints as DataPoint<Histogram>[]) : [],
      );
    },
  };
}

/** Keeps spans in the order in which they begin: their times are too coarse to tell. */
function listOf(begun: ReadableSpan[]): SpanProcessor {
  return {
    onStart: (span) => void begun.push(span),
    onEnd() {},
    forceFlush: async () => {},
    shutdown: async () => {},
  };
}

/** Collects when it is asked to. */
class AskedReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}

  protected override async onShutdown(): Promise<void> {}
}

/** A trace as lines, each below its parent: `  server tools/call add`. */
export function treeOf(spans: readonly ReadableSpan[]): readonly string[] {
  const ids = new Set(spans.map((span) => span.spanContext().spanId));
  const below = (parent: string | undefined, depth: number): readonly string[] =>
    spans
      .filter(({ parentSpanContext }) => {
        const id = parentSpanContext?.spanId;
        return parent === undefined ? id === undefined || !ids.has(id) : id === parent;
      })
      .flatMap((span) => [
        `${"  ".repeat(depth)}${kinds[span.kind]} ${span.name}`,
        ...below(span.spanContext().spanId, depth + 1),
      ]);
  return below(undefined, 0);
}

const kinds = ["internal", "server", "client", "producer", "consumer"];
