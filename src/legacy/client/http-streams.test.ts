import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LazyAbort } from "../../std/lazy-abort.ts";
import { createManualClock } from "../../testing/clock.ts";
import { backoffMs, sleep } from "./http-streams.ts";

describe("backoffMs", () => {
  it.each([
    [["error", 0, 1, undefined], 250],
    [["error", 1, 1, undefined], 250],
    [["error", 1, 0.5, undefined], 265.625],
    [["error", 1, 0, undefined], 281.25],
    [["error", 2, 1, undefined], 500],
    [["error", 2, 0, undefined], 281.25],
    [["error", 7, 1, undefined], 5_000],
    [["error", 1_000_000, 1, undefined], 5_000],
    [["end", 0, 1, undefined], 250],
    [["end", 2, 0.6, undefined], 412.5],
    [["end", 6, 1, undefined], 1_000],
    [["end", 0, 1, 0], 250],
    [["end", 0, 1, 500], 500],
    [["end", 2, 1, 500], 1_000],
    [["end", 9, 1, 3_000], 3_000],
    [["error", 9, 1, 60_000], 60_000],
  ] as const)("after %j: %d ms", ([ending, count, random, asked], ms) => {
    expect(backoffMs(ending, count, random, asked)).toBe(ms);
  });

  it("is never less than 250 ms, whatever the server asks for (H11)", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("error" as const, "end" as const),
        fc.nat(100),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.nat(10_000),
        (ending, count, random, asked) => {
          expect(backoffMs(ending, count, random, asked)).toBeGreaterThanOrEqual(Math.max(250, asked));
        },
      ),
    );
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
