import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createKeys, decodeName, decodeText, encodeName, encodeText } from "./redis-scripts.ts";

/** Any text, also with half characters. */
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
  fc
    .array(fc.constantFrom("a", "z", "{", "|", "}", "~", "|007b", "\ud83d", "\ude00", "\ue000", "\uffff"))
    .map((parts) => parts.join("")),
);

describe("names in Redis", () => {
  it("are ASCII without braces, and can be read back", () => {
    fc.assert(
      fc.property(anyText, (name) => {
        const encoded = encodeName(name);
        expect(encoded).toMatch(/^[\0-z|]*$/);
        expect(decodeName(encoded)).toBe(name);
      }),
    );
  });

  it("are in the order of the names by UTF-16 units", () => {
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        const order = Buffer.compare(Buffer.from(encodeName(a)), Buffer.from(encodeName(b)));
        expect(order).toBe(a < b ? -1 : a > b ? 1 : 0);
      }),
    );
  });

  it("are the hash tags of their keys", () => {
    fc.assert(
      fc.property(anyText, (name) => {
        const key = createKeys("prefix")(name, "value");
        expect(key.match(/[{}]/g)).toEqual(["{", "}"]);
        expect(key).not.toContain("{}");
      }),
    );
  });
});

describe("texts in Redis", () => {
  it("survive UTF-8", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(decodeText(Buffer.from(encodeText(text)).toString())).toBe(text);
      }),
    );
  });
});
