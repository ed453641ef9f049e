import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { IdTable } from "./id-table.ts";

describe("IdTable", () => {
  it("holds what a Map holds, whatever is added and taken", () => {
    const id = fc.oneof(
      fc.nat(40),
      fc.constantFrom("", "1", "a", "tools-1", -1, 1.5, 2 ** 40, Number.MAX_SAFE_INTEGER),
    );
    fc.assert(
      fc.property(fc.array(id, { maxLength: 200 }), (ids) => {
        const table = new IdTable<string>();
        const model = new Map<string | number, string>();
        for (const each of ids) {
          expect(table.get(each)).toBe(model.get(each));
          if (model.has(each)) {
            expect(table.take(each)).toBe(model.get(each));
            model.delete(each);
            expect(table.take(each)).toBeUndefined();
          } else {
            table.add(each, `value of ${each}`);
            model.set(each, `value of ${each}`);
          }
          expect(table.size).toBe(model.size);
        }
        expect([...table.clear()].sort()).toEqual([...model.values()].sort());
        expect([table.size, table.clear()]).toEqual([0, []]);
      }),
    );
  });

  it("finds one that stays while thousands come and go", () => {
    const table = new IdTable<number>();
    const inFlight = 90;
    table.add(0, 0);
    for (let id = 1; id < 10_000; id++) {
      table.add(id, id);
      if (id > inFlight) expect(table.take(id - inFlight)).toBe(id - inFlight);
    }
    expect([table.get(0), table.size]).toEqual([0, 1 + inFlight]);
  });
});
