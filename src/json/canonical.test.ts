import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalText } from "./canonical.ts";
import type { Json, JsonObject } from "./json.ts";

/** The same value with its members in another order. */
function reversed(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => reversed(item));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value as JsonObject).reverse();
  return Object.fromEntries(members.map(([key, member]) => [key, reversed(member ?? null)]));
}

describe("canonicalText", () => {
  it.each<[Json | undefined, string]>([
    [undefined, "null"],
    [null, "null"],
    [[], "[]"],
    [{}, "{}"],
    [{ b: 1, a: [true, "x"] }, '{"a":[true,"x"],"b":1}'],
    [{ b: undefined, a: undefined }, "{}"],
    [{ B: 1, a: 2, A: 3, "": 4 }, '{"":4,"A":3,"B":1,"a":2}'],
    [{ "10": 1, "9": 2 }, '{"10":1,"9":2}'],
    ['"\n\ud800', '"\\"\\n\\ud800"'],
    [JSON.parse('{"__proto__":1}'), '{"__proto__":1}'],
  ])("of %j", (value, text) => {
    expect(canonicalText(value)).toBe(text);
  });

  it("is JSON of the same value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(canonicalText(value as Json))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("is the same however the members are ordered", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalText(reversed(value as Json))).toBe(canonicalText(value as Json));
      }),
    );
  });

  it("differs for values that differ", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const same = canonicalText(a as Json) === canonicalText(b as Json);
        const [left, right] = [a, b].map((value) => JSON.parse(JSON.stringify(value)));
        if (same) expect(left).toEqual(right);
        else expect(left).not.toEqual(right);
      }),
    );
  });
});
