import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createServer, type Server } from "../../src/server/index.ts";
import { redisStore } from "../../src/store/node/redis-store.ts";
import { makeCall } from "../support/direct.ts";
import { patiently } from "../support/patience.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";

// Two servers on one Redis that goes away for longer than anybody waits for it.

describe.skipIf(redisProgram === undefined)("changes, while Redis is away", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis[Symbol.asyncDispose]());

  const uris = Array.from({ length: 30 }, (_, index) => `shop://${index}`);

  async function startServer(onError: (error: unknown) => void = () => {}) {
    const store = await redisStore(redis.url, { waitMs: 1_000 });
    const server = createServer({ name: "shop", version: "1", subscribe: true, resources: [], store, onError });
    return {
      server,
      async [Symbol.asyncDispose]() {
        await server.close();
        await store.close();
      },
    };
  }

  function listen(server: Server) {
    const { call, abort, notes } = makeCall("subscriptions/listen", { notifications: { resourceSubscriptions: uris } });
    const outcome = server(call);
    return {
      notes,
      heard: () => new Set(notes.flatMap(([, params]) => (typeof params?.uri === "string" ? [params.uri] : []))),
      async [Symbol.asyncDispose]() {
        abort.abort("bye");
        await outcome;
      },
    };
  }

  it.each([
    ["says nothing", () => redis.pause(), () => redis.resume()],
    ["is killed", () => redis.stop("SIGKILL"), () => redis.start()],
  ])("that %s, are kept, and heard by all when it is back (B1)", async (_what, leave, comeBack) => {
    const onError = vi.fn();
    await using one = await startServer(onError);
    await using other = await startServer();
    await using listening = listen(other.server);
    await vi.waitFor(() => expect(listening.notes).toHaveLength(1), patiently);
    await leave();
    for (const uri of uris) one.server.resourceUpdated(uri);
    // Given up more than once: the outage is longer than the patience of the store.
    await vi.waitFor(() => expect(onError.mock.calls.length).toBeGreaterThanOrEqual(2), patiently);
    one.server.resourceUpdated("shop://0");
    expect(listening.heard().size).toBe(0);
    await comeBack();
    await vi.waitFor(() => expect([...listening.heard()].toSorted()).toEqual(uris.toSorted()), patiently);
  });
});
