import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rateLimit } from "../../src/middleware/rate-limit.ts";
import { createServer, tool } from "../../src/server/index.ts";
import { systemClock } from "../../src/std/clock.ts";
import { redisStore } from "../../src/store/node/redis-store.ts";
import type { Store } from "../../src/store/store.ts";
import { peer, send } from "../support/direct.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";
import { eventually } from "./support.ts";

const limit = 10;
const windowMs = 600_000;

describe.skipIf(redisProgram === undefined)("a rate limit of two servers on one Redis", () => {
  let redis: TestRedis;
  let stores: readonly Store[];
  let time = 0;

  beforeAll(async () => {
    redis = await startRedis();
    stores = await Promise.all([redisStore(redis.url), redisStore(redis.url)]);
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await redis[Symbol.asyncDispose]();
  });

  /** How many calls of a user succeed, when both servers get some at the same time. */
  async function admitted(principal: string, count: number): Promise<number> {
    const servers = stores.map((store) =>
      createServer({
        name: "limited",
        version: "1",
        middleware: [rateLimit({ limit, windowMs, store, clock: { ...systemClock, date: () => time } })],
        tools: { echo: tool({ run: () => "done" }) },
      }),
    );
    const calls = Array.from({ length: count }, () =>
      servers.map((server) =>
        send(server, "tools/call", { name: "echo" }, { peer: { ...peer(), auth: { principal } } }),
      ),
    );
    const outcomes = await Promise.all(calls.flat());
    return outcomes.filter(({ kind }) => kind === "complete").length;
  }

  /** What was counted for calls that were refused is given back when they have failed already. */
  async function givenBack(principal: string, count: number): Promise<void> {
    const name = `rate ${limit}/${windowMs} user ${principal} ${time / windowMs}`;
    await eventually(async () => expect(await stores[0]?.values.add(name, 0, windowMs)).toBe(count));
  }

  it("is shared, to the last call", async () => {
    time = 7 * windowMs;
    expect(await admitted("ann", 2 * limit)).toBe(limit);
    expect(await admitted("ann", limit)).toBe(0);
    expect(await admitted("bob", limit)).toBe(limit);
  });

  it("counts the window before", async () => {
    time = 10 * windowMs;
    expect(await admitted("eve", limit)).toBe(limit);
    await givenBack("eve", limit);
    time = 11 * windowMs + windowMs / 2;
    expect(await admitted("eve", 1)).toBe(2);
    time = 13 * windowMs;
    expect(await admitted("eve", limit)).toBe(limit);
  });
});
