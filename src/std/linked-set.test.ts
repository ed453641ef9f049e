import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Linked, LinkedSet } from "./linked-set.ts";

interface Item extends Linked<Item> {
  readonly name: number;
}

const itemOf = (name: number): Item => ({ name, previous: undefined, next: undefined });

describe("LinkedSet", () => {
  it("holds what a Set holds, in the same order, whatever is added and deleted", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9)), (moves) => {
        const items = Array.from({ length: 10 }, (_, name) => itemOf(name));
        const set = new LinkedSet<Item>();
        const model = new Set<Item>();
        for (const move of moves) {
          const item = items[move] as Item;
          if (model.has(item)) {
            expect(set.delete(item)).toBe(model.delete(item));
          } else {
            set.add(item);
            model.add(item);
          }
          expect(set.toArray()).toEqual([...model]);
          expect(set.size).toBe(model.size);
        }
      }),
    );
  });

  it("says whether what is deleted was there", () => {
    const set = new LinkedSet<Item>();
    const [one, other] = [itemOf(1), itemOf(2)];
    expect(set.delete(one)).toBe(false);
    set.add(one);
    expect(set.delete(other)).toBe(false);
    expect([set.delete(one), set.delete(one)]).toEqual([true, false]);
    expect(set.size).toBe(0);
  });

  it("leaves nothing in a member that has left", () => {
    const set = new LinkedSet<Item>();
    const items = [itemOf(1), itemOf(2), itemOf(3)] as const;
    for (const item of items) set.add(item);
    set.delete(items[1]);
    expect(items[1]).toEqual(itemOf(2));
    expect(set.toArray().map((item) => item.name)).toEqual([1, 3]);
  });
});
