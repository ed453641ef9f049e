import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { connect } from "../../src/connect/index.ts";
import type { Middleware } from "../../src/protocol/service.ts";
import { createServer, tool } from "../../src/server/index.ts";
import { redisStore } from "../../src/store/node/redis-store.ts";
import type { Store } from "../../src/store/store.ts";
import { toFetchHandler } from "../../src/transport/http/fetch-handler.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";
import { eventually } from "./support.ts";

describe.skipIf(redisProgram === undefined)("what clients keep in one Redis", () => {
  let redis: TestRedis;
  let stores: readonly [Store, Store];
  let places = 0;

  beforeAll(async () => {
    redis = await startRedis();
  });
  beforeEach(async () => {
    const prefix = `place${places++}`;
    stores = [await redisStore(redis.url, { prefix }), await redisStore(redis.url, { prefix })];
  });
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
  });
  afterAll(async () => {
    await redis[Symbol.asyncDispose]();
  });

  /** A server, and clients of it that are as good as in two processes. */
  function setUp(ttlMs: number, scope: "public" | "private" = "public") {
    let asked = 0;
    const counting: Middleware = (next) => (call) => {
      if (call.method === "tools/list") asked++;
      return next(call);
    };
    const server = createServer({
      name: "shop",
      version: "1",
      listChanged: true,
      cache: { ttlMs, scope },
      middleware: [counting],
      tools: { echo: tool({ run: () => "echo" }) },
    });
    const handle = toFetchHandler(server, { allowedHosts: ["shop.example"] });
    const onWarning = vi.fn();
    const open = (store: Store, partition?: string) =>
      connect("https://shop.example/mcp", {
        fetch: async (...request) => handle(new Request(...request)),
        cache: { store, partition },
        onWarning,
      });
    return { server, open, onWarning, asked: () => asked };
  }

  it("is there for all of them", async () => {
    const { open, asked } = setUp(600_000);
    await using one = await open(stores[0]);
    await using two = await open(stores[1]);
    const tools = await one.listTools();
    await eventually(async () => {
      const before = asked();
      expect(await two.listTools()).toEqual(tools);
      expect(asked()).toBe(before);
    });
  });

  it("is there for as long as the server says", async () => {
    const { open, asked } = setUp(60);
    await using client = await open(stores[0]);
    await client.listTools();
    await eventually(async () => {
      await client.listTools();
      expect(asked()).toBeGreaterThan(1);
    });
  });

  it("is private within a partition", async () => {
    const { open, asked } = setUp(600_000, "private");
    await using one = await open(stores[0], "ann");
    await using two = await open(stores[1], "ann");
    await using other = await open(stores[1], "bob");
    await one.listTools();
    await eventually(async () => {
      const before = asked();
      await two.listTools();
      expect(asked()).toBe(before);
    });
    const before = asked();
    await other.listTools();
    expect(asked()).toBe(before + 1);
  });

  it("is outdated for all of them when one hears of a change", async () => {
    const { open, server } = setUp(600_000);
    await using hearing = await open(stores[0]);
    await using other = await open(stores[1]);
    await using changes = hearing.changes({ tools: true });
    await changes.ready;
    expect(await other.listTools()).toHaveLength(1);
    server.tools.add("more", tool({ run: () => "more" }));
    await eventually(async () => expect(await other.listTools()).toHaveLength(2));
    expect(await hearing.listTools()).toHaveLength(2);
  });

  it("is done without while Redis says nothing", async () => {
    const { open, asked, onWarning } = setUp(600_000);
    await using client = await open(stores[0]);
    await client.listTools();
    redis.pause();
    try {
      const before = asked();
      expect(await client.listTools()).toHaveLength(1);
      expect(await client.listTools()).toHaveLength(1);
      expect(asked()).toBe(before + 2);
      expect(onWarning.mock.calls).toMatchObject([[{ kind: "store-failed" }]]);
    } finally {
      redis.resume();
    }
  });
});
