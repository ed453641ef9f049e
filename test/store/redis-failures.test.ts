import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Awaitable } from "../../src/std/awaitable.ts";
import { type RedisStoreOptions, redisStore } from "../../src/store/node/redis-store.ts";
import type { Store, TopicMessage, TopicSubscription } from "../../src/store/store.ts";
import { patiently } from "../support/patience.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";
import { startRedisProxy } from "../support/redis-proxy.ts";
import { given, LONG, next, rejects } from "./support.ts";

// Connections break, answers get lost, and Redis goes away and comes back. Nothing that was acknowledged is lost.

describe.skipIf(redisProgram === undefined)("a store in Redis", () => {
  let redis: TestRedis;
  let admin: Redis;
  let prefixes = 0;
  const opened: AsyncDisposable[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    admin = new Redis(redis.url, { maxRetriesPerRequest: null });
    admin.on("error", () => {});
  });

  afterEach(async () => {
    for (const thing of opened.splice(0).reverse()) await thing[Symbol.asyncDispose]();
  });

  afterAll(async () => {
    admin.disconnect();
    await redis[Symbol.asyncDispose]();
  });

  async function keep<T extends AsyncDisposable>(thing: Promise<T>): Promise<T> {
    opened.push(await thing);
    return thing;
  }

  const newPrefix = (): string => `failing${prefixes++}`;

  const open = (prefix: string, options: RedisStoreOptions & { readonly url?: string } = {}): Promise<Store> =>
    keep(redisStore(options.url ?? redis.url, { prefix, waitMs: 20_000, ...options }));

  /** Breaks the connections of all stores. */
  async function killConnections(): Promise<number> {
    const clients = String(await admin.client("LIST")).split("\n");
    const ids = clients.filter((line) => line.includes("name=plugbay-")).map((line) => /id=(\d+)/.exec(line)?.[1]);
    for (const id of ids) await admin.client("KILL", "ID", id ?? "").catch(() => {});
    return ids.length;
  }

  describe("whose connections are cut again and again", () => {
    /** Does `work` for every number below `count`, ten at a time, and cuts all connections after every hundredth. */
    async function withCuts(count: number, work: (index: number) => Awaitable<void>): Promise<void> {
      let [started, done, killed] = [0, 0, 0];
      const lane = async (): Promise<void> => {
        while (started < count) {
          await work(started++);
          if (++done % 100 === 0) killed += await killConnections();
        }
      };
      await Promise.all(Array.from({ length: 10 }, lane));
      expect(killed).toBeGreaterThan(count / 100);
    }

    it("appends every text once, at the position that was told", async () => {
      const prefix = newPrefix();
      const [store, second] = [await open(prefix), await open(prefix)];
      const told = new Map<number, string>();
      await withCuts(2_000, async (i) => {
        const text = `text ${i}`;
        told.set(given(await (i % 2 === 0 ? store : second).streams.append("a", [text])), text);
      });
      const { events, last } = await second.streams.read("a", 0, 5_000);
      expect(last).toBe(2_000);
      expect(events).toHaveLength(2_000);
      expect(new Map(events.map(({ position, text }) => [position, text]))).toEqual(told);
    });

    it("delivers every message once and in order", async () => {
      const prefix = newPrefix();
      const [store, second] = [await open(prefix), await open(prefix)];
      const subscriptions = [await store.topics.subscribe("a"), await second.topics.subscribe("a")];
      const reads = subscriptions.map((subscription) => next(subscription, 2_000));
      await withCuts(2_000, (i) => (i % 2 === 0 ? store : second).topics.publish("a", String(i)));
      const [first, other] = await Promise.all(reads);
      expect(other).toEqual(first);
      expect(new Set(first).size).toBe(2_000);
      expect(first).not.toContain(null);
    });

    it("delivers what one publishes in the order of the calls", async () => {
      const prefix = newPrefix();
      const [store, second] = [await open(prefix), await open(prefix)];
      const read = next(await second.topics.subscribe("a"), 2_000);
      const texts = Array.from({ length: 2_000 }, (_, i) => String(i));
      for (const text of texts) {
        await store.topics.publish("a", text);
        if (Number(text) % 100 === 0) await killConnections();
      }
      expect(await read).toEqual(texts);
    });

    it("counts every change once: numbers, and values that are read and written", async () => {
      const prefix = newPrefix();
      const [store, second] = [await open(prefix), await open(prefix)];
      await store.values.put("value", "0");
      await withCuts(500, async (i) => {
        const { values } = i % 2 === 0 ? store : second;
        await values.add("number", 1, LONG);
        for (let written: string | undefined; written === undefined; ) {
          const { text, version } = given(await values.get("value"));
          written = await values.put("value", String(Number(text) + 1), { version });
        }
      });
      expect(await store.values.add("number", 0, LONG)).toBe(500);
      expect((await store.values.get("value"))?.text).toBe("500");
    });
  });

  describe("that was away", () => {
    it("gives a subscriber what was published meanwhile", async () => {
      const prefix = newPrefix();
      const proxy = await keep(startRedisProxy(redis.port));
      const [away, here] = [await open(prefix, { url: proxy.url }), await open(prefix)];
      const subscriptions = [await away.topics.subscribe("a"), await away.topics.subscribe("a")];
      const silent = await away.topics.subscribe("silent");
      await here.topics.publish("a", "before");
      for (const subscription of subscriptions) expect(await next(subscription, 1)).toEqual(["before"]);
      proxy.cut();
      const texts = Array.from({ length: 1_200 }, (_, i) => String(i));
      for (const text of texts) await here.topics.publish("a", text);
      proxy.connect();
      for (const subscription of subscriptions) expect(await next(subscription, 1_200)).toEqual(texts);
      await here.topics.publish("silent", "1");
      expect(await next(silent, 1)).toEqual(["1"]);
    });

    it("gives a subscriber a gap in the place of what Redis no longer has, and then the rest", async () => {
      const prefix = newPrefix();
      const proxy = await keep(startRedisProxy(redis.port));
      const [away, here] = [await open(prefix, { url: proxy.url }), await open(prefix)];
      const subscription = await away.topics.subscribe("a");
      await here.topics.publish("a", "before");
      expect(await next(subscription, 1)).toEqual(["before"]);
      proxy.cut();
      const texts = Array.from({ length: 6_000 }, (_, i) => String(i));
      await Promise.all(texts.map((text) => here.topics.publish("a", text)));
      proxy.connect();
      const messages = await readTo(subscription, "5999");
      expect(messages[0]).toEqual({ kind: "gap" });
      const rest = messages.slice(1).map((message) => (message.kind === "gap" ? "gap" : message.text));
      expect(rest.length).toBeGreaterThanOrEqual(4_096);
      expect(rest).toEqual(texts.slice(-rest.length));
    });

    it("gives a subscriber a gap when Redis has forgotten everything", async () => {
      const prefix = newPrefix();
      const proxy = await keep(startRedisProxy(redis.port));
      const [away, here] = [await open(prefix, { url: proxy.url }), await open(prefix)];
      const subscription = await away.topics.subscribe("a");
      await here.topics.publish("a", "before");
      expect(await next(subscription, 1)).toEqual(["before"]);
      proxy.cut();
      await here.topics.publish("a", "lost");
      await admin.del(...(await admin.keys(`${prefix}:*`)));
      proxy.connect();
      expect(await next(subscription, 1)).toEqual([null]);
      await here.topics.publish("a", "after");
      expect(await next(subscription, 1)).toEqual(["after"]);
    });

    it("makes calls wait, and lets go of them after a while", async () => {
      const proxy = await keep(startRedisProxy(redis.port));
      const store = await open(newPrefix(), { url: proxy.url, waitMs: 1_000, maxWaiting: 2 });
      proxy.cut();
      await rejects(() => store.values.get("a"), "unavailable");
      const calls = Promise.all([
        rejects(() => store.values.put("a", "1"), "unavailable"),
        rejects(() => store.values.get("a"), "unavailable"),
      ]);
      await expect(store.values.get("b")).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringContaining("2 calls wait"),
      });
      await calls;
      await rejects(() => store.topics.subscribe("a"), "unavailable");
      proxy.connect();
      await vi.waitFor(async () => expect(await store.values.put("a", "2")).toBeTypeOf("string"), patiently);
      expect((await store.values.get("a"))?.text).toBe("2");
    });

    it("can be closed, within a bound", async () => {
      const proxy = await keep(startRedisProxy(redis.port));
      const store = await open(newPrefix(), { url: proxy.url, waitMs: 1_000 });
      const subscription = await store.topics.subscribe("a");
      proxy.cut();
      const call = store.values.get("a");
      const closed = store.close();
      await rejects(() => call, "unavailable");
      await closed;
      expect(await next(subscription, 1)).toEqual([]);
    });
  });

  it("goes on when Redis was restarted, with everything that was acknowledged", async () => {
    const prefix = newPrefix();
    const [store, second] = [await open(prefix), await open(prefix)];
    const subscription = await second.topics.subscribe("a");
    const texts = Array.from({ length: 600 }, (_, i) => `text ${i}`);
    const lease = given(await store.leases.acquire("a", LONG));
    for (const [i, text] of texts.entries()) {
      if (i === 200 || i === 400) await redis.stop(i === 200 ? "SIGTERM" : "SIGKILL");
      const calls = [store.streams.append("a", [text], { fence: lease.token }), store.topics.publish("a", text)];
      if (i === 200 || i === 400) await redis.start();
      await Promise.all(calls);
    }
    expect((await second.streams.read("a", 0)).events.map(({ text }) => text)).toEqual(texts);
    expect(await next(subscription, texts.length)).toEqual(texts);
    expect(await lease.renew()).toBe(true);
  });

  it("waits no longer than it may for a Redis that says nothing", async () => {
    const silent = await keep(startRedis());
    const store = await open(newPrefix(), { url: silent.url, waitMs: 1_000 });
    await store.values.put("a", "1");
    silent.pause();
    await rejects(() => store.values.get("a"), "unavailable");
    await rejects(() => store.values.get("a"), "unavailable");
    await rejects(() => redisStore(silent.url, { waitMs: 1_000 }), "unavailable");
    silent.resume();
    await vi.waitFor(async () => expect((await store.values.get("a"))?.text).toBe("1"), patiently);
  });
});

/** Reads up to and with this text. */
async function readTo(subscription: TopicSubscription, end: string): Promise<readonly TopicMessage[]> {
  const messages: TopicMessage[] = [];
  for await (const message of subscription) {
    messages.push(message);
    if (message.kind === "message" && message.text === end) break;
  }
  return messages;
}
