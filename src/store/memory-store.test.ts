import { describe, expect, it, vi } from "vitest";
import { testContract } from "../../test/store/contract.ts";
import { given } from "../../test/store/support.ts";
import { createManualClock } from "../testing/clock.ts";
import { createExpiry } from "./expiring-map.ts";
import { memoryStore } from "./memory-store.ts";
import type { Store } from "./store.ts";

testContract("memoryStore", async () => {
  const clock = createManualClock();
  const store = memoryStore({ clock });
  return { open: async () => store, advance: (ms) => clock.advance(ms), tooManyMessages: 10_001 };
});

testContract("memoryStore, every answer a promise", async () => {
  const clock = createManualClock();
  const store = promising(memoryStore({ clock }));
  return { open: async () => store, advance: (ms) => clock.advance(ms), tooManyMessages: 10_001 };
});

/** Drivers may answer at once or with promises: nobody may tell the difference. */
function promising(store: Store): Store {
  const { values, streams, topics, leases } = store;
  return {
    ...store,
    values: {
      get: async (...args) => values.get(...args),
      put: async (...args) => values.put(...args),
      touch: async (...args) => values.touch(...args),
      delete: async (...args) => values.delete(...args),
      list: async (...args) => values.list(...args),
      add: async (...args) => values.add(...args),
    },
    streams: {
      append: async (...args) => streams.append(...args),
      read: async (...args) => streams.read(...args),
      trim: async (...args) => streams.trim(...args),
      delete: async (...args) => streams.delete(...args),
    },
    topics: { ...topics, publish: async (...args) => topics.publish(...args) },
    leases: { acquire: async (...args) => leases.acquire(...args), held: async (...args) => leases.held(...args) },
  };
}

describe("memoryStore", () => {
  it("answers at once", () => {
    const { values, streams, leases } = memoryStore();
    expect(values.put("a", "1")).toBe("1");
    expect(values.get("a")).toEqual({ text: "1", version: "1" });
    expect(streams.append("a", ["x"])).toBe(1);
    expect(leases.held("a")).toBe(false);
  });

  it("is not durable", () => {
    expect(memoryStore().durable).toBe(false);
  });

  it("has a timer only while something can expire", async () => {
    const clock = createManualClock();
    const store = memoryStore({ clock });
    await store.values.put("a", "1");
    await store.streams.append("a", ["1"]);
    expect(clock.pending).toBe(0);
    await store.values.put("b", "1", { ttlMs: 1_000 });
    await store.values.add("b", 1, 1_000);
    expect(clock.pending).toBe(1);
    clock.advance(60_000);
    expect(clock.pending).toBe(0);
    await store.values.put("b", "1", { ttlMs: 1_000 });
    await store.close();
    expect(clock.pending).toBe(0);
  });

  it("forgets what has expired without a timer, where timers end with their request (I2)", async () => {
    const clock = Object.assign(createManualClock(), { requestBound: true });
    const forgotten = vi.fn();
    const map = createExpiry(clock).newMap<number>(forgotten);
    map.set("a", 1, 1_000);
    clock.advance(20_000);
    expect(clock.pending).toBe(0);
    expect(forgotten).not.toHaveBeenCalled();
    map.set("b", 2, clock.now() + 1_000);
    expect(forgotten).toHaveBeenCalledExactlyOnceWith("a", 1);
    expect([map.get("a"), map.get("b")]).toEqual([undefined, 2]);
  });

  it("grows tokens and refuses old ones after all leases are forgotten", async () => {
    const clock = createManualClock();
    const store = memoryStore({ clock });
    const old = given(await store.leases.acquire("a", 1_000));
    clock.advance(1_000);
    const last = given(await store.leases.acquire("a", 1_000));
    clock.advance(24 * 3_600_000);
    expect(clock.pending).toBe(0);
    expect(await store.values.put("a", "1", { fence: old.token })).toBeUndefined();
    expect(await store.values.put("a", "1", { fence: last.token })).toBeTypeOf("string");
    expect(given(await store.leases.acquire("a", 1_000)).token).toBeGreaterThan(last.token);
  });

  it("lists a name where it was put last, and only there", async () => {
    const { values } = memoryStore();
    const names = async (group: string): Promise<readonly string[]> =>
      (await values.list(group)).map(({ name }) => name);
    await values.put("a", "1", { group: "g" });
    await values.put("a", "1", { group: "h" });
    expect([await names("g"), await names("h")]).toEqual([[], ["a"]]);
    await values.put("a", "1");
    expect(await names("h")).toEqual([]);
    await values.put("b", "1", { group: "g" });
    await values.delete("b");
    await values.put("b", "1");
    expect(await names("g")).toEqual([]);
  });

  it("keeps whole numbers in a limit, a position and an amount", () => {
    const { values, streams } = memoryStore();
    const refused = expect.objectContaining({ name: "StoreError", code: "invalid" });
    expect(() => values.list("g", { limit: 0 })).toThrow(refused);
    expect(() => values.add("a", 0.5, 1_000)).toThrow(refused);
    expect(() => streams.read("a", -1)).toThrow(refused);
    expect(() => streams.read("a", 0, 1.5)).toThrow(refused);
    expect(() => streams.trim("a", Number.NaN)).toThrow(refused);
    expect(() => streams.append("a", ["1"], { keep: -1 })).toThrow(refused);
  });
});
