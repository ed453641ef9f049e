import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromBase64, fromBase64Url, toBase64, toBase64Url } from "./base64.ts";

const bytes = fc.uint8Array({ maxLength: 64 });

describe("base64", () => {
  it("is what the platform says", () => {
    fc.assert(
      fc.property(bytes, (value) => {
        expect(toBase64(value)).toBe(Buffer.from(value).toString("base64"));
        expect(toBase64Url(value)).toBe(Buffer.from(value).toString("base64url"));
      }),
    );
  });

  it("can be read back", () => {
    fc.assert(
      fc.property(bytes, (value) => {
        expect(fromBase64(toBase64(value))).toEqual(value);
        expect(fromBase64Url(toBase64Url(value))).toEqual(value);
      }),
    );
  });

  it.each([0x7ff, 0x800, 0x801, 0x1000, 1_000_001])("holds %d bytes", (length) => {
    const large = Buffer.from(Array.from({ length }, (_, index) => index * 7));
    expect(toBase64(large)).toBe(large.toString("base64"));
    expect(large.equals(fromBase64(toBase64(large)) ?? Buffer.of())).toBe(true);
  });

  it.each([
    ["", []],
    ["AA==", [0]],
    ["/+8=", [255, 239]],
    ["AP8Q", [0, 255, 16]],
  ])("reads %j", (text, expected) => {
    expect([...(fromBase64(text) ?? ["none"])]).toEqual(expected);
  });

  it.each([
    "A",
    "AA",
    "AAA",
    "AA=",
    "A===",
    "====",
    "=",
    "AA==AA==",
    "AA=A",
    "AP8Q\n",
    " AP8Q",
    "AP8-",
    "AP8_",
    "é===",
  ])("reads nothing from %j", (text) => {
    expect(fromBase64(text)).toBeUndefined();
  });

  it.each(["AB==", "AP9=", "//==", "AAB="])(
    "reads nothing from %j, which is another way to write the same bytes",
    (text) => {
      expect(fromBase64(text)).toBeUndefined();
    },
  );

  it.each(["A", "AAAAA", "AA==", "AB", "AP9", "a+b/", "a b", "AP8Q\n"])("for URLs reads nothing from %j", (text) => {
    expect(fromBase64Url(text)).toBeUndefined();
  });

  it("has one text for the same bytes: what can be read is what would be written", () => {
    const text = fc.oneof(fc.string(), fc.base64String(), fc.string({ unit: fc.constantFrom(..."Aa9+/-_=") }));
    fc.assert(
      fc.property(text, (value) => {
        const read = fromBase64(value);
        if (read !== undefined) expect(toBase64(read)).toBe(value);
        const readUrl = fromBase64Url(value);
        if (readUrl !== undefined) expect(toBase64Url(readUrl)).toBe(value);
      }),
      { numRuns: 1_000 },
    );
  });
});
