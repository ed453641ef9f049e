import { describe, expect, it } from "vitest";
import { startCpuTime } from "../../../test/support/cpu-time.ts";
import { createManualClock } from "../../testing/clock.ts";
import { createReplayLog, type LoggedEvent } from "./event-stream.ts";

function logOf({ maxEvents = 256, maxChars = 1_048_576 } = {}) {
  const clock = createManualClock();
  const forgotten: LoggedEvent[] = [];
  const log = createReplayLog({ maxEvents, maxChars, clock, forgot: (event) => forgotten.push(event) });
  let last = 0;
  /** Appends so many events to stream 1. */
  const fill = (count: number, text = "x"): void => {
    for (let n = 0; n < count; n++) log.append({ stream: 1, number: ++last, text });
  };
  return { clock, log, forgotten, fill };
}

const numbers = (events: readonly LoggedEvent[]) => events.map(({ number }) => number);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

describe("what is kept of a session", () => {
  it("C108: the last 256 events, in order", () => {
    const { clock, log, forgotten, fill } = logOf();
    fill(256);
    clock.advance(10_001);
    expect(numbers(log.after(1, 0))).toEqual(range(1, 256));
    fill(100);
    expect(numbers(forgotten)).toEqual(range(1, 100));
    expect(numbers(log.after(1, 0))).toEqual(range(101, 356));
  });

  it("more than that while they are younger than ten seconds", () => {
    const { clock, log, forgotten, fill } = logOf();
    fill(1000);
    clock.advance(10_000);
    fill(1);
    expect(forgotten).toEqual([]);
    expect(numbers(log.after(1, 0))).toEqual(range(1, 1001));
    clock.advance(1);
    fill(1);
    expect(numbers(log.after(1, 0))).toEqual(range(747, 1002));
  });

  it("no more than that of streams that went out in one piece, however young", () => {
    const { log, forgotten } = logOf();
    for (let stream = 1; stream <= 300; stream++) log.append({ stream, number: 1, text: "x", whole: true });
    expect(forgotten.map(({ stream }) => stream)).toEqual(range(1, 44));
    expect(log.after(45, 0)).toHaveLength(1);
  });

  it("no more characters than are allowed, however few or young the events are, but for the newest", () => {
    const { log, forgotten, fill } = logOf({ maxChars: 100 });
    fill(10, "x".repeat(10));
    expect(forgotten).toEqual([]);
    fill(1, "x".repeat(15));
    expect(numbers(forgotten)).toEqual([1, 2]);
    expect(numbers(log.after(1, 0))).toEqual(range(3, 11));
    fill(1, "x".repeat(101));
    expect(numbers(log.after(1, 0))).toEqual([12]);
    expect(numbers(forgotten)).toEqual(range(1, 11));
  });

  it("what followed on the stream that is asked for, and on no other", () => {
    const { log } = logOf();
    log.append({ stream: 1, number: 1, text: "a" });
    log.append({ stream: 2, number: 1, text: "b" });
    log.append({ stream: 1, number: 2, text: "c" });
    expect(log.after(1, 0).map(({ text }) => text)).toEqual(["a", "c"]);
    expect(log.after(1, 1).map(({ text }) => text)).toEqual(["c"]);
    expect(log.after(2, 0).map(({ text }) => text)).toEqual(["b"]);
    expect(log.after(1, 2)).toEqual([]);
    expect(log.after(3, 0)).toEqual([]);
  });

  it("at a cost that does not grow with what went before", () => {
    const { clock, log, forgotten, fill } = logOf({ maxEvents: 100 });
    fill(100);
    const time = (count: number): number => {
      const spent = startCpuTime();
      for (let n = 0; n < count; n++) {
        clock.advance(1_000);
        fill(1);
      }
      return spent();
    };
    time(20_000);
    const early = time(20_000);
    time(100_000);
    const late = time(20_000);
    expect(forgotten.length).toBe(160_000);
    expect(log.after(1, 0).length).toBe(100);
    expect(late).toBeLessThan(early * 5 + 50);
  });
});
