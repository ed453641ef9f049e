/** Where time comes from. A parameter, so that tests own it. */
export interface Clock {
  /** Milliseconds that only ever grow; not the time of day. */
  now(): number;
  /** Runs `task` once after `ms`, unless the returned function is called first. Keeps no process alive. */
  after(ms: number, task: () => void): () => void;
}

/** The clock of the platform. Monotonic: a change of the time of day fires no timer. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, task) {
    const timer: unknown = setTimeout(task, ms);
    if (hasUnref(timer)) timer.unref();
    return () => clearTimeout(timer as number);
  },
};

function hasUnref(timer: unknown): timer is { unref(): void } {
  return typeof timer === "object" && timer !== null && "unref" in timer;
}
