import type { ContractCases } from "./cases.ts";
import { equal, eventually, LONG, SHORT } from "./support.ts";

export const numberCases: ContractCases = {
  async "start at zero and give the sum"({ store, second }) {
    equal(await store.values.add("a", 5, LONG), 5);
    equal(await second.values.add("a", -7, LONG), -2);
    equal(await second.values.add("a", 0, LONG), -2);
    equal(await store.values.add("b", 1, LONG), 1);
    equal(await store.values.add("big", 2 ** 52, LONG), 2 ** 52);
    equal(await store.values.add("big", 1, LONG), 2 ** 52 + 1);
  },

  async "miss no addition of many at once"({ store, second }) {
    const adds = Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? store : second).values.add("a", 1, LONG));
    const sums = await Promise.all(adds);
    equal(
      sums.toSorted((a, b) => a - b),
      Array.from({ length: 50 }, (_, i) => i + 1),
    );
  },

  async "are forgotten `ttlMs` after the first addition, whatever is added meanwhile"({ store, passes }) {
    let ttlMs = SHORT;
    const isAddedTo = async (): Promise<boolean> => {
      await store.values.add(`${ttlMs}`, 1, ttlMs);
      await passes(ttlMs / 2);
      return (await store.values.add(`${ttlMs}`, 1, LONG)) === 2;
    };
    // On a slow machine it may be forgotten before something is added: then another one lives longer.
    while (!(await isAddedTo())) ttlMs *= 2;
    await passes(ttlMs / 2);
    await eventually(async () => equal(await store.values.add(`${ttlMs}`, 1, SHORT), 1));
  },

  async "live apart from values"({ store }) {
    await store.values.add("a", 1, LONG);
    equal(await store.values.get("a"), undefined);
    await store.values.put("a", "text");
    equal(await store.values.add("a", 1, LONG), 2);
    equal((await store.values.get("a"))?.text, "text");
    equal(await store.values.delete("a"), true);
    equal(await store.values.add("a", 1, LONG), 3);
  },
};
