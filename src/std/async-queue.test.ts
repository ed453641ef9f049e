import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startCpuTime } from "../../test/support/cpu-time.ts";
import { type AsyncQueue, asyncQueue } from "./async-queue.ts";

describe("asyncQueue", () => {
  it("keeps what is pushed before anybody reads", async () => {
    const queue = asyncQueue<number>();
    queue.push(1);
    queue.push(2);
    queue.end();
    expect(await readAll(queue)).toEqual([1, 2]);
  });

  it("wakes a reader that waits", async () => {
    const queue = asyncQueue<number>();
    const iterator = queue[Symbol.asyncIterator]();
    for (const value of [1, 2]) {
      const next = iterator.next();
      await Promise.resolve();
      queue.push(value);
      expect(await next).toEqual({ done: false, value });
    }
    const last = iterator.next();
    await Promise.resolve();
    queue.end();
    expect(await last).toEqual({ done: true, value: undefined });
  });

  it("throws what it failed with, after the backlog, to every reader", async () => {
    const queue = asyncQueue<number>();
    const error = new Error("broken");
    queue.push(1);
    queue.fail(error);
    const iterator = queue[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: 1 });
    await expect(iterator.next()).rejects.toBe(error);
    await expect(readAll(queue)).rejects.toBe(error);
  });

  it("wakes a reader that waits with the failure", async () => {
    const queue = asyncQueue<number>();
    const read = readAll(queue);
    await Promise.resolve();
    queue.fail(new Error("broken"));
    await expect(read).rejects.toThrow("broken");
  });

  it("ends once: what comes after has no effect", async () => {
    const queue = asyncQueue<number>();
    queue.end();
    queue.fail(new Error("too late"));
    queue.push(1);
    expect(queue.size).toBe(0);
    expect(await readAll(queue)).toEqual([]);
    expect(await readAll(queue)).toEqual([]);
  });

  it("lets a second reader go on where the first stopped", async () => {
    const queue = asyncQueue<number>();
    for (const item of [1, 2, 3]) queue.push(item);
    for await (const item of queue) {
      expect(item).toBe(1);
      break;
    }
    queue.push(4);
    queue.end();
    expect(await readAll(queue)).toEqual([2, 3, 4]);
  });

  it("holds undefined like any other item", async () => {
    const queue = asyncQueue<number | undefined>();
    queue.push(undefined);
    queue.push(1);
    queue.end();
    expect(await readAll(queue)).toEqual([undefined, 1]);
  });

  it("keeps the order and knows its size, however pushes and reads alternate", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean()), async (pushes) => {
        const queue = asyncQueue<number>();
        const iterator = queue[Symbol.asyncIterator]();
        const expected: number[] = [];
        for (const [index, push] of pushes.entries()) {
          if (push) {
            queue.push(index);
            expected.push(index);
          } else if (expected.length > 0) {
            expect(await iterator.next()).toEqual({ done: false, value: expected.shift() });
          }
          expect(queue.size).toBe(expected.length);
        }
        queue.end();
        expect(await readAll(queue)).toEqual(expected);
      }),
    );
  });

  it("reads a long backlog in linear time", async () => {
    const queue = asyncQueue<number>();
    const count = 400_000;
    for (let item = 0; item < count; item++) queue.push(item);
    queue.end();
    let next = 0;
    const spent = startCpuTime();
    for await (const item of queue) if (item === next) next++;
    expect(next).toBe(count);
    expect(spent()).toBeLessThan(3_000);
  });
});

async function readAll<T>(queue: AsyncQueue<T>): Promise<readonly T[]> {
  const items: T[] = [];
  for await (const item of queue) items.push(item);
  return items;
}
