import { Gauge, Histogram, Registry } from "prom-client";
import { createLabels } from "../protocol/call-labels.ts";
import { callStatus } from "../protocol/codec/call-status.ts";
import { McpError } from "../protocol/errors.ts";
import { checkOptionNames, type OptionNames } from "../protocol/option-names.ts";
import type { CallEnding, ObservedCall, ObservedSide, Telemetry } from "../protocol/telemetry.ts";
import { systemClock } from "../std/clock.ts";

export interface MetricsOptions {
  /** Begins the name of every metric. Default `mcp_`. */
  readonly prefix?: string | undefined;
  /** Upper bounds of the buckets of durations, in seconds, ascending. Default: from 0.01 to 300. */
  readonly buckets?: readonly number[] | undefined;
}

const optionNames: OptionNames<MetricsOptions> = { prefix: true, buckets: true };

/** Figures of calls and sessions, for Prometheus. Give it to servers, clients and hosts as `telemetry`. */
export interface Metrics extends Telemetry {
  /** Answers a scrape: a route of `serveHttp`, or of any server that takes fetch handlers. Whoever reaches it can read it. */
  readonly handler: (request: Request) => Promise<Response>;
  /** All figures, as Prometheus reads them. */
  text(): Promise<string>;
}

/** The buckets of the conventions of OpenTelemetry for MCP. */
const defaultBuckets = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/**
 * Counts calls and sessions, for those without OpenTelemetry.
 *
 * @example
 * const metrics = createMetrics();
 * const shop = createServer({ name: "shop", version: "1.0.0", telemetry: metrics });
 * console.log(await metrics.text());
 */
export function createMetrics(options: MetricsOptions = {}): Metrics {
  checkOptionNames("createMetrics", options, optionNames);
  const { prefix = "mcp_", buckets = defaultBuckets } = options;
  check(prefix, buckets);
  const registry = new Registry();
  const sides = { server: createSide("server"), client: createSide("client") };
  const labels = createLabels();

  function createSide(side: ObservedSide): SideMetrics {
    const named = (name: string, help: string) => ({ name: `${prefix}${side}_${name}`, help, registers: [registry] });
    return {
      operations: new Histogram({
        ...named("operation_duration_seconds", `Duration of MCP requests, seen by the ${side}`),
        labelNames: ["method", "name", "error_type", "protocol_version", "transport"],
        buckets: [...buckets],
      }),
      sessions: new Histogram({
        ...named("session_duration_seconds", `Duration of MCP sessions, seen by the ${side}`),
        labelNames: ["protocol_version", "transport", "error_type"],
        buckets: [...buckets],
      }),
      openCalls: new Gauge(named("open_calls", `MCP requests that the ${side} has not ended`)),
      openStreams: new Gauge(named("open_streams", `MCP subscriptions that are open, seen by the ${side}`)),
      openSessions: new Gauge(named("open_sessions", `MCP sessions that are open, seen by the ${side}`)),
    };
  }

  const record = (call: ObservedCall, ending: CallEnding): void => {
    const { method, name = "" } = labels(call, ending);
    sides[call.side].operations.observe(
      {
        method,
        name,
        error_type: callStatus(call.side, ending).errorType ?? "",
        protocol_version: call.client.revision,
        transport: call.transport ?? "",
      },
      ending.durationMs / 1_000,
    );
  };

  const text = (): Promise<string> => registry.metrics();
  return {
    startCall(call) {
      const { openCalls, openStreams } = sides[call.side];
      const open = call.isOpen ? openStreams : openCalls;
      open.inc();
      return {
        end(ending) {
          open.dec();
          if (!call.isOpen) record(call, ending);
        },
      };
    },
    startSession({ side, revision, transport }) {
      const { openSessions, sessions } = sides[side];
      const startedAt = systemClock.now();
      openSessions.inc();
      return (error) => {
        openSessions.dec();
        const labels = { protocol_version: revision, transport: transport ?? "", error_type: codeOf(error) };
        sessions.observe(labels, (systemClock.now() - startedAt) / 1_000);
      };
    },
    text,
    async handler({ method }) {
      if (method !== "GET" && method !== "HEAD") return new Response(null, { status: 405, headers: { allow: "GET" } });
      const headers = { "content-type": registry.contentType, "cache-control": "no-store" };
      return new Response(method === "HEAD" ? null : await text(), { headers });
    },
  };
}

interface SideMetrics {
  readonly operations: Histogram<"method" | "name" | "error_type" | "protocol_version" | "transport">;
  readonly sessions: Histogram<"protocol_version" | "transport" | "error_type">;
  readonly openCalls: Gauge;
  readonly openStreams: Gauge;
  readonly openSessions: Gauge;
}

function codeOf(error: unknown): string {
  if (error === undefined) return "";
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "_OTHER";
}

function check(prefix: string, buckets: readonly number[]): void {
  if (!/^([a-zA-Z_:][\w:]*)?$/.test(prefix)) {
    throw new McpError(
      "invalid-definition",
      `the option prefix must begin a name of Prometheus, such as "mcp_", not "${prefix}"`,
    );
  }
  const isAscending = buckets.every((bound, index) => bound > (buckets[index - 1] ?? 0));
  if (buckets.length > 0 && isAscending) return;
  throw new McpError("invalid-definition", "the option buckets must be ascending numbers of seconds above 0");
}
