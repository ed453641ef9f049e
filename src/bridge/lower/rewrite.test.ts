import { describe, expect, it } from "vitest";
import { isPortablePattern } from "./rewrite.ts";

describe("isPortablePattern", () => {
  it.each(["^[a-z0-9_-]+$", "\\d{3}\\.\\w*\\s", "(?:a|b)+", "\\\\p", "a\\/b\\-c", "[^\\]]", "\\x41", "\\\\\\d", "é"])(
    "is true for %s",
    (pattern) => {
      expect(isPortablePattern(pattern)).toBe(true);
    },
  );

  it.each([
    "^(?!a)",
    "(?<=a)b",
    "(?<name>a)",
    "\\p{L}",
    "\\P{Lu}",
    "(a)\\1",
    "\\u{1F600}",
    "\\u0041",
    "\\cJ",
    "[^]",
    "\\k<a>",
    "\\\\\\p{L}",
  ])("is false for %s", (pattern) => {
    expect(isPortablePattern(pattern)).toBe(false);
  });
});
