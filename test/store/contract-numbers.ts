import { expect, it } from "vitest";
import type { Fixture } from "./contract.ts";
import { eventually, LONG, SHORT } from "./support.ts";

export function numberContract(fixture: () => Fixture): void {
  it("start at zero and give the sum", async () => {
    const { store, second } = fixture();
    expect(await store.values.add("a", 5, LONG)).toBe(5);
    expect(await second.values.add("a", -7, LONG)).toBe(-2);
    expect(await second.values.add("a", 0, LONG)).toBe(-2);
    expect(await store.values.add("b", 1, LONG)).toBe(1);
    expect(await store.values.add("big", 2 ** 52, LONG)).toBe(2 ** 52);
    expect(await store.values.add("big", 1, LONG)).toBe(2 ** 52 + 1);
  });

  it("miss no addition of many at once", async () => {
    const { store, second } = fixture();
    const adds = Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? store : second).values.add("a", 1, LONG));
    const sums = await Promise.all(adds);
    expect(sums.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
  });

  it("are forgotten `ttlMs` after the first addition, whatever is added meanwhile", async () => {
    const { store, passes } = fixture();
    let ttlMs = SHORT;
    const isAddedTo = async (): Promise<boolean> => {
      await store.values.add(`${ttlMs}`, 1, ttlMs);
      await passes(ttlMs / 2);
      return (await store.values.add(`${ttlMs}`, 1, LONG)) === 2;
    };
    // On a slow machine it may be forgotten before something is added: then another one lives longer.
    while (!(await isAddedTo())) ttlMs *= 2;
    await passes(ttlMs / 2);
    await eventually(async () => expect(await store.values.add(`${ttlMs}`, 1, SHORT)).toBe(1));
  });

  it("live apart from values", async () => {
    const { store } = fixture();
    await store.values.add("a", 1, LONG);
    expect(await store.values.get("a")).toBeUndefined();
    await store.values.put("a", "text");
    expect(await store.values.add("a", 1, LONG)).toBe(2);
    expect((await store.values.get("a"))?.text).toBe("text");
    expect(await store.values.delete("a")).toBe(true);
    expect(await store.values.add("a", 1, LONG)).toBe(3);
  });
}
