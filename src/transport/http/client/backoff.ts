import type { Clock } from "../../../std/clock.ts";
import type { LazyAbort } from "../../../std/lazy-abort.ts";

/** How a connection ended: broken or refused, or closed by a server that wants to be asked again. */
export type Ending = "error" | "end";

const bounds: Readonly<Record<Ending, { readonly first: number; readonly most: number }>> = {
  error: { first: 100, most: 5_000 },
  end: { first: 50, most: 1_000 },
};

/**
 * How long to wait before connecting again, when `count` connections in a row
 * brought nothing. Doubles up to a bound, and is spread so that many clients do not come back at
 * the same moment. `random` is between 0 and 1.
 */
export function backoffMs(ending: Ending, count: number, random: number): number {
  const { first, most } = bounds[ending];
  const full = Math.min(most, first * 2 ** Math.max(0, count - 1));
  return Math.max(first, full * (0.5 + random / 2));
}

/**
 * Resolves after `ms`, or when the abort comes. While somebody waits for what
 * comes after it, the process stays alive.
 */
export function sleep(ms: number, clock: Clock, abort: LazyAbort): Promise<void> {
  return new Promise((resolve) => {
    const alive = setTimeout(() => {}, longestMs);
    const wake = (): void => {
      stop();
      unlisten();
      clearTimeout(alive);
      resolve();
    };
    const stop = clock.after(ms, () => wake());
    const unlisten = abort.onAbort(() => queueMicrotask(wake));
  });
}

const longestMs = 2 ** 31 - 1;
