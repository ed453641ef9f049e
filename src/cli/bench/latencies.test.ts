import { describe, expect, it } from "vitest";
import { createLatencies } from "./latencies.ts";

describe("createLatencies", () => {
  it("finds percentiles to within one percent", () => {
    const latencies = createLatencies();
    for (let ms = 1000; ms >= 1; ms--) latencies.add(ms);
    expect(latencies).toMatchObject({ count: 1000, meanMs: 500.5, minMs: 1, maxMs: 1000 });
    for (const part of [0.5, 0.9, 0.99]) {
      const found = latencies.percentile(part);
      expect(Math.abs(found / (part * 1000) - 1)).toBeLessThan(0.011);
    }
    expect(latencies.percentile(1)).toBe(1000);
  });

  it("says nothing of no calls, and copes with the longest and the shortest", () => {
    const latencies = createLatencies();
    expect([latencies.percentile(0.5), latencies.meanMs, latencies.minMs]).toEqual([0, 0, 0]);
    latencies.add(0);
    latencies.add(1e9);
    expect(latencies.percentile(0.5)).toBeLessThanOrEqual(0.0011);
    expect(latencies.maxMs).toBe(1e9);
  });
});
