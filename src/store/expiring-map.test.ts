import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createManualClock } from "../testing/clock.ts";
import { createExpiry } from "./expiring-map.ts";

const NEVER = Number.POSITIVE_INFINITY;

describe("createExpiry", () => {
  it("has what is not due, and nothing else", () => {
    const { clock, map } = setUp();
    map.set("a", 1, 100);
    map.set("b", 2, NEVER);
    clock.advance(99);
    expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([1, 2, undefined]);
    clock.advance(1);
    expect([map.get("a"), map.get("b")]).toEqual([undefined, 2]);
    expect(map.delete("a")).toBeUndefined();
    expect(map.delete("b")).toBe(2);
  });

  it("gives memory back without being asked, soon after something was due", () => {
    const { clock, map, forgotten } = setUp();
    for (let i = 0; i < 25_000; i++) map.set(`${i}`, i, 100);
    map.set("kept", 1, 3_600_000);
    clock.advance(20_000);
    expect(forgotten).toHaveLength(25_000);
    expect(clock.pending).toBe(1);
    clock.advance(3_700_000);
    expect(forgotten).toHaveLength(25_001);
    expect(clock.pending).toBe(0);
  });

  it("drops no more than some before it lets others work", () => {
    const { clock, map, forgotten } = setUp();
    for (let i = 0; i < 25_000; i++) map.set(`${i}`, i, 100);
    const seen: number[] = [];
    clock.after(10_000, () => seen.push(forgotten.length));
    clock.advance(10_000);
    expect(seen).toEqual([10_000]);
    expect(forgotten).toHaveLength(25_000);
  });

  it("tells once what was dropped because it was due, and nothing that was deleted or written over", () => {
    const { clock, map, forgotten } = setUp();
    map.set("due", 1, 100);
    map.set("asked for", 1, 100);
    map.set("deleted", 1, 100);
    map.set("written over", 1, 100);
    map.delete("deleted");
    map.set("written over", 2, NEVER);
    clock.advance(100);
    map.get("asked for");
    clock.advance(60_000);
    expect(forgotten.toSorted()).toEqual(["asked for", "due"]);
    expect(map.get("written over")).toBe(2);
  });

  it("says when something is due", () => {
    const { clock, expiry } = setUp();
    clock.advance(5);
    expect([expiry.now(), expiry.after(10), expiry.after(undefined)]).toEqual([5, 15, NEVER]);
  });

  it("answers like a map that looks at the time on every read", () => {
    fc.assert(
      fc.property(fc.array(deed, { maxLength: 60 }), (deeds) => {
        const { clock, map } = setUp();
        const model = new Map<string, { item: number; due: number }>();
        const lookUp = (name: string): number | undefined => {
          const found = model.get(name);
          return found !== undefined && found.due > clock.now() ? found.item : undefined;
        };
        for (const [item, { type, name, ms }] of deeds.entries()) {
          if (type === "advance") clock.advance(ms);
          if (type === "set") {
            map.set(name, item, clock.now() + ms);
            model.set(name, { item, due: clock.now() + ms });
          }
          if (type === "delete") {
            expect(map.delete(name)).toBe(lookUp(name));
            model.delete(name);
          }
          for (const each of names) expect(map.get(each)).toBe(lookUp(each));
        }
      }),
    );
  });
});

const names = ["a", "b", "c"];

const deed = fc.record({
  type: fc.constantFrom("set", "delete", "advance"),
  name: fc.constantFrom(...names),
  ms: fc.constantFrom(0, 1, 5_000, 10_000, 20_000),
});

function setUp() {
  const clock = createManualClock();
  const forgotten: string[] = [];
  const expiry = createExpiry(clock);
  const map = expiry.newMap<number>((name) => forgotten.push(name));
  return { clock, expiry, map, forgotten };
}
