import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findPlaces, lineAndColumn, placeKey } from "./diff-lock.ts";

describe("findPlaces", () => {
  it("knows where members and elements begin", () => {
    const text = '{\n  "a": { "b\\u0063": [1, {"d": null}] },\n  "e": -1.5e3\n}\n';
    const { members, fault } = findPlaces(text);
    const placeOf = (...path: readonly string[]) => lineAndColumn(text, members.get(placeKey(path)) ?? -1);
    expect(placeOf("a")).toBe("2:3");
    expect(placeOf("a", "bc")).toBe("2:10");
    expect(placeOf("a", "bc", "1")).toBe("2:25");
    expect(placeOf("a", "bc", "1", "d")).toBe("2:26");
    expect(placeOf("e")).toBe("3:3");
    expect(fault).toBeUndefined();
  });

  it("sees a name that is there twice, at the second", () => {
    const { duplicate } = findPlaces('{"a": {"x": 1, "\\u0078": 2}, "b": {"x": 1}}');
    expect(duplicate).toEqual({ name: "x", at: 15 });
    expect(findPlaces('{"a": {"x": 1}, "b": {"x": 1}}').duplicate).toBeUndefined();
  });

  it.each([
    ["", 0],
    ["{", 1],
    ['{"a" 1}', 5],
    ["[1,]", 3],
    ['{"a": 1,}', 8],
    ["[1 2]", 3],
    ['["a\nb"]', 1],
    ["nul", 0],
    ["01", 1],
    ["{} x", 3],
    ["'a'", 0],
    ['["\\x"]', 1],
  ])("finds the fault of %j", (text, at) => {
    expect(findPlaces(text).fault).toBe(at);
  });

  it("takes what is JSON, and nothing else", () => {
    const texts = fc.oneof(
      fc.json(),
      fc.tuple(fc.json(), fc.nat(), fc.constantFrom(...'{}[]",:0e\\ \n')).map(([text, at, char]) => {
        const place = at % (text.length + 1);
        return text.slice(0, place) + char + text.slice(place);
      }),
    );
    fc.assert(
      fc.property(texts, (text) => {
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect(findPlaces(text).fault === undefined).toBe(isJson);
      }),
      { numRuns: 500 },
    );
  });

  it("survives any depth", () => {
    expect(findPlaces("[".repeat(100_000)).fault).toBeGreaterThan(0);
    expect(findPlaces('{"a":'.repeat(100_000)).fault).toBeGreaterThan(0);
  });
});
