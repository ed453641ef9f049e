import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePattern } from "./pattern-syntax.ts";

/** The set of a pattern that is one character. */
function setOf(source: string): (code: number) => boolean {
  const parsed = parsePattern(source);
  const [node] = parsed.ok && parsed.value.kind === "sequence" ? parsed.value.items : [];
  if (node?.kind !== "chars") throw new Error(`${source} is more than a character`);
  return (code) => node.set.some(([from, to]) => from <= code && code <= to);
}

describe("parsePattern", () => {
  it.each([
    "a",
    String.raw`\n`,
    String.raw`\0`,
    String.raw`\cJ`,
    String.raw`\x41`,
    String.raw`\u0041`,
    String.raw`\u{41}`,
    String.raw`\uD83D\uDE00`,
    "😀",
    String.raw`\.`,
    String.raw`\/`,
    ".",
    String.raw`\d`,
    String.raw`\W`,
    "[]",
    "[^]",
    "[a-z]",
    "[^a-z]",
    String.raw`[\d_-]`,
    String.raw`[\]\\^-]`,
    "[-a]",
    String.raw`[\b]`,
    String.raw`[\x41-\u{5A}]`,
    String.raw`[^\s\S]`,
    String.raw`[\uD83D\uDE00-\u{1F610}]`,
    "[.*+?]",
  ])("reads the character %s", (source) => {
    const matches = setOf(source);
    const expression = new RegExp(`^${source}$`, "u");
    for (const code of [...Array(0x300).keys(), 0x2028, 0x1f600, 0x1f605, 0x1f610, 0x10ffff]) {
      if (matches(code) !== expression.test(String.fromCodePoint(code))) expect.fail(`U+${code.toString(16)}`);
    }
  });

  it("reads any class", () => {
    const item = fc.constantFrom(
      "a",
      "f-k",
      "0-9",
      String.raw`\d`,
      String.raw`\s`,
      String.raw`\x2d`,
      "^",
      "]".replace("]", String.raw`\]`),
    );
    fc.assert(
      fc.property(fc.array(item, { minLength: 1, maxLength: 5 }), fc.boolean(), (items, negated) => {
        const source = `[${negated ? "^" : ""}a${items.join("")}]`;
        const matches = setOf(source);
        const expression = new RegExp(source, "u");
        for (let code = 0; code < 0x100; code++)
          expect(matches(code)).toBe(expression.test(String.fromCodePoint(code)));
      }),
    );
  });

  it.each([
    ["a*", 0, Infinity],
    ["a+?", 1, Infinity],
    ["a?", 0, 1],
    ["a{3}", 3, 3],
    ["a{3,}", 3, Infinity],
    ["a{3,5}?", 3, 5],
  ])("reads the quantifier of %s", (source, min, max) => {
    expect(parsePattern(source)).toMatchObject({
      ok: true,
      value: { items: [{ kind: "repeat", min, max, source }] },
    });
  });

  it.each(["(?:a)", "(a)", "(?<name>a)"])("reads the group %s", (source) => {
    expect(parsePattern(source)).toMatchObject({ ok: true, value: { items: [{ items: [{ kind: "chars" }] }] } });
  });

  it.each(["(?=a)", "(?!a)", "(?<=a)", "(?<!a)"])("reads the look around %s", (source) => {
    expect(parsePattern(source)).toMatchObject({ ok: true, value: { items: [{ kind: "look" }] } });
  });

  it("refuses modifiers, which change what characters mean", () => {
    expect(parsePattern("(?i:a)")).toEqual({ ok: false, problem: expect.stringContaining("(?i:") });
  });
});
