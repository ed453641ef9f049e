import { describe, expect, it } from "vitest";
import { redisProgram, startRedis } from "../../../test/support/redis.ts";
import { openStore, StoreError } from "./index.ts";

describe("openStore", () => {
  it("opens a memory", async () => {
    await using store = await openStore("memory:");
    expect(store.durable).toBe(false);
    await store.values.put("a", "1");
    expect((await store.values.get("a"))?.text).toBe("1");
  });

  it.skipIf(redisProgram === undefined)("opens a Redis under both of its names, with a prefix", async () => {
    await using redis = await startRedis();
    await using store = await openStore(redis.url, { prefix: "mine" });
    await using same = await openStore(redis.url.replace("redis:", "valkey:"), { prefix: "mine" });
    await using other = await openStore(redis.url, { prefix: "other" });
    expect(store.durable).toBe(true);
    await store.values.put("a", "1");
    expect((await same.values.get("a"))?.text).toBe("1");
    expect(await other.values.get("a")).toBeUndefined();
  });

  it("rejects what it does not know, and does not repeat it", async () => {
    const opening = openStore("postgres://user:hunter2@host/database");
    await expect(opening).rejects.toBeInstanceOf(StoreError);
    await expect(opening).rejects.toMatchObject({ code: "invalid" });
    await expect(opening).rejects.not.toThrow(/hunter2/);
    await expect(opening).rejects.toThrow(/memory:.*sqlite:.*redis:.*rediss:.*valkey:/);
  });
});
