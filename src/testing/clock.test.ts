import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createManualClock } from "./clock.ts";

describe("createManualClock", () => {
  it("stands still until it is told to go on", () => {
    const clock = createManualClock();
    expect(clock.now()).toBe(0);
    clock.advance(5);
    clock.advance(0);
    expect(clock.now()).toBe(5);
    expect(createManualClock(1_000).now()).toBe(1_000);
  });

  it("runs a timer when its time has come, once", () => {
    const clock = createManualClock(100);
    const times: number[] = [];
    clock.after(50, () => times.push(clock.now()));
    clock.advance(49);
    expect(times).toEqual([]);
    clock.advance(1);
    clock.advance(1_000);
    expect(times).toEqual([150]);
  });

  it("runs timers in order of their time, then of their setting, each at its own time", () => {
    const clock = createManualClock();
    const log: string[] = [];
    const set = (name: string, ms: number) => clock.after(ms, () => log.push(`${name} at ${clock.now()}`));
    set("late", 30);
    set("first", 10);
    set("second", 10);
    set("past", -5);
    clock.advance(100);
    expect(log).toEqual(["past at 0", "first at 10", "second at 10", "late at 30"]);
    expect(clock.now()).toBe(100);
  });

  it("runs timers that timers set, as far as they fall due", () => {
    const clock = createManualClock();
    const times: number[] = [];
    const every10 = (): void => {
      times.push(clock.now());
      clock.after(10, every10);
    };
    clock.after(10, every10);
    clock.advance(35);
    expect(times).toEqual([10, 20, 30]);
    expect(clock.pending).toBe(1);
  });

  it("does not run a timer that was stopped, not even by one that is due with it", () => {
    const clock = createManualClock();
    const log: string[] = [];
    const stopBefore = clock.after(10, () => log.push("stopped before"));
    clock.after(10, () => {
      log.push("runs");
      stopOnTheWay();
    });
    const stopOnTheWay = clock.after(10, () => log.push("stopped on the way"));
    stopBefore();
    stopBefore();
    clock.advance(10);
    expect(log).toEqual(["runs"]);
    expect(clock.pending).toBe(0);
  });

  it("counts the timers that have yet to run", () => {
    const clock = createManualClock();
    clock.after(1, () => {});
    const stop = clock.after(2, () => {});
    expect(clock.pending).toBe(2);
    clock.advance(1);
    expect(clock.pending).toBe(1);
    stop();
    expect(clock.pending).toBe(0);
  });

  it.each([-1, Number.NaN])("refuses to advance by %d", async (ms) => {
    const clock = createManualClock();
    expect(() => clock.advance(ms)).toThrow(RangeError);
    await expect(clock.advanceAsync(ms)).rejects.toThrow(RangeError);
    expect(clock.now()).toBe(0);
  });

  it("stands at the timer that throws, and can go on", () => {
    const clock = createManualClock();
    const times: number[] = [];
    clock.after(10, () => {
      throw new Error("broken timer");
    });
    clock.after(20, () => times.push(clock.now()));
    expect(() => clock.advance(50)).toThrow("broken timer");
    expect(clock.now()).toBe(10);
    clock.advance(10);
    expect(times).toEqual([20]);
  });

  it("never goes back, even when a timer advances the clock", () => {
    const clock = createManualClock();
    const times: number[] = [];
    clock.after(10, () => clock.advance(100));
    clock.after(20, () => times.push(clock.now()));
    clock.advance(30);
    expect(times).toEqual([20]);
    expect(clock.now()).toBe(110);
  });

  it("fires the same timers at the same times, however the way is cut", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(100)), fc.array(fc.nat(30), { minLength: 1 }), (delays, steps) => {
        const way = steps.reduce((sum, ms) => sum + ms, 0);
        expect(firedBy(delays, steps)).toEqual(firedBy(delays, [way]));
      }),
    );
  });
});

describe("advanceAsync", () => {
  it("lets promises settle before every timer and after the last", async () => {
    const clock = createManualClock();
    const log: string[] = [];
    const work = async (): Promise<void> => {
      for (const step of ["a", "b", "c"]) {
        await Promise.resolve();
        await new Promise<void>((resolve) => clock.after(10, resolve));
        log.push(`${step} at ${clock.now()}`);
      }
    };
    const done = work();
    await clock.advanceAsync(30);
    expect(log).toEqual(["a at 10", "b at 20", "c at 30"]);
    await done;
  });

  it("ends at the time it was told", async () => {
    const clock = createManualClock();
    clock.after(10, () => {});
    clock.after(41, () => {});
    await clock.advanceAsync(40);
    expect(clock.now()).toBe(40);
    expect(clock.pending).toBe(1);
  });
});

function firedBy(delays: readonly number[], steps: readonly number[]): readonly string[] {
  const clock = createManualClock();
  const log: string[] = [];
  for (const [index, ms] of delays.entries()) clock.after(ms, () => log.push(`${index} at ${clock.now()}`));
  for (const ms of steps) clock.advance(ms);
  return log;
}
