import type { Clock } from "../std/clock.ts";

/** A {@link Clock} that stands still until it is told to go on. */
export interface ManualClock extends Clock {
  /** The same as `now`: its days begin with its time. */
  date(): number;
  /**
   * Goes on by `ms`. Timers that fall due run in order, each at its own time,
   * and so do timers that they set. Throws `RangeError` when `ms` is negative,
   * and whatever a timer throws; the clock then stands at that timer.
   */
  advance(ms: number): void;
  /** Like {@link ManualClock.advance}, but lets promises settle before every timer and after the last. */
  advanceAsync(ms: number): Promise<void>;
  /** How many timers have yet to run. */
  readonly pending: number;
}

interface Timer {
  readonly due: number;
  readonly task: () => void;
}

/**
 * A clock for tests: no waiting, and the same order of events on every run.
 *
 * @example
 * const clock = createManualClock();
 * clock.after(50, () => console.log(clock.now()));
 * clock.advance(100); // prints 50
 */
export function createManualClock(start = 0): ManualClock {
  const timers = new Set<Timer>();
  let time = start;

  const fireNext = (end: number): boolean => {
    const timer = earliest(timers);
    if (timer === undefined || timer.due > end) return false;
    timers.delete(timer);
    time = timer.due;
    timer.task();
    return true;
  };

  return {
    now: () => time,
    date: () => time,
    after(ms, task) {
      const timer = { due: time + Math.max(0, ms), task };
      timers.add(timer);
      return () => {
        timers.delete(timer);
      };
    },
    advance(ms) {
      const end = later(time, ms);
      while (fireNext(end));
      time = Math.max(time, end);
    },
    async advanceAsync(ms) {
      const end = later(time, ms);
      do await settled();
      while (fireNext(end));
      time = Math.max(time, end);
    },
    get pending() {
      return timers.size;
    },
  };
}

/** Of timers that are due together, the one that was set first. */
function earliest(timers: Iterable<Timer>): Timer | undefined {
  let first: Timer | undefined;
  for (const timer of timers) if (first === undefined || timer.due < first.due) first = timer;
  return first;
}

function later(time: number, ms: number): number {
  if (ms >= 0) return time + ms;
  throw new RangeError(`a clock cannot advance by ${ms} ms`);
}

/** Resolves when nothing is left to run but what waits for a timer. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}
