import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { JsonObject } from "../json/json.ts";
import { createSealer } from "./seal.ts";

const [one, two] = ["a secret of sixteen or more", "another secret as long"];

describe("createSealer", () => {
  it("opens what it sealed", async () => {
    const sealer = createSealer([one]);
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (state) => {
        const sent = JSON.parse(JSON.stringify(state)) as JsonObject;
        expect(await sealer.open(await sealer.seal(sent))).toEqual(sent);
      }),
      { numRuns: 50 },
    );
  });

  it("gives text that is fit for anywhere and never the same twice", async () => {
    const sealer = createSealer([one]);
    const texts = await Promise.all([sealer.seal({ a: 1 }), sealer.seal({ a: 1 })]);
    for (const text of texts) expect(text).toMatch(/^1\.[A-Za-z0-9_-]+$/);
    expect(texts[0]).not.toBe(texts[1]);
  });

  it("seals with the first secret and opens with all", async () => {
    const sealed = await createSealer([one, two]).seal({ a: 1 });
    expect(await createSealer([two, one]).open(sealed)).toEqual({ a: 1 });
    expect(await createSealer([one]).open(sealed)).toEqual({ a: 1 });
    expect(await createSealer([two]).open(sealed)).toBeUndefined();
  });

  it("makes up a secret when it gets none", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const [mine, other] = [createSealer(), createSealer([])];
    const sealed = await mine.seal({ a: 1 });
    warn.mockRestore();
    expect(await mine.open(sealed)).toEqual({ a: 1 });
    expect(await other.open(sealed)).toBeUndefined();
  });

  it("opens nothing else, and never throws", async () => {
    const sealer = createSealer([one, two]);
    const garbage = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({ unit: "binary" }).map((text) => `1.${text}`),
      fc.base64String().map((text) => `1.${text.replace(/=+$/, "")}`),
      fc.uint8Array({ maxLength: 64 }).map((bytes) => `1.${Buffer.from(bytes).toString("base64url")}`),
    );
    await fc.assert(
      fc.asyncProperty(garbage, async (text) => {
        expect(await sealer.open(text)).toBeUndefined();
      }),
      { numRuns: 200 },
    );
  });

  it("opens nothing whose bytes were changed anywhere", async () => {
    const sealer = createSealer([one]);
    const sealed = await sealer.seal({ amount: 10 });
    const bytes = Buffer.from(sealed.slice(2), "base64url");
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(await sealer.open(`1.${changed.toString("base64url")}`)).toBeUndefined();
    }
    expect(await sealer.open(`1.${bytes.subarray(0, -1).toString("base64url")}`)).toBeUndefined();
  });
});
