import fc from "fast-check";
import { expect, it } from "vitest";
import { sortedNames } from "./memory-values.ts";

const someName = fc.oneof(fc.constantFrom("", "a", "b", "\uffff", "😀"), fc.string({ maxLength: 3 }));

it("is a set in the order of UTF-16 units", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), someName)), someName, (deeds, after) => {
      const names = sortedNames();
      const model = new Set<string>();
      for (const [adds, name] of deeds) {
        if (adds) names.add(name);
        else names.delete(name);
        if (adds) model.add(name);
        else model.delete(name);
      }
      const sorted = [...model].toSorted();
      expect(names.size).toBe(sorted.length);
      expect(names.from(undefined)).toEqual(sorted);
      expect(names.from(after)).toEqual(sorted.filter((name) => name > after));
    }),
  );
});
