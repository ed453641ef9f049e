import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findHiddenText, hiddenCharactersIn } from "./hidden-text.ts";

describe("hiddenCharactersIn", () => {
  it.each([
    ["zero width space", "a\u200bb", ["U+200B"]],
    ["right-to-left override", "\u202eevil\u202c", ["U+202E", "U+202C"]],
    ["isolates", "\u2066x\u2069", ["U+2066", "U+2069"]],
    ["tag letters", "a\u{e0041}\u{e007f}", ["U+E0041", "U+E007F"]],
    ["variation selectors that hide data", "a\ufe00\u{e0100}", ["U+FE00", "U+E0100"]],
    ["escape sequences of terminals", "\u001b[2Ka\u009b", ["U+001B", "U+009B"]],
    ["backspace and bell", "ab\b\u0007", ["U+0008", "U+0007"]],
    ["Hangul filler", "\u3164", ["U+3164"]],
    ["blank braille", "\u2800", ["U+2800"]],
    ["byte order mark", "\ufeffa", ["U+FEFF"]],
    ["line separator", "a\u2028b", ["U+2028"]],
    ["private use", "\ue000", ["U+E000"]],
    ["half a character", "\ud800", ["U+D800"]],
    ["joiner between Latin letters", "a\u200db", ["U+200D"]],
    ["joiner that joins nothing", "a \u200d b", ["U+200D"]],
  ])("finds %s", (_, text, characters) => {
    expect(hiddenCharactersIn(text)).toEqual(characters);
  });

  it.each([
    "plain text,\n\twith (signs)!\r\n",
    "Größe",
    "10\u00a0000 €",
    "全角\u3000空白",
    "搜索文件",
    "مرحبا",
    "می\u200cخواهم",
    "क्\u200dष",
    "👩\u200d💻 ❤\ufe0f 🏳\ufe0f\u200d🌈 👍🏽 1\ufe0f\u20e3",
    "e\u0301",
  ])("leaves %j alone", (text) => {
    expect(hiddenCharactersIn(text)).toEqual([]);
  });

  it("names a few of many", () => {
    const text = Array.from({ length: 100 }, (_, index) => String.fromCodePoint(0xe0020 + index)).join("");
    expect(hiddenCharactersIn(text)).toHaveLength(16);
  });
});

describe("findHiddenText", () => {
  it("tells where it is, in values and names of members", () => {
    const value = {
      description: "a\u200bb",
      inputSchema: { properties: { "q\u202e": { enum: ["fine", "\u001b[0m"] } } },
    };
    expect(findHiddenText(value)).toEqual([
      { at: "description", characters: ["U+200B"] },
      { at: "inputSchema.properties.q", characters: ["U+202E"] },
      { at: "inputSchema.properties.q.enum[1]", characters: ["U+001B"] },
    ]);
  });

  it("finds nothing in values of printable text, and is bounded", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const printable = JSON.parse(JSON.stringify(value).replaceAll(/[^\x20-\x7e]|\\u.{4}|\\[bfnrt]/g, "x"));
        expect(findHiddenText(printable)).toEqual([]);
      }),
    );
    expect(findHiddenText(Array(1000).fill("\u200b"))).toHaveLength(64);
  });
});
