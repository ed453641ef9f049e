import { describe, expect, it } from "vitest";
import { promised } from "./awaitable.ts";

describe("promised", () => {
  it("rejects where the work throws at once", async () => {
    expect(await promised(() => 1)).toBe(1);
    const thrown = promised(() => {
      throw new Error("no");
    });
    await expect(thrown).rejects.toThrow("no");
  });
});
