import { describe, expect, it } from "vitest";
import { LazyAbort } from "../../std/lazy-abort.ts";
import { createManualClock } from "../../testing/clock.ts";
import { backoffMs, sleep } from "./http-streams.ts";

describe("backoffMs", () => {
  it.each([
    ["error", 0, 1, 100],
    ["error", 1, 1, 100],
    ["error", 2, 1, 200],
    ["error", 2, 0, 100],
    ["error", 7, 1, 5_000],
    ["error", 7, 0, 2_500],
    ["error", 1_000_000, 1, 5_000],
    ["end", 0, 1, 50],
    ["end", 5, 0.5, 600],
    ["end", 6, 1, 1_000],
  ] as const)("after %s number %i, with chance %d: %i ms", (ending, count, random, ms) => {
    expect(backoffMs(ending, count, random)).toBe(ms);
  });
});

describe("sleep", () => {
  it("ends in time, and with the abort", async () => {
    const clock = createManualClock();
    const abort = new LazyAbort();
    let awake = 0;
    for (const ms of [10, 1_000]) void sleep(ms, clock, abort).then(() => awake++);
    await clock.advanceAsync(9);
    expect(awake).toBe(0);
    await clock.advanceAsync(1);
    expect(awake).toBe(1);
    abort.abort("over");
    await clock.advanceAsync(0);
    expect(awake).toBe(2);
    expect(clock.pending).toBe(0);
    await sleep(1_000, clock, abort);
  });
});
