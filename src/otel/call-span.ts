import {
  type Context,
  context as contexts,
  type Link,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { JsonObject } from "../json/json.ts";
import type { LabelCall } from "../protocol/call-labels.ts";
import { type CallStatus, callStatus } from "../protocol/codec/call-status.ts";
import type { Outcome } from "../protocol/service.ts";
import type { CallEnding, CallObservation, ObservedCall } from "../protocol/telemetry.ts";
import { redact } from "../std/redact.ts";
import { maskText } from "../std/secrets.ts";
import { callAttributes, describeCall, metricAttributes } from "./attributes.ts";
import type { Instruments } from "./instruments.ts";
import { readTrace, writeTrace } from "./trace-context.ts";

/** What all spans of one `otel()` share. */
export interface SpanParts {
  readonly tracer: Tracer;
  readonly instruments: Instruments;
  readonly labels: LabelCall;
  readonly recordArguments: boolean;
  readonly recordResults: boolean;
}

/** Observes a call by a span, which is the parent of whatever the call leads to. */
export function observeBySpan(call: ObservedCall, parts: SpanParts): CallObservation {
  return call.side === "server" ? serve(call, parts) : send(call, parts);
}

/** The caller's span is the parent. A span that is open here, such as that of the HTTP request, is linked. */
function serve(call: ObservedCall, parts: SpanParts): CallObservation {
  const ambient = contexts.active();
  const parent = readTrace(ambient, (key) => call.meta[key]);
  const span = startSpan(call, parts, parent, linkTo(ambient, parent));
  return new SpanObservation(call, parts, { span, isOwn: true, context: trace.setSpan(parent, span) });
}

/** What is open here is the parent, else what the call carries already: a host hands on calls of others. */
function send(call: ObservedCall, parts: SpanParts): CallObservation {
  const ambient = contexts.active();
  const open = trace.getSpan(ambient);
  if (open !== undefined && isSpanOfTool(open, call)) {
    open.setAttribute("mcp.method.name", call.method);
    describeCall(open, call);
    return new SpanObservation(call, parts, { span: open, isOwn: false, context: ambient });
  }
  const parent = open === undefined ? readTrace(ambient, (key) => call.meta[key]) : ambient;
  const span = startSpan(call, parts, parent);
  return new SpanObservation(call, parts, { span, isOwn: true, context: trace.setSpan(parent, span) });
}

function startSpan(call: ObservedCall, { tracer, recordArguments }: SpanParts, parent: Context, links?: Link[]): Span {
  const { method, name, params, side } = call;
  const attributes = callAttributes(method, name);
  const kind = side === "server" ? SpanKind.SERVER : SpanKind.CLIENT;
  const options: SpanOptions = links === undefined ? { kind, attributes } : { kind, attributes, links };
  // A URI is not in the name: there may be any number of them.
  const span = tracer.startSpan(name === undefined ? method : `${method} ${name}`, options, parent);
  if (!span.isRecording()) return span;
  describeCall(span, call);
  if (recordArguments && method === "tools/call" && "arguments" in params) {
    span.setAttribute("gen_ai.tool.call.arguments", recorded(params.arguments));
  }
  return span;
}

/** In one process the caller's span may be both. */
function linkTo(ambient: Context, parent: Context): Link[] | undefined {
  const open = trace.getSpanContext(ambient);
  if (ambient === parent || open === undefined) return undefined;
  return open.spanId === trace.getSpanContext(parent)?.spanId ? undefined : [{ context: open }];
}

/**
 * True where somebody who runs tools for a model has opened a span for this
 * very call: it gets the attributes, and the call no second span. What only
 * the SDK has, the attributes of a span, are looked at where they are.
 */
function isSpanOfTool(span: Span, { method, name }: ObservedCall): boolean {
  if (method !== "tools/call" || name === undefined || !("attributes" in span)) return false;
  const attributes = span.attributes as Readonly<Record<string, unknown>> | undefined;
  const tool = attributes?.["gen_ai.tool.name"];
  const isRunning = attributes?.["gen_ai.operation.name"] === "execute_tool";
  return isRunning && attributes["mcp.method.name"] === undefined && typeof tool === "string" && isNameOf(tool, name);
}

/** Programs qualify names of tools in front: `shop__buy`, `shop.buy`, `shop/buy`. */
function isNameOf(qualified: string, name: string): boolean {
  if (!qualified.endsWith(name)) return false;
  const before = qualified.at(-name.length - 1);
  return before === undefined || /[^\p{L}\p{N}]/u.test(before);
}

interface ObservedSpan {
  readonly span: Span;
  /** False for one that somebody else has opened, and ends. */
  readonly isOwn: boolean;
  readonly context: Context;
}

/** One call and its span. A class, for every call has one. */
class SpanObservation implements CallObservation {
  readonly meta: JsonObject | undefined;
  readonly #call: ObservedCall;
  readonly #parts: SpanParts;
  readonly #observed: ObservedSpan;

  constructor(call: ObservedCall, parts: SpanParts, observed: ObservedSpan) {
    this.#call = call;
    this.#parts = parts;
    this.#observed = observed;
    this.meta = call.side === "client" ? writeTrace(observed.context, call.meta) : undefined;
  }

  run<T>(work: () => T): T {
    return contexts.with(this.#observed.context, work);
  }

  end(ending: CallEnding): void {
    const { span, isOwn, context } = this.#observed;
    const { side } = this.#call;
    const { instruments, labels } = this.#parts;
    const status = callStatus(side, ending);
    const attributes = metricAttributes(this.#call, labels(this.#call, ending), status);
    if (span.isRecording()) this.#tell(span, status, ending);
    if (isOwn) span.end();
    instruments.operation(side, ending.durationMs, attributes, context);
  }

  #tell(span: Span, status: CallStatus, { outcome, error }: CallEnding): void {
    const { side, rpcId } = this.#call;
    // Of a call that goes out, the id is known only now.
    if (side === "client" && rpcId !== undefined) span.setAttribute("jsonrpc.request.id", String(rpcId));
    if (status.rpcCode !== undefined) span.setAttribute("rpc.response.status_code", status.rpcCode);
    if (status.errorType !== undefined) span.setAttribute("error.type", status.errorType);
    if (status.errorType !== undefined && this.#observed.isOwn) {
      const message = outcome?.kind === "failed" ? maskText(outcome.failure.message) : undefined;
      span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) });
      if (error !== undefined) span.recordException(exceptionOf(error));
    }
    const result = this.#parts.recordResults ? resultOf(outcome) : undefined;
    if (result !== undefined) span.setAttribute("gen_ai.tool.call.result", recorded(result));
  }
}

/** Traces are read by more people than the logs of a server: what looks like a secret is hidden. */
function exceptionOf(error: unknown): { name: string; message: string; stack?: string } {
  if (!(error instanceof Error)) return { name: typeof error, message: maskText(String(error)) };
  const { name, message, stack } = error;
  return { name, message: maskText(message), ...(stack !== undefined && { stack: maskText(stack) }) };
}

function resultOf(outcome: Outcome | undefined): unknown {
  if (outcome?.kind !== "complete" || !("content" in outcome.result)) return undefined;
  return outcome.result.structuredContent ?? outcome.result.content;
}

/** A value as JSON, cut where it is long. Members that look like credentials are hidden. */
function recorded(value: unknown): string {
  const text = JSON.stringify(redact(value)) ?? "null";
  return text.length > MAX_RECORDED_CHARS ? `${text.slice(0, MAX_RECORDED_CHARS)}…` : text;
}

const MAX_RECORDED_CHARS = 16_384;
