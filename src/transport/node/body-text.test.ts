import fc from "fast-check";
import { expect, it } from "vitest";
import { takeText } from "./body-text.ts";

/** Cuts bytes into pieces of these lengths, again and again. */
function cut(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const length = lengths[n % lengths.length] ?? 1;
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}

const textOf = (pieces: Buffer[]): string | undefined =>
  takeText(
    pieces,
    pieces.reduce((size, piece) => size + piece.length, 0),
  );

const lengths = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 });

it("reads the text of pieces, wherever they were cut", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), lengths, (text, each) => {
      expect(textOf(cut(Buffer.from(text), each))).toBe(text);
    }),
  );
});

it("reads bytes in pieces just as it reads them whole, valid or not", () => {
  const byte = fc.constantFrom(
    0x61,
    0x7f,
    0x80,
    0xbf,
    0xc3,
    0xa9,
    0xe2,
    0x82,
    0xac,
    0xed,
    0xa0,
    0xf0,
    0x9f,
    0x98,
    0xf8,
  );
  fc.assert(
    fc.property(fc.array(byte, { minLength: 1 }), lengths, (bytes, each) => {
      const whole = Buffer.from(bytes);
      expect(textOf(cut(whole, each))).toBe(textOf([whole]));
    }),
  );
});

it("keeps a byte order mark, which is no JSON", () => {
  expect(textOf(cut(Buffer.from("\ufeff{}"), [1]))).toBe("\ufeff{}");
});

it("reads a long text", () => {
  const text = "wide \u00e9 ".repeat(200_000);
  expect(textOf(cut(Buffer.from(text), [65_536]))).toBe(text);
  expect(textOf([Buffer.alloc(1_100_000, "x"), Buffer.from([0xff])])).toBeUndefined();
});

it("reads long texts one after the other, whatever their lengths", () => {
  const texts = [1_200_000, 3_000_000, 1_100_000].map((length, n) => `${n}`.repeat(length));
  const read = texts.map((text) => textOf(cut(Buffer.from(text), [65_536])));
  expect(read.map((text, n) => text === texts[n])).toEqual([true, true, true]);
});

it("has taken all pieces", () => {
  const pieces = [Buffer.from("a"), Buffer.from("b")];
  expect(textOf(pieces)).toBe("ab");
  expect(pieces).toEqual([]);
});
