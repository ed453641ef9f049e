import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatLocation, locator } from "./problem.ts";

describe("locator", () => {
  it("counts lines and columns from 1, whichever way lines end", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "\n", "\r", "\r\n", "é", "😀") });
    fc.assert(
      fc.property(text, fc.nat(), (whole, seed) => {
        const offset = seed % (whole.length + 1);
        // Not between the two characters that end a line together.
        fc.pre(whole.slice(offset - 1, offset + 1) !== "\r\n");
        const lines = whole.slice(0, offset).split(/\r\n|\r|\n/);
        const column = (lines.at(-1)?.length ?? 0) + 1;
        expect(locator("f", whole)(offset)).toEqual({ path: "f", line: lines.length, column });
      }),
    );
  });
});

describe("formatLocation", () => {
  it.each([
    [{ path: "a.json", line: 3, column: 5 }, "a.json:3:5"],
    [{ path: "a.json", line: 3 }, "a.json:3:1"],
    [{ path: "config" }, "config"],
  ])("%j is %s", (place, text) => {
    expect(formatLocation(place)).toBe(text);
  });
});
