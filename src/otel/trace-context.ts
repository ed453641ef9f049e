import {
  type Baggage,
  baggageEntryMetadataFromString,
  type Context,
  createTraceState,
  isSpanContextValid,
  propagation,
  type SpanContext,
  trace,
} from "@opentelemetry/api";
import type { JsonObject } from "../json/json.ts";

/** The keys of `_meta` that carry a trace from one program to the next, written as W3C Trace Context and Baggage write them. */
const keys = ["traceparent", "tracestate", "baggage"] as const;

/** Reads one of the keys, wherever it is carried. */
type Read = (key: (typeof keys)[number]) => unknown;

/** The context with the span and the baggage that another program has sent; the given one when it sent none that can be read. */
export function readTrace(context: Context, read: Read): Context {
  const baggage = parseBaggage(read("baggage"));
  const carried = baggage === undefined ? context : propagation.setBaggage(context, baggage);
  const parent = parseTraceParent(read("traceparent"));
  if (parent === undefined) return carried;
  const state = read("tracestate");
  const isUsable = typeof state === "string" && state !== "" && state.length <= MAX_STATE_CHARS;
  return trace.setSpanContext(carried, isUsable ? { ...parent, traceState: createTraceState(state) } : parent);
}

/** `_meta` that carries the span and the baggage of a context, in place of those it carried. Undefined when there is no span. */
export function writeTrace(context: Context, meta: JsonObject): JsonObject | undefined {
  const span = trace.getSpanContext(context);
  if (span === undefined || !isSpanContextValid(span)) return undefined;
  const { traceparent: _, tracestate: __, baggage: ___, ...rest } = meta;
  const flags = (span.traceFlags & 0xff).toString(16).padStart(2, "0");
  const state = span.traceState?.serialize() ?? "";
  const baggage = formatBaggage(propagation.getBaggage(context));
  return {
    ...rest,
    traceparent: `00-${span.traceId}-${span.spanId}-${flags}`,
    ...(state !== "" && { tracestate: state }),
    ...(baggage !== "" && { baggage }),
  };
}

const MAX_STATE_CHARS = 512;

/** Versions after the first may have more fields at the end. */
const traceParent = /^(?!ff)([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

function parseTraceParent(text: unknown): SpanContext | undefined {
  if (typeof text !== "string" || text.length > MAX_STATE_CHARS) return undefined;
  const [, version, traceId, spanId, flags, rest] = traceParent.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === "00" && rest !== undefined) return undefined;
  const parent: SpanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(parent) ? parent : undefined;
}

/** The limits of W3C Baggage: what is longer is not read, and members too many are left out. */
const MAX_BAGGAGE_CHARS = 8_192;
const MAX_BAGGAGE_MEMBERS = 180;

function parseBaggage(text: unknown): Baggage | undefined {
  if (typeof text !== "string" || text === "" || text.length > MAX_BAGGAGE_CHARS) return undefined;
  const entries = text.split(",").slice(0, MAX_BAGGAGE_MEMBERS).flatMap(parseMember);
  return entries.length === 0 ? undefined : propagation.createBaggage(Object.fromEntries(entries));
}

type Entry = Parameters<Baggage["setEntry"]>[1];

function parseMember(member: string): readonly (readonly [string, Entry])[] {
  const [pair = "", ...properties] = member.split(";");
  const equals = pair.indexOf("=");
  if (equals < 1) return [];
  const metadata = properties.length === 0 ? undefined : baggageEntryMetadataFromString(properties.join(";"));
  try {
    const key = decodeURIComponent(pair.slice(0, equals).trim());
    const value = decodeURIComponent(pair.slice(equals + 1).trim());
    return [[key, { value, ...(metadata && { metadata }) }]];
  } catch {
    return []; // Not encoded as it has to be.
  }
}

function formatBaggage(baggage: Baggage | undefined): string {
  const members = (baggage?.getAllEntries() ?? []).map(([key, { value, metadata }]) => {
    const properties = metadata?.toString() ?? "";
    return `${encodeURIComponent(key)}=${encodeURIComponent(value)}${properties === "" ? "" : `;${properties}`}`;
  });
  let text = "";
  for (const member of members.slice(0, MAX_BAGGAGE_MEMBERS)) {
    const longer = text === "" ? member : `${text},${member}`;
    if (longer.length <= MAX_BAGGAGE_CHARS) text = longer;
  }
  return text;
}
