import { AsyncLocalStorage } from "node:async_hooks";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createGate, type Gate, type Job } from "./gate.ts";
import { LazyAbort } from "./lazy-abort.ts";

interface Weighed extends Job {
  readonly weight: number;
}

const job = (weight: number): Weighed => ({ abort: new LazyAbort(), weight });

/** Work that lasts until the test ends it. */
function bench(gate: Gate<Weighed>) {
  const log: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (name: string, job?: Weighed): boolean =>
    gate.run(
      () =>
        new Promise((resolve) => {
          log.push(name);
          ends.set(name, resolve);
        }),
      job,
    );
  const end = async (name: string) => {
    ends.get(name)?.();
    await settled();
  };
  return { log, start, end };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("createGate", () => {
  it("starts work while there is room, then in the order it came", async () => {
    const { log, start, end } = bench(createGate({ maxRunning: 2, maxWaiting: 5 }));
    for (const name of ["a", "b", "c", "d"]) expect(start(name)).toBe(true);
    expect(log).toEqual(["a", "b"]);
    await end("b");
    expect(log).toEqual(["a", "b", "c"]);
    await end("a");
    expect(log).toEqual(["a", "b", "c", "d"]);
  });

  it("runs work in the async context of its own caller, also when other work made the room (P6)", async () => {
    const caller = new AsyncLocalStorage<string>();
    const gate = createGate({ maxRunning: 1, maxWaiting: 5 });
    const seen: (string | undefined)[] = [];
    const work = async () => {
      await settled();
      seen.push(caller.getStore());
    };
    for (const name of ["a", "b", "c"]) caller.run(name, () => void gate.run(work));
    while (seen.length < 3) await settled();
    expect(seen).toEqual(["a", "b", "c"]);
  });

  it("starts work at once, without waiting for a turn", () => {
    const { log, start } = bench(createGate({ maxRunning: 1, maxWaiting: 1 }));
    start("a");
    expect(log).toEqual(["a"]);
  });

  it("turns away more than may wait, until there is room in the line", async () => {
    const { log, start, end } = bench(createGate({ maxRunning: 1, maxWaiting: 2 }));
    expect(["a", "b", "c", "d"].map((name) => start(name))).toEqual([true, true, true, false]);
    await end("a");
    expect(start("e")).toBe(true);
    for (const name of ["b", "c", "e"]) await end(name);
    expect(log).toEqual(["a", "b", "c", "e"]);
  });

  it("turns away all that would wait when nothing may", async () => {
    const gate = createGate({ maxRunning: 1, maxWaiting: 0 });
    const { log, start, end } = bench(gate);
    expect([start("a"), gate.full, start("b")]).toEqual([true, true, false]);
    await end("a");
    expect([gate.full, start("c")]).toEqual([false, true]);
    expect(log).toEqual(["a", "c"]);
  });

  it("turns away what would make the line too heavy, but never what would stand in it alone", async () => {
    const { log, start, end } = bench(
      createGate<Weighed>({ maxRunning: 1, maxWaiting: 9, maxWeight: 10, weigh: ({ weight }) => weight }),
    );
    expect([start("a", job(99)), start("b", job(99)), start("c", job(1))]).toEqual([true, true, false]);
    await end("a");
    expect([start("d", job(6)), start("e", job(4)), start("f", job(1))]).toEqual([true, true, false]);
    for (const name of ["b", "d", "e"]) await end(name);
    expect(log).toEqual(["a", "b", "d", "e"]);
  });

  it("forgets work that is aborted while it waits, and has room for other work", async () => {
    const gate = createGate<Weighed>({ maxRunning: 1, maxWaiting: 1, maxWeight: 10, weigh: ({ weight }) => weight });
    const { log, start, end } = bench(gate);
    const cancelled = job(10);
    expect([start("a", job(1)), start("b", cancelled), start("c", job(1))]).toEqual([true, true, false]);
    cancelled.abort.abort("enough");
    expect(start("d", job(10))).toBe(true);
    await end("a");
    await end("d");
    expect(log).toEqual(["a", "d"]);
    expect(gate.full).toBe(false);
  });

  it("does not touch work that is aborted while it runs", async () => {
    const { log, start, end } = bench(createGate<Weighed>({ maxRunning: 1, maxWaiting: 1 }));
    const late = job(1);
    start("a", job(1));
    start("b", late);
    await end("a");
    late.abort.abort("enough");
    start("c", job(1));
    expect(log).toEqual(["a", "b"]);
    await end("b");
    expect(log).toEqual(["a", "b", "c"]);
  });

  it("starts nothing while it is held up, and everything in order afterwards", async () => {
    let letGo = (): void => {};
    let until: Promise<void> | undefined;
    const holdUp = (): void => {
      until = new Promise((resolve) => {
        letGo = () => {
          until = undefined;
          resolve();
        };
      });
    };
    const { log, start, end } = bench(createGate<Weighed>({ maxRunning: 2, maxWaiting: 5, heldUp: () => until }));
    start("a");
    holdUp();
    for (const name of ["b", "c", "d"]) expect(start(name)).toBe(true);
    await end("a");
    expect(log).toEqual(["a"]);
    letGo();
    await settled();
    expect(log).toEqual(["a", "b", "c"]);
  });

  it("starts one at first after it was held up, then two, then four, a turn each (S2)", async () => {
    let [letGo, takeTurn] = [(): void => {}, (): void => {}];
    let until: Promise<void> | undefined = new Promise((resolve) => {
      letGo = resolve;
    });
    const nextTurn = (): Promise<void> =>
      new Promise((resolve) => {
        takeTurn = resolve;
      });
    const { log, start } = bench(createGate<Weighed>({ maxRunning: 8, maxWaiting: 99, heldUp: () => until, nextTurn }));
    for (let n = 1; n <= 20; n++) start(String(n));
    until = undefined;
    letGo();
    await settled();
    const started = [log.length];
    for (let turn = 1; turn <= 3; turn++) {
      takeTurn();
      await settled();
      started.push(log.length);
    }
    expect(started).toEqual([1, 3, 7, 8]);
  });

  it("is off at 0", () => {
    const { log, start } = bench(createGate({ maxRunning: 0, maxWaiting: 0 }));
    for (const name of ["a", "b", "c"]) expect(start(name)).toBe(true);
    expect(log).toEqual(["a", "b", "c"]);
  });

  it("goes on after work that rejects", async () => {
    const gate = createGate({ maxRunning: 1, maxWaiting: 5 });
    const { log, start } = bench(gate);
    gate.run(() => Promise.reject(new Error("x")));
    start("a");
    await settled();
    expect(log).toEqual(["a"]);
  });

  it("gives the place of work that waits to others", async () => {
    const gate = createGate({ maxRunning: 1, maxWaiting: 5 });
    const { log, start, end } = bench(gate);
    let answer = (_: string): void => {};
    const asked = new Promise<string>((resolve) => {
      answer = resolve;
    });
    const left: Promise<string>[] = [];
    gate.run(async () => {
      left.push(gate.leave(asked));
      log.push(`got ${await left[0]}`);
    });
    start("a");
    start("b");
    expect(log).toEqual(["a"]);
    answer("an answer");
    await settled();
    expect(log).toEqual(["a", "got an answer"]);
    expect(await left[0]).toBe("an answer");
    await end("a");
    expect(log).toEqual(["a", "got an answer", "b"]);
  });

  it("takes the place back when the wait fails", async () => {
    const gate = createGate({ maxRunning: 1, maxWaiting: 5 });
    const { log, start } = bench(gate);
    gate.run(async () => {
      await gate.leave(Promise.reject(new Error("no answer"))).catch(() => log.push("failed"));
    });
    await settled();
    start("a");
    start("b");
    expect(log).toEqual(["failed", "a"]);
  });

  it("never runs more than it may, and everything in order", async () => {
    const limits = fc.record({ maxRunning: fc.integer({ min: 1, max: 4 }), maxWaiting: fc.nat(4) });
    await fc.assert(
      fc.asyncProperty(limits, fc.array(fc.nat(5), { maxLength: 20 }), async (options, lengths) => {
        const gate = createGate(options);
        const started: number[] = [];
        let [running, most] = [0, 0];
        for (const [index, length] of lengths.entries()) {
          const work = async (): Promise<void> => {
            started.push(index);
            most = Math.max(most, ++running);
            for (let tick = 0; tick < length; tick++) await undefined;
            running--;
          };
          while (!gate.run(work)) await undefined;
        }
        await settled();
        expect(started).toEqual(lengths.map((_, index) => index));
        expect(most).toBeLessThanOrEqual(options.maxRunning);
        expect(running).toBe(0);
      }),
    );
  });
});
