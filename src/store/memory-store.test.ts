import { describe, expect, it } from "vitest";
import { storeContract } from "../../test/store/contract.ts";
import { given } from "../../test/store/support.ts";
import { createManualClock } from "../testing/clock.ts";
import { memoryStore } from "./memory-store.ts";

storeContract("memoryStore", async () => {
  const clock = createManualClock();
  const store = memoryStore({ clock });
  return { open: async () => store, advance: (ms) => clock.advance(ms), tooManyMessages: 10_001 };
});

describe("memoryStore", () => {
  it("is not durable", () => {
    expect(memoryStore().durable).toBe(false);
  });

  it("has a timer only while something can expire", async () => {
    const clock = createManualClock();
    const store = memoryStore({ clock });
    await store.values.put("a", "1");
    await store.streams.append("a", ["1"]);
    expect(clock.pending).toBe(0);
    await store.values.put("b", "1", { ttl: 1_000 });
    await store.values.add("b", 1, 1_000);
    expect(clock.pending).toBe(1);
    clock.advance(60_000);
    expect(clock.pending).toBe(0);
    await store.values.put("b", "1", { ttl: 1_000 });
    await store.close();
    expect(clock.pending).toBe(0);
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

  it("keeps whole numbers in a limit, a position and an amount", async () => {
    const { values, streams } = memoryStore();
    const refused = { name: "StoreError", code: "invalid" };
    await expect(values.list("g", { limit: 0 })).rejects.toMatchObject(refused);
    await expect(values.add("a", 0.5, 1_000)).rejects.toMatchObject(refused);
    await expect(streams.read("a", -1)).rejects.toMatchObject(refused);
    await expect(streams.read("a", 0, 1.5)).rejects.toMatchObject(refused);
    await expect(streams.trim("a", Number.NaN)).rejects.toMatchObject(refused);
    await expect(streams.append("a", ["1"], { keep: -1 })).rejects.toMatchObject(refused);
  });
});
