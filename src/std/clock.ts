/** Where time comes from. A parameter, so that tests own it. */
export interface Clock {
  /** Milliseconds that only ever grow; not the time of day. */
  now(): number;
  /** Runs `task` once after `ms`, unless the returned function is called first. Keeps no process alive. */
  after(ms: number, task: () => void): () => void;
  /** Keeps the process alive until the returned function is called, where a platform has such a thing. */
  hold?(): () => void;
}

/** The clock of the platform. Monotonic: a change of the time of day fires no timer. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, task) {
    let timer: unknown;
    const arm = (rest: number): void => {
      const step = Math.min(rest, longestTimerMs);
      timer = setTimeout(() => (rest > step ? arm(rest - step) : task()), step);
      if (hasUnref(timer)) timer.unref();
    };
    arm(ms);
    return () => clearTimeout(timer as number);
  },
  hold() {
    const timer = setInterval(() => {}, longestTimerMs);
    return () => clearInterval(timer);
  },
};

/** Platforms fire a longer timer at once. */
const longestTimerMs = 2 ** 31 - 1;

function hasUnref(timer: unknown): timer is { unref(): void } {
  return typeof timer === "object" && timer !== null && "unref" in timer;
}
