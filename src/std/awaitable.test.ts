import { describe, expect, it } from "vitest";
import { allOf, chain, promised } from "./awaitable.ts";

describe("chain", () => {
  it("goes on at once with a value that is there", () => {
    expect(chain(1, (value) => value + 1)).toBe(2);
  });

  it("goes on with a promised value when it is there, and not with a rejected one", async () => {
    await expect(chain(Promise.resolve(1), (value) => value + 1)).resolves.toBe(2);
    await expect(chain(Promise.reject(new Error("no")), () => 1)).rejects.toThrow("no");
  });
});

describe("allOf", () => {
  it("gives all values at once when all are there, else a promise of them", async () => {
    expect(allOf([1, "a"] as const)).toEqual([1, "a"]);
    const later = allOf([1, Promise.resolve("a")] as const);
    expect(later).toBeInstanceOf(Promise);
    expect(await later).toEqual([1, "a"]);
  });
});

describe("promised", () => {
  it("rejects where the work throws at once", async () => {
    expect(await promised(() => 1)).toBe(1);
    const thrown = promised(() => {
      throw new Error("no");
    });
    await expect(thrown).rejects.toThrow("no");
  });
});
