import { describe, expect, it } from "vitest";
import { next, readAll } from "../../test/store/support.ts";
import { createInbox, INBOX_MAX } from "./subscription-queue.ts";

describe("createInbox", () => {
  it("keeps as many messages as it may, and a gap in the place of all when there is one more", async () => {
    const inbox = createInbox(() => {});
    for (let i = 0; i < INBOX_MAX; i++) inbox.deliver(`${i}`);
    expect(await next(inbox.subscription, 2)).toEqual(["0", "1"]);
    for (let i = 0; i < 3; i++) inbox.deliver(`more ${i}`);
    expect(await next(inbox.subscription, 2)).toEqual([null, "more 2"]);
    inbox.deliver("later");
    expect(await next(inbox.subscription, 1)).toEqual(["later"]);
  });

  it("has one gap, however much is dropped", async () => {
    const inbox = createInbox(() => {});
    for (let i = 0; i < 3 * INBOX_MAX; i++) inbox.deliver(`${i}`);
    inbox.end();
    const read = await readAll(inbox.subscription);
    expect(read.filter((text) => text === null)).toHaveLength(1);
    expect([read[0], read.at(-1)]).toEqual([null, `${3 * INBOX_MAX - 1}`]);
  });

  it("tells what was missed elsewhere, in its place", async () => {
    const inbox = createInbox(() => {});
    inbox.deliver("1");
    inbox.miss();
    inbox.deliver("2");
    expect(await next(inbox.subscription, 3)).toEqual(["1", null, "2"]);
  });

  it("tells once that the subscriber has left, and not when it was ended", async () => {
    let left = 0;
    const inbox = createInbox(() => left++);
    await inbox.subscription.close();
    await inbox.subscription[Symbol.asyncDispose]();
    expect(left).toBe(1);
    const ended = createInbox(() => left++);
    ended.end();
    await ended.subscription.close();
    expect(left).toBe(1);
    ended.deliver("too late");
    expect(await readAll(ended.subscription)).toEqual([]);
  });
});
