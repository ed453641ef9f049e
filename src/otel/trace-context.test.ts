import { propagation, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json/json.ts";
import { readTrace, writeTrace } from "./trace-context.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const traceparent = `00-${traceId}-${spanId}-01`;

const read = (meta: JsonObject) => readTrace(ROOT_CONTEXT, (key) => meta[key]);

describe("a trace in _meta", () => {
  it("goes through as it came, in place of an older one", () => {
    const meta = { traceparent, tracestate: "a=1,b=2", baggage: "tenant=blue%2C%20ltd,user=ann;ttl=5" };
    expect(writeTrace(read(meta), { other: 1, baggage: "x=1" })).toEqual({ other: 1, ...meta });
    expect(writeTrace(read({ traceparent }), { ...meta, other: 1 })).toEqual({ other: 1, traceparent });
  });

  it("is written only where there is a span", () => {
    expect(writeTrace(ROOT_CONTEXT, { traceparent })).toBeUndefined();
    expect(writeTrace(read({ baggage: "a=1" }), {})).toBeUndefined();
  });

  it.each([
    ["no text", 7],
    ["another shape", "00-1-2-01"],
    ["upper case", traceparent.toUpperCase()],
    ["the version that is forbidden", traceparent.replace(/^00/, "ff")],
    ["more fields than its version has", `${traceparent}-more`],
    ["a trace of zeros", `00-${"0".repeat(32)}-${spanId}-01`],
    ["a span of zeros", `00-${traceId}-${"0".repeat(16)}-01`],
    ["a text of any length", `01${traceparent.slice(2)}-${"x".repeat(10_000)}`],
  ])("is not read from %s", (_what, broken) => {
    expect(trace.getSpanContext(read({ traceparent: broken }))).toBeUndefined();
  });

  it("of a later version may have more fields", () => {
    const context = read({ traceparent: `01${traceparent.slice(2)}-more` });
    expect(trace.getSpanContext(context)).toMatchObject({ traceId, spanId, traceFlags: 1, isRemote: true });
  });

  it("has baggage within the limits of W3C, and what is not encoded is left out", () => {
    const entries = (baggage: string) => propagation.getBaggage(read({ baggage }))?.getAllEntries();
    expect(entries("a=1,b,=c,d=%ZZ, e = 2 ")?.map(([key, { value }]) => [key, value])).toEqual([
      ["a", "1"],
      ["e", "2"],
    ]);
    expect(entries(`a=${"x".repeat(9_000)}`)).toBeUndefined();
    const many = Array.from({ length: 500 }, (_, index) => `k${index}=1`).join(",");
    expect(entries(many)).toHaveLength(180);
    const large = propagation.createBaggage(
      Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, { value: "x".repeat(100) }])),
    );
    const written = writeTrace(propagation.setBaggage(read({ traceparent }), large), {})?.baggage;
    expect(String(written).length).toBeLessThanOrEqual(8_192);
    expect(entries(String(written))?.length).toBeGreaterThan(50);
  });
});
