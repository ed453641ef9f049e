import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { redisStore } from "../../src/store/node/redis-store.ts";
import type { Store } from "../../src/store/store.ts";
import { quietPort } from "../support/quiet-port.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";
import { type StorePlace, testContract } from "./contract.ts";
import { eventually, given, LONG, next } from "./support.ts";

describe.skipIf(redisProgram === undefined)("a Redis that is part of a cluster", () => {
  let redis: TestRedis;
  let places = 0;

  beforeAll(async () => {
    // The second port of a cluster is 10,000 above the first unless it is said, where others may be.
    const bus = ["--cluster-port", String(await quietPort())];
    redis = await startRedis("--cluster-enabled", "yes", ...bus, "--appendfsync", "no");
    const admin = new Redis(redis.url);
    await admin.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
    await vi.waitFor(async () => expect(await admin.call("CLUSTER", "INFO")).toContain("cluster_state:ok"), 20_000);
    admin.disconnect();
  });

  afterAll(async () => {
    await redis?.[Symbol.asyncDispose]();
  });

  // It refuses every script whose keys are not all in one slot.
  testContract("redisStore", async (): Promise<StorePlace> => {
    const prefix = `place${places++}`;
    return { open: () => redisStore(redis.url, { prefix }), tooManyMessages: 12_000 };
  });
});

describe.skipIf(redisProgram === undefined)("what a store keeps in Redis", () => {
  let redis: TestRedis;
  let admin: Redis;
  let store: Store;

  beforeAll(async () => {
    redis = await startRedis();
    admin = new Redis(redis.url);
  });

  beforeEach(async () => {
    await admin.flushall();
    store = await redisStore(redis.url);
  });

  afterEach(async () => {
    await store.close();
  });

  afterAll(async () => {
    admin.disconnect();
    await redis[Symbol.asyncDispose]();
  });

  it("is text as it was, also with half a character in it", async () => {
    const texts = ["\ud800", "a\udc00b", "\u0001", '\u0001"\ud83d"', "\u0001😀"];
    for (const text of texts) {
      await store.values.put(text, text, { group: text });
      expect((await store.values.get(text))?.text).toBe(text);
      expect(await store.values.list(text)).toMatchObject([{ name: text, text }]);
    }
    await store.streams.append("a", texts);
    expect((await store.streams.read("a", 0)).events.map(({ text }) => text)).toEqual(texts);
    const subscription = await store.topics.subscribe("a");
    for (const text of texts) await store.topics.publish("a", text);
    expect(await next(subscription, texts.length)).toEqual(texts);
  });

  it("has a time to live, except what is kept for ever", async () => {
    await store.values.put("a", "1");
    await store.values.put("b", "1", { ttlMs: LONG, group: "g" });
    await store.values.add("c", 1, LONG);
    await store.streams.append("d", ["1"], { ttlMs: LONG });
    await store.leases.acquire("e", LONG);
    await store.topics.publish("f", "1");
    const lasting: string[] = [];
    for (const key of await admin.keys("*")) if ((await admin.pttl(key)) < 0) lasting.push(key);
    expect(lasting.toSorted()).toEqual(["plugbay:{a}:value", "plugbay:{g}:added", "plugbay:{g}:members"]);
  });

  it("has no members of a group whose values are gone, after somebody came across them", async () => {
    for (const name of ["a", "b", "c", "d"]) await store.values.put(name, "1", { group: "g" });
    for (const name of ["a", "b", "c"]) await store.values.delete(name);
    expect(await store.values.list("g")).toHaveLength(1);
    expect(await admin.zrange("plugbay:{g}:members", 0, -1)).toEqual(["a", "b", "c", "d"]);

    await admin.zadd("plugbay:{g}:added", 1, "a", 1, "d");
    expect(await store.values.list("g")).toHaveLength(1);
    await eventually(async () => expect(await admin.zrange("plugbay:{g}:members", 0, -1)).toEqual(["b", "c", "d"]));
    expect(await admin.zrange("plugbay:{g}:added", 0, -1)).toEqual(["d", "b", "c"]);

    await admin.zadd("plugbay:{g}:added", 1, "b");
    await store.values.put("e", "1", { group: "g" });
    await eventually(async () => expect(await admin.zrange("plugbay:{g}:members", 0, -1)).toEqual(["c", "d", "e"]));
    await eventually(async () => expect(Number(await admin.zscore("plugbay:{g}:added", "d"))).toBeGreaterThan(1));
    expect((await store.values.list("g")).map(({ name }) => name)).toEqual(["d", "e"]);
  });

  it("refuses the holder of a lease that was forgotten long ago", async () => {
    const lease = given(await store.leases.acquire("a", LONG));
    const token = lease.token - 31 * 24 * 3_600_000;
    await admin.del("plugbay:{a}:fence");
    expect(await store.values.put("a", "1", { fence: token })).toBeUndefined();
    expect(await store.values.put("a", "1", { fence: lease.token })).toBeTypeOf("string");
  });

  it("waits until Redis can write again", async () => {
    await admin.call("REPLICAOF", "127.0.0.1", "1");
    const written = store.values.put("a", "1");
    await expect(admin.set("b", "1")).rejects.toThrow("READONLY");
    await admin.call("REPLICAOF", "NO", "ONE");
    expect(await written).toBeTypeOf("string");
  });

  it("stays when Redis has forgotten the scripts", async () => {
    await store.streams.append("a", ["1"]);
    await admin.script("FLUSH");
    expect(await store.streams.append("a", ["2"])).toBe(2);
  });
});
