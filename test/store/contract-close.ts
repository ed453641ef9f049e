import { expect, it } from "vitest";
import type { Fixture } from "./contract.ts";
import { given, LONG, readAll, rejects } from "./support.ts";

export function closeContract(fixture: () => Fixture): void {
  it("ends all subscriptions", async () => {
    const { store } = fixture();
    const subscriptions = [await store.topics.subscribe("a"), await store.topics.subscribe("b")];
    const readings = subscriptions.map(readAll);
    await store.close();
    expect(await Promise.all(readings)).toEqual([[], []]);
    for (const subscription of subscriptions) await subscription.close();
  });

  it("can be done twice, at once and later, in both ways", async () => {
    const { store } = fixture();
    await Promise.all([store.close(), store.close(), store[Symbol.asyncDispose]()]);
    await store.close();
    await store[Symbol.asyncDispose]();
  });

  it("makes every later call reject", async () => {
    const { store } = fixture();
    const lease = given(await store.leases.acquire("a", LONG));
    await store.close();
    const { values, streams, topics, leases } = store;
    await rejects(() => values.get("a"), "closed");
    await rejects(() => values.put("a", "1"), "closed");
    await rejects(() => values.touch("a", LONG), "closed");
    await rejects(() => values.delete("a"), "closed");
    await rejects(() => values.list("a"), "closed");
    await rejects(() => values.add("a", 1, LONG), "closed");
    await rejects(() => streams.append("a", ["1"]), "closed");
    await rejects(() => streams.read("a", 0), "closed");
    await rejects(() => streams.trim("a", 1), "closed");
    await rejects(() => streams.delete("a"), "closed");
    await rejects(() => topics.publish("a", "1"), "closed");
    await rejects(() => topics.subscribe("a"), "closed");
    await rejects(() => leases.acquire("b", LONG), "closed");
    await rejects(() => leases.held("a"), "closed");
    await rejects(() => lease.renew(), "closed");
    await rejects(() => lease.release(), "closed");
  });

  it("lets what is under way settle first", async () => {
    const { store } = fixture();
    const writes = Array.from({ length: 20 }, (_, i) => store.values.put(`${i}`, "1"));
    const lease = store.leases.acquire("a", LONG);
    await store.close();
    expect((await Promise.all(writes)).every((version) => version !== undefined)).toBe(true);
    expect(await lease).toBeDefined();
  });

  it("takes nothing from the other handles of a durable store", async () => {
    const { store, second, place } = fixture();
    if (!store.durable) return;
    await store.values.put("a", "1");
    await store.streams.append("a", ["1"]);
    await store.leases.acquire("a", LONG);
    await store.close();
    expect((await second.values.get("a"))?.text).toBe("1");
    await second.close();
    const third = await place.open();
    expect((await third.values.get("a"))?.text).toBe("1");
    expect((await third.streams.read("a", 0)).last).toBe(1);
    expect(await third.leases.held("a")).toBe(true);
    await third.close();
  });
}
