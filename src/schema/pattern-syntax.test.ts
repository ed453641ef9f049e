import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type CharSet,
  charSet,
  classEscapes,
  complement,
  dot,
  intersection,
  overlap,
  parsePattern,
  propertySet,
} from "./pattern-syntax.ts";

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

const code = fc.integer({ min: 0, max: 40 });
const set = fc
  .array(fc.tuple(code, code), { maxLength: 5 })
  .map((ranges) => charSet(ranges.map(([a, b]): [number, number] => [Math.min(a, b), Math.max(a, b)])));

const has = (chars: CharSet, one: number): boolean => chars.some(([from, to]) => from <= one && one <= to);

describe("char sets", () => {
  it("are sorted and have gaps between their ranges", () => {
    fc.assert(
      fc.property(set, (chars) => {
        for (const [index, [from]] of chars.slice(1).entries()) {
          expect(from).toBeGreaterThan((chars[index]?.[1] ?? 0) + 1);
        }
      }),
    );
  });

  it("obey the laws of sets", () => {
    fc.assert(
      fc.property(set, set, code, (a, b, one) => {
        expect(has(complement(a), one)).toBe(!has(a, one));
        expect(has(intersection(a, b), one)).toBe(has(a, one) && has(b, one));
        expect(overlap(a, b)).toBe(intersection(a, b).length > 0);
      }),
    );
  });

  it.each([...classEscapes].map(([letter, chars]): [string, CharSet] => [`\\${letter}`, chars]).concat([[".", dot]]))(
    "knows what %s matches",
    (source, chars) => {
      const expression = new RegExp(`^${source}$`, "u");
      for (let one = 0; one <= 0xffff; one++) {
        if (has(chars, one) !== expression.test(String.fromCharCode(one))) expect.fail(`U+${one.toString(16)}`);
      }
    },
  );

  it("takes property escapes for at least what they match", () => {
    const letters = propertySet("\\p{L}");
    for (const letter of "azAZéжλ") expect(has(letters, letter.codePointAt(0) ?? 0)).toBe(true);
    for (const other of " -_0") expect(has(letters, other.codePointAt(0) ?? 0)).toBe(false);
  });
});
