import { describe, expect, it } from "vitest";
import { weightOf } from "./weight.ts";

describe("weightOf", () => {
  it("counts texts by their length, names too", () => {
    const bare = weightOf({ a: "" });
    expect(weightOf({ a: "x".repeat(1000) }) - bare).toBe(1000);
    expect(weightOf({ ["a".repeat(1000)]: "" }) - bare).toBe(999);
  });

  it("counts every value, so that many small ones weigh more than their text", () => {
    const many = Array.from({ length: 1000 }, () => ({}));
    expect(weightOf(many)).toBeGreaterThan(5 * JSON.stringify(many).length);
  });

  it.each([null, true, 0, "", [], {}])("takes %j", (value) => {
    expect(weightOf(value)).toBeGreaterThan(0);
  });

  it("goes through what is nested deeply", () => {
    let value: [] | [unknown] = [];
    for (let depth = 0; depth < 100_000; depth++) value = [value];
    expect(weightOf(value as [])).toBeGreaterThan(100_000);
  });
});
