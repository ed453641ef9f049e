import { describe, expect, it } from "vitest";
import { createManualClock } from "../testing/clock.ts";
import { boundedMemoryStore } from "./bounded-memory.ts";

describe("boundedMemoryStore", () => {
  it("drops what expires first when it is full", () => {
    const { values } = boundedMemoryStore({ clock: createManualClock(), maxValues: 3 });
    values.put("late", "1", { ttlMs: 3_000, group: "g" });
    values.put("soon", "1", { ttlMs: 1_000, group: "g" });
    values.put("never", "1", { group: "g" });
    values.put("late", "2", { ttlMs: 3_000, group: "g" });
    expect(values.list("g")).toHaveLength(3);
    values.put("more", "1", { ttlMs: 2_000, group: "g" });
    expect(values.list("g")).toMatchObject([{ name: "late", text: "2" }, { name: "more" }, { name: "never" }]);
    expect(values.get("soon")).toBeUndefined();
  });

  it("refuses a bound that is none", () => {
    expect(() => boundedMemoryStore({ clock: createManualClock(), maxValues: 0 })).toThrow(
      expect.objectContaining({ code: "invalid" }),
    );
  });
});
