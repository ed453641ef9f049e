import { describe, expect, it } from "vitest";
import { startCpuTime } from "../../test/support/cpu-time.ts";
import { provePatterns } from "./pattern-cost.ts";

describe("provePatterns", () => {
  it("tells the worst case of each", () => {
    const patterns = new Map([
      ["^a$", "#/pattern"],
      [String.raw`^\d+\d+$`, "#/items/pattern"],
    ]);
    expect(provePatterns(patterns)).toEqual({
      ok: true,
      costs: new Map([
        ["^a$", expect.objectContaining({ degree: 0 })],
        [String.raw`^\d+\d+$`, expect.objectContaining({ degree: 2 })],
      ]),
    });
  });

  it("names the first that is not safe, and its place", () => {
    const patterns = new Map([
      ["^a$", "#/pattern"],
      ["(a|a)*", "#/patternProperties/(a|a)*"],
      ["(a+)+$", "#/items/pattern"],
    ]);
    expect(provePatterns(patterns)).toEqual({
      ok: false,
      problem: "#/patternProperties/(a|a)* cannot be used: (a|a)* can match the same text in exponentially many ways",
    });
  });

  it("proves the same patterns once", () => {
    const patterns = new Map([["^a$", "#/pattern"]]);
    expect(provePatterns(patterns)).toBe(provePatterns(patterns));
  });

  it("is quick with hostile patterns", () => {
    const hostile = Array.from({ length: 200 }, (_, index) => `${"(?:[ab]?[bc]?[cd]?)".repeat(40)}${index}`);
    const spent = startCpuTime();
    expect(provePatterns(new Map(hostile.map((source) => [source, "#"])))).toMatchObject({ ok: false });
    expect(spent()).toBeLessThan(10_000);
  });
});
