import { describe, expect, it } from "vitest";
import { createBroadcast } from "./broadcast.ts";

const make = (maxUnread = 10) => createBroadcast<number>({ maxUnread, overrun: () => new Error("too slow") });

async function all(items: AsyncIterable<number>): Promise<readonly number[]> {
  const seen: number[] = [];
  for await (const item of items) seen.push(item);
  return seen;
}

describe("a broadcast", () => {
  it("tells every reader everything from when it began to listen", async () => {
    const news = make();
    const early = news.listen();
    news.tell(1);
    const late = news.listen();
    news.tell(2);
    news.end();
    expect(await all(early)).toEqual([1, 2]);
    expect(await all(late)).toEqual([2]);
  });

  it("ends for who leaves the loop, and for nobody else", async () => {
    const news = make();
    const leaving = news.listen();
    const staying = news.listen();
    news.tell(1);
    for await (const _ of leaving) break;
    expect(news.size).toBe(1);
    news.tell(2);
    news.end();
    expect(await all(staying)).toEqual([1, 2]);
  });

  it("ends with the signal, also one that was aborted before", async () => {
    const news = make();
    const controller = new AbortController();
    const reader = news.listen(controller.signal);
    news.tell(1);
    controller.abort();
    expect(await all(reader)).toEqual([1]);
    expect(await all(news.listen(controller.signal))).toEqual([]);
    expect(news.size).toBe(0);
  });

  it("throws for a reader too far behind, after what it had", async () => {
    const news = make(2);
    const slow = news.listen();
    for (const item of [1, 2, 3]) news.tell(item);
    const seen: number[] = [];
    await expect(
      (async () => {
        for await (const item of slow) seen.push(item);
      })(),
    ).rejects.toThrow("too slow");
    expect(seen).toEqual([1, 2]);
    expect(news.size).toBe(0);
  });

  it("is over for who comes late", async () => {
    const news = make();
    news.end();
    expect(await all(news.listen())).toEqual([]);
  });
});
