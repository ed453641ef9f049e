import { describe, expect, it } from "vitest";
import { memoryStore } from "./memory-store.ts";
import { scopedStore } from "./scoped-store.ts";

describe("two parts of one store", () => {
  it.each([
    ["shop", "bank"],
    ["a", "a/b"],
    ["a shop", "another shop"],
    ["x".repeat(600), "x".repeat(601)],
  ])("have nothing in common: %s and %s", async (one, other) => {
    const store = memoryStore();
    const [ours, theirs] = [await scopedStore(store, one), await scopedStore(store, other)];
    await ours.values.put("b/c", "ours", { group: "all" });
    await ours.values.add("n", 2, 1_000);
    await ours.streams.append("s", ["ours"]);
    const lease = await ours.leases.acquire("l", 1_000);
    expect(lease?.name).toBe("l");
    expect(await theirs.values.get("b/c")).toBeUndefined();
    expect(await theirs.values.list("all")).toEqual([]);
    expect(await theirs.values.add("n", 1, 1_000)).toBe(1);
    expect((await theirs.streams.read("s", 0)).events).toEqual([]);
    expect(await theirs.leases.held("l")).toBe(false);
    await theirs.values.delete("b/c");
    await theirs.streams.delete("s");
    expect(await ours.values.list("all", { after: "a" })).toMatchObject([{ name: "b/c", text: "ours" }]);
    expect((await ours.streams.read("s", 0)).events).toEqual([{ position: 1, text: "ours" }]);
    expect(await ours.leases.held("l")).toBe(true);

    const heard = await ours.topics.subscribe("t");
    await theirs.topics.publish("t", "theirs");
    await ours.topics.publish("t", "ours");
    const { value } = await heard[Symbol.asyncIterator]().next();
    expect(value).toEqual({ kind: "message", text: "ours" });
    await heard.close();
    await store.close();
  });

  it("are the same for the same name", async () => {
    const store = memoryStore();
    await (await scopedStore(store, "a shop")).values.put("name", "text");
    expect(await (await scopedStore(store, "a shop")).values.get("name")).toMatchObject({ text: "text" });
    await store.close();
  });
});
