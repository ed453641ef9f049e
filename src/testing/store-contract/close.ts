import assert from "node:assert/strict";
import type { ContractCases } from "./cases.ts";
import { equal, given, isTrue, LONG, readAll, rejects } from "./support.ts";

export const closeCases: ContractCases = {
  async "ends all subscriptions"({ store }) {
    const subscriptions = [await store.topics.subscribe("a"), await store.topics.subscribe("b")];
    const readings = subscriptions.map(readAll);
    await store.close();
    equal(await Promise.all(readings), [[], []]);
    for (const subscription of subscriptions) await subscription.close();
  },

  async "can be done twice, at once and later, in both ways"({ store }) {
    await Promise.all([store.close(), store.close(), store[Symbol.asyncDispose]()]);
    await store.close();
    await store[Symbol.asyncDispose]();
  },

  async "makes every later call reject"({ store }) {
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
  },

  async "lets what is under way settle first"({ store }) {
    const writes = Array.from({ length: 20 }, (_, i) => store.values.put(`${i}`, "1"));
    const lease = store.leases.acquire("a", LONG);
    await store.close();
    equal(
      (await Promise.all(writes)).every((version) => version !== undefined),
      true,
    );
    isTrue((await lease) !== undefined);
  },

  async "takes nothing from the other handles of a durable store"({ store, second, place }) {
    if (!store.durable) return;
    assert.notEqual(
      second,
      store,
      "open() of a durable store must return a new handle each time, with a close() of its own",
    );
    await store.values.put("a", "1");
    await store.streams.append("a", ["1"]);
    await store.leases.acquire("a", LONG);
    await store.close();
    equal((await second.values.get("a"))?.text, "1");
    await second.close();
    const third = await place.open();
    equal((await third.values.get("a"))?.text, "1");
    equal((await third.streams.read("a", 0)).last, 1);
    equal(await third.leases.held("a"), true);
    await third.close();
  },
};
