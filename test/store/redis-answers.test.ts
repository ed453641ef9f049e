import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Awaitable } from "../../src/std/awaitable.ts";
import { redisStore } from "../../src/store/node/redis-store.ts";
import type { Store } from "../../src/store/store.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";
import { type RedisProxy, sendRaw, startRedisProxy } from "../support/redis-proxy.ts";
import { given, LONG, next } from "./support.ts";

// A change is carried out once, and its caller is told what came of it, however often its request comes to Redis.

describe.skipIf(redisProgram === undefined)("a store in Redis whose answers get lost", () => {
  let redis: TestRedis;
  let proxy: RedisProxy;
  let store: Store;
  let prefixes = 0;

  beforeAll(async () => {
    redis = await startRedis();
  });

  beforeEach(async () => {
    proxy = await startRedisProxy(redis.port);
    store = await redisStore(proxy.url, { prefix: `losing${prefixes++}` });
  });

  afterEach(async () => {
    await store.close();
    await proxy[Symbol.asyncDispose]();
  });

  afterAll(async () => {
    await redis[Symbol.asyncDispose]();
  });

  /** Makes a call whose first answer is lost. Its request comes to Redis once more when everything is over. */
  async function losing<T>(call: () => Awaitable<T>, after?: (result: T) => unknown): Promise<T> {
    const request = proxy.loseNextAnswer();
    const result = await call();
    await after?.(result);
    expect(await sendRaw(redis.port, await request)).not.toMatch(/^-/);
    return result;
  }

  it("puts once, and tells that it did", async () => {
    const version = given(await store.values.put("a", "1"));
    const next = await losing(
      () => store.values.put("a", "2", { version }),
      (written) => store.values.put("a", "3", { version: given(written) }),
    );
    expect(next).toBeTypeOf("string");
    expect((await store.values.get("a"))?.text).toBe("3");
  });

  it("tells that a condition did not hold, also when it does by now", async () => {
    expect(await losing(() => store.values.put("a", "1", { version: "none" }))).toBeUndefined();
    expect(await store.values.get("a")).toBeUndefined();
  });

  it("deletes once, and tells that it did", async () => {
    await store.values.put("a", "1");
    const deleted = await losing(
      () => store.values.delete("a"),
      () => store.values.put("a", "2"),
    );
    expect(deleted).toBe(true);
    expect((await store.values.get("a"))?.text).toBe("2");
  });

  it("adds once", async () => {
    expect(await losing(() => store.values.add("a", 5, LONG))).toBe(5);
    expect(await store.values.add("a", 1, LONG)).toBe(6);
  });

  it("appends once, at one position", async () => {
    const last = await losing(
      () => store.streams.append("a", ["1", "2"]),
      () => store.streams.append("a", ["3"]),
    );
    expect(last).toBe(2);
    const { events } = await store.streams.read("a", 0);
    expect(events.map(({ text }) => text)).toEqual(["1", "2", "3"]);
  });

  it("deletes a stream once", async () => {
    await store.streams.append("a", ["1"]);
    await losing(
      () => store.streams.delete("a"),
      () => store.streams.append("a", ["2"]),
    );
    expect((await store.streams.read("a", 0)).events).toEqual([{ position: 1, text: "2" }]);
  });

  it("publishes once", async () => {
    const subscription = await store.topics.subscribe("a");
    await losing(
      () => store.topics.publish("a", "1"),
      () => store.topics.publish("a", "2"),
    );
    await store.topics.publish("a", "3");
    expect(await next(subscription, 3)).toEqual(["1", "2", "3"]);
  });

  it("acquires once, and holds nothing that it gave back", async () => {
    const lease = await losing(
      () => store.leases.acquire("a", LONG),
      (acquired) => given(acquired).release(),
    );
    expect(lease?.token).toBeGreaterThan(0);
    expect(await store.leases.held("a")).toBe(false);
  });

  it("reads again", async () => {
    await store.values.put("a", "1", { group: "g" });
    await store.streams.append("a", ["1"]);
    expect((await losing(() => store.values.get("a")))?.text).toBe("1");
    expect(await losing(() => store.values.list("g"))).toHaveLength(1);
    expect((await losing(() => store.streams.read("a", 0))).events).toHaveLength(1);
  });
});
