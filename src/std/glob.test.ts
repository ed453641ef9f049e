import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toMatcher } from "./glob.ts";

describe("globs", () => {
  it.each([
    ["shop:buy", "shop:buy", true],
    ["shop:*", "shop:buy", true],
    ["*:delete_*", "fs:delete_file", true],
    ["*:delete_*", "fs:undelete_file", false],
    ["f?:x", "fs:x", true],
    ["f?:x", "f:x", false],
    ["**", "anything", true],
    ["a*b*c", "aXbYc", true],
    ["a*b*c", "aXbY", false],
    ["a.c", "abc", false],
    ["", "", true],
  ])("%s and %s", (glob, text, expected) => {
    expect(toMatcher([glob])(text)).toBe(expected);
  });

  it("match what a regular expression of the same meaning does", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", ":"), maxLength: 12 });
    const glob = fc.string({ unit: fc.constantFrom("a", "b", ":", "*", "?"), maxLength: 8 });
    fc.assert(
      fc.property(glob, text, (given, on) => {
        const pattern = new RegExp(`^${given.replaceAll("*", ".*").replaceAll("?", ".")}$`);
        expect(toMatcher([given])(on)).toBe(pattern.test(on));
      }),
    );
  });

  it("take bounded time, whatever the glob", () => {
    expect(toMatcher([`${"*a".repeat(200)}b`])("a".repeat(2_000))).toBe(false);
  });
});
