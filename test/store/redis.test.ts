import { afterAll, beforeAll, describe } from "vitest";
import { redisStore } from "../../src/store/node/redis-store.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";
import { type StorePlace, testContract } from "./contract.ts";
import { storeModel } from "./model.ts";

describe.skipIf(redisProgram === undefined)("a real Redis", () => {
  let redis: TestRedis;
  let places = 0;

  beforeAll(async () => {
    redis = await startRedis("--appendfsync", "no");
  });

  afterAll(async () => {
    await redis[Symbol.asyncDispose]();
  });

  /** A prefix of its own is a place of its own. */
  const setUp = async (): Promise<StorePlace> => {
    const prefix = `place${places++}`;
    return { open: () => redisStore(redis.url, { prefix }), tooManyMessages: 12_000 };
  };

  testContract("redisStore", setUp);
  storeModel("redisStore", setUp);
});
