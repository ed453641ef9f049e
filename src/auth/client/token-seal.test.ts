import fc from "fast-check";
import { expect, it } from "vitest";
import { createTokenSeal, keyLength } from "./token-store.ts";

const newSeal = () => createTokenSeal(crypto.getRandomValues(new Uint8Array(keyLength)));

it("opens any text that it sealed, under its name and with its key only", async () => {
  const [seal, other] = [await newSeal(), await newSeal()];
  const texts = fc.string({ unit: "binary", maxLength: 500 }).filter((text) => text.isWellFormed());
  await fc.assert(
    fc.asyncProperty(texts, fc.string(), fc.string(), async (text, name, another) => {
      const sealed = await seal.seal(name, text);
      expect(await seal.open(name, sealed)).toBe(text);
      expect(await other.open(name, sealed)).toBeUndefined();
      if (another !== name) expect(await seal.open(another, sealed)).toBeUndefined();
    }),
    { numRuns: 30, examples: [["\ufeffa mark", "a", "b"]] },
  );
});

it("never throws for what is not sealed, and never seals the same twice", async () => {
  const seal = await newSeal();
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string(), fc.json()), async (text) => {
      expect(await seal.open("a", text)).toBeUndefined();
    }),
  );
  expect(await seal.seal("a", "1")).not.toBe(await seal.seal("a", "1"));
});
