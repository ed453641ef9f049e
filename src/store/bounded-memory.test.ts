import { describe, expect, it } from "vitest";
import { createManualClock } from "../testing/clock.ts";
import { boundedMemoryStore } from "./bounded-memory.ts";

describe("boundedMemoryStore", () => {
  it("drops what expires first when it is full", () => {
    const { values } = boundedMemoryStore({ clock: createManualClock(), maxValues: 3, whenFull: "drop" });
    values.put("late", "1", { ttlMs: 3_000, group: "g" });
    values.put("soon", "1", { ttlMs: 1_000, group: "g" });
    values.put("never", "1", { group: "g" });
    values.put("late", "2", { ttlMs: 3_000, group: "g" });
    expect(values.list("g")).toHaveLength(3);
    values.put("more", "1", { ttlMs: 2_000, group: "g" });
    expect(values.list("g")).toMatchObject([{ name: "late", text: "2" }, { name: "more" }, { name: "never" }]);
    expect(values.get("soon")).toBeUndefined();
  });

  it("may refuse what is one too many, until something has expired", () => {
    const clock = createManualClock();
    const { values } = boundedMemoryStore({ clock, maxValues: 2, whenFull: "refuse" });
    values.put("a", "1", { ttlMs: 10_000 });
    values.put("b", "1");
    expect(() => values.put("c", "1")).toThrow(expect.objectContaining({ name: "StoreError", code: "unavailable" }));
    expect(values.put("a", "2", { version: null })).toBeUndefined();
    expect(values.put("a", "2", { ttlMs: 10_000 })).toBeTypeOf("string");
    clock.advance(10_000);
    expect(values.put("c", "1")).toBeTypeOf("string");
    expect([values.get("a"), values.get("b")]).toEqual([undefined, { text: "1", version: expect.any(String) }]);
  });

  it("refuses a bound that is none", () => {
    expect(() => boundedMemoryStore({ clock: createManualClock(), maxValues: 0, whenFull: "drop" })).toThrow(
      expect.objectContaining({ code: "invalid" }),
    );
  });
});
