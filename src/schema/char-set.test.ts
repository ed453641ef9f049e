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
  propertySet,
} from "./pattern-syntax.ts";

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
