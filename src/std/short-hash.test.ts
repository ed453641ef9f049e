import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shortHash } from "./short-hash.ts";

describe("shortHash", () => {
  it("has twelve characters, the same for the same text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(shortHash(text)).toMatch(/^[a-z2-7]{12}$/);
        expect(shortHash(text)).toBe(shortHash(`${text}`));
      }),
    );
  });

  it("tells many similar texts apart by eight characters", () => {
    const texts = Array.from({ length: 20_000 }, (_, n) => `server:tool_${n}`);
    expect(new Set(texts.map((text) => shortHash(text).slice(0, 8))).size).toBe(texts.length);
  });
});
