import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createGate, type Gate } from "./gate.ts";

/** Work that lasts until the test ends it. */
function bench(gate: Gate) {
  const log: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (name: string) => {
    const held = gate.run(
      () =>
        new Promise((resolve) => {
          log.push(name);
          ends.set(name, resolve);
        }),
    );
    return { isHeld: held !== undefined, held };
  };
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
    for (const name of ["a", "b", "c", "d"]) expect(start(name).isHeld).toBe(false);
    expect(log).toEqual(["a", "b"]);
    await end("b");
    expect(log).toEqual(["a", "b", "c"]);
    await end("a");
    expect(log).toEqual(["a", "b", "c", "d"]);
  });

  it("starts work at once, without waiting for a turn", () => {
    const { log, start } = bench(createGate({ maxRunning: 1, maxWaiting: 1 }));
    start("a");
    expect(log).toEqual(["a"]);
  });

  it("holds who brings more than may wait, until there is room in the line", async () => {
    const { log, start, end } = bench(createGate({ maxRunning: 1, maxWaiting: 2 }));
    expect([start("a"), start("b")].map(({ isHeld }) => isHeld)).toEqual([false, false]);
    const { held } = start("c");
    let resumed = false;
    held?.then(() => {
      resumed = true;
    });
    await settled();
    expect(resumed).toBe(false);
    await end("a");
    expect(resumed).toBe(true);
    expect(log).toEqual(["a", "b"]);
  });

  it("holds all who bring too much until the line is short enough again", async () => {
    const { start, end } = bench(createGate({ maxRunning: 1, maxWaiting: 2 }));
    for (const name of ["a", "b"]) start(name);
    const resumed: string[] = [];
    for (const name of ["c", "d"]) void start(name).held?.then(() => resumed.push(name));
    await end("a");
    expect(resumed).toEqual([]);
    await end("b");
    expect(resumed).toEqual(["c", "d"]);
  });

  it("lets go of who is held also when nothing may wait", async () => {
    const { log, start, end } = bench(createGate({ maxRunning: 1, maxWaiting: 0 }));
    start("a");
    const { held } = start("b");
    expect(held).toBeDefined();
    await end("a");
    await held;
    expect(log).toEqual(["a", "b"]);
  });

  it("is off at 0", () => {
    const { log, start } = bench(createGate({ maxRunning: 0, maxWaiting: 0 }));
    for (const name of ["a", "b", "c"]) expect(start(name).isHeld).toBe(false);
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
    const failure = gate.run(async () => {
      await gate.leave(Promise.reject(new Error("no answer"))).catch(() => log.push("failed"));
    });
    expect(failure).toBeUndefined();
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
          await gate.run(async () => {
            started.push(index);
            most = Math.max(most, ++running);
            for (let tick = 0; tick < length; tick++) await undefined;
            running--;
          });
        }
        await settled();
        expect(started).toEqual(lengths.map((_, index) => index));
        expect(most).toBeLessThanOrEqual(options.maxRunning);
        expect(running).toBe(0);
      }),
    );
  });
});
