import { context, type Meter, type Tracer, trace } from "@opentelemetry/api";
import { createLabels } from "../protocol/call-labels.ts";
import { checkOptionNames, type OptionNames } from "../protocol/option-names.ts";
import { ownInfo } from "../protocol/own-info.ts";
import type { Telemetry } from "../protocol/telemetry.ts";
import { systemClock } from "../std/clock.ts";
import { sessionAttributes } from "./attributes.ts";
import { observeBySpan, type SpanParts } from "./call-span.ts";
import { createInstruments } from "./instruments.ts";

export interface OtelOptions {
  /**
   * True records the arguments of tools on their spans. Members that look like
   * credentials are hidden, but arguments are data of users. Default false.
   */
  readonly recordArguments?: boolean | undefined;
  /** True records the results of tools, like arguments. Default false. */
  readonly recordResults?: boolean | undefined;
  /** Starts spans. Default: a tracer of the global provider. */
  readonly tracer?: Tracer | undefined;
  /** Makes histograms. Default: a meter of the global provider. */
  readonly meter?: Meter | undefined;
}

const optionNames: OptionNames<OtelOptions> = { recordArguments: true, recordResults: true, tracer: true, meter: true };

/**
 * Spans and metrics of OpenTelemetry for calls, by its conventions for MCP:
 * give it to servers, clients and hosts as `telemetry`. Without an SDK that is
 * set up, nothing is recorded.
 */
export function otel(options: OtelOptions = {}): Telemetry {
  checkOptionNames("otel", options, optionNames);
  const { recordArguments = false, recordResults = false } = options;
  const instruments = createInstruments(options.meter);
  const tracer = options.tracer ?? trace.getTracer(ownInfo.name, ownInfo.version);
  const parts: SpanParts = { tracer, instruments, labels: createLabels(), recordArguments, recordResults };

  return {
    startCall: (call) => (call.isOpen ? undefined : observeBySpan(call, parts)),
    bind: (work) => context.bind(context.active(), work),
    startSession(session) {
      const startedAt = systemClock.now();
      return (error) =>
        instruments.session(session.side, systemClock.now() - startedAt, sessionAttributes(session, error));
    },
  };
}
