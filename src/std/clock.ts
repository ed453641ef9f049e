/** Where time comes from. A parameter, so that tests own it. */
export interface Clock {
  /** Milliseconds that only ever grow; not the time of day. */
  now(): number;
  /** The time of day in milliseconds, which other processes share: a function that needs no `this`. Default: `Date.now`. */
  readonly date?: () => number;
  /** Runs `task` once after `ms`, unless the returned function is called first. Keeps no process alive. */
  after(ms: number, task: () => void): () => void;
  /** Keeps the process alive until the returned function is called, where a platform has such a thing. */
  hold?(): () => void;
  /**
   * True on Cloudflare Workers, where timers, promises and streams belong to the request that made them: a timer ends
   * with its request, and a stream must not be written to by another one. What outlives a request is plain data.
   */
  readonly requestBound?: boolean;
}

const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } };

/** {@link Clock.requestBound} of this platform. */
export const isRequestBound: boolean = navigator?.userAgent === "Cloudflare-Workers";

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
  requestBound: isRequestBound,
  hold() {
    if (isRequestBound) return () => {};
    if (holders++ === 0) keepAlive(true);
    let isHeld = true;
    return () => {
      if (isHeld && --holders === 0) keepAlive(false);
      isHeld = false;
    };
  },
};

/** Platforms fire a longer timer at once. */
const longestTimerMs = 2 ** 31 - 1;

let holders = 0;
let holder: unknown;

/** One timer for everybody, which counts or does not: calls come and go too often to make one each. */
function keepAlive(isNeeded: boolean): void {
  holder ??= setInterval(() => {}, longestTimerMs);
  if (!hasUnref(holder)) {
    // A platform whose timers keep no process alive.
    clearInterval(holder as number);
    holder = none;
  } else if (isNeeded) holder.ref();
  else holder.unref();
}

const none = { ref() {}, unref() {} };

function hasUnref(timer: unknown): timer is { ref(): void; unref(): void } {
  return typeof timer === "object" && timer !== null && "unref" in timer;
}
