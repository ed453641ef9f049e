import { type Attributes, type Context, type Histogram, type Meter, metrics } from "@opentelemetry/api";
import { ownInfo } from "../protocol/own-info.ts";
import type { ObservedSide } from "../protocol/telemetry.ts";

/** The histograms of one end. */
interface SideInstruments {
  readonly operations: Histogram;
  readonly sessions: Histogram;
}

/** Records what calls and sessions took. */
export interface Instruments {
  operation(side: ObservedSide, durationMs: number, attributes: Attributes, context: Context): void;
  session(side: ObservedSide, durationMs: number, attributes: Attributes): void;
}

/** The buckets of the conventions, in seconds. */
const explicitBucketBoundaries = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Instruments are made when they are first used: a program may register its meter provider after this was imported. */
export function createInstruments(meter: Meter | undefined): Instruments {
  const made = new Map<ObservedSide, SideInstruments>();

  const of = (side: ObservedSide): SideInstruments => {
    const known = made.get(side);
    if (known !== undefined) return known;
    const from = meter ?? metrics.getMeter(ownInfo.name, ownInfo.version);
    const histogram = (name: string, description: string): Histogram =>
      from.createHistogram(name, { description, unit: "s", advice: { explicitBucketBoundaries } });
    const instruments = {
      operations: histogram(`mcp.${side}.operation.duration`, `Duration of MCP requests, seen by the ${side}`),
      sessions: histogram(`mcp.${side}.session.duration`, `Duration of MCP sessions, seen by the ${side}`),
    };
    made.set(side, instruments);
    return instruments;
  };

  return {
    operation: (side, ms, attributes, context) => of(side).operations.record(ms / 1_000, attributes, context),
    session: (side, ms, attributes) => of(side).sessions.record(ms / 1_000, attributes),
  };
}
