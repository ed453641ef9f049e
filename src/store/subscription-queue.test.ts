import { describe, expect, it } from "vitest";
import { next, readAll } from "../../test/store/support.ts";
import { createSubscriptionQueue, QUEUE_MAX } from "./subscription-queue.ts";

describe("createSubscriptionQueue", () => {
  it("keeps as many messages as it may, and a gap in the place of all when there is one more", async () => {
    const queue = createSubscriptionQueue(() => {});
    for (let i = 0; i < QUEUE_MAX; i++) queue.deliver(`${i}`);
    expect(await next(queue.subscription, 2)).toEqual(["0", "1"]);
    for (let i = 0; i < 3; i++) queue.deliver(`more ${i}`);
    expect(await next(queue.subscription, 2)).toEqual([null, "more 2"]);
    queue.deliver("later");
    expect(await next(queue.subscription, 1)).toEqual(["later"]);
  });

  it("has one gap, however much is dropped", async () => {
    const queue = createSubscriptionQueue(() => {});
    for (let i = 0; i < 3 * QUEUE_MAX; i++) queue.deliver(`${i}`);
    queue.end();
    const read = await readAll(queue.subscription);
    expect(read.filter((text) => text === null)).toHaveLength(1);
    expect([read[0], read.at(-1)]).toEqual([null, `${3 * QUEUE_MAX - 1}`]);
  });

  it("tells what was missed elsewhere, in its place", async () => {
    const queue = createSubscriptionQueue(() => {});
    queue.deliver("1");
    queue.miss();
    queue.deliver("2");
    expect(await next(queue.subscription, 3)).toEqual(["1", null, "2"]);
  });

  it("tells once that the subscriber has left, and not when it was ended", async () => {
    let left = 0;
    const queue = createSubscriptionQueue(() => left++);
    await queue.subscription.close();
    await queue.subscription[Symbol.asyncDispose]();
    expect(left).toBe(1);
    const ended = createSubscriptionQueue(() => left++);
    ended.end();
    await ended.subscription.close();
    expect(left).toBe(1);
    ended.deliver("too late");
    expect(await readAll(ended.subscription)).toEqual([]);
  });
});
