import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { visible, visibleJson } from "./format-lock-diff.ts";

describe("visible", () => {
  it.each([
    ["zero width space", "a\u200bb", "a\\u{200b}b"],
    ["zero width joiner", "\u200d", "\\u{200d}"],
    ["soft hyphen", "a\u00adb", "a\\u{ad}b"],
    ["byte order mark", "\ufeffa", "\\u{feff}a"],
    ["right-to-left override", "\u202eevil\u202c", "\\u{202e}evil\\u{202c}"],
    ["isolates", "\u2066x\u2069", "\\u{2066}x\\u{2069}"],
    ["tag letters", "\u{e0041}\u{e007f}", "\\u{e0041}\\u{e007f}"],
    ["variation selectors", "a\ufe0f\u{e0100}", "a\\u{fe0f}\\u{e0100}"],
    ["Hangul filler", "\u3164\u115f", "\\u{3164}\\u{115f}"],
    ["blank braille", "\u2800", "\\u{2800}"],
    ["no-break space", "a\u00a0b\u3000", "a\\u{a0}b\\u{3000}"],
    ["line separator", "a\u2028b", "a\\u{2028}b"],
    ["escape sequences", "\u001b[2Ka\rb\tc\u009b", "\\u{1b}[2Ka\\u{d}b\\u{9}c\\u{9b}"],
    ["half a character", "\ud800", "\\u{d800}"],
    ["private use", "\ue000", "\\u{e000}"],
  ])("shows %s", (_, text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  it.each(["plain text, (with) signs!", "Größe", "搜索文件", "ファイル", "مرحبا", "हिन्दी", "🚀 e\u0301"])(
    "leaves %s alone",
    (text) => {
      expect(visible(text)).toBe(text);
    },
  );
});

describe("visibleJson", () => {
  const units = [
    "a",
    " ",
    '"',
    "\\",
    "\n",
    "\u007f",
    "é",
    "🚀",
    "\u200b",
    "\u202e",
    "\u2028",
    "\ufeff",
    "\u{e0041}",
    "\ud800",
  ];
  const texts = fc.string({ unit: fc.constantFrom(...units) });

  it("keeps the value, and shows what is in it", () => {
    fc.assert(
      fc.property(fc.dictionary(texts, fc.array(texts)), (value) => {
        const text = JSON.stringify(value, undefined, 2);
        const shown = visibleJson(text);
        expect(JSON.parse(shown)).toEqual(JSON.parse(text));
        expect(visible(shown.replaceAll("\n", ""))).toBe(shown.replaceAll("\n", ""));
      }),
    );
  });
});
