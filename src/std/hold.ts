import type { Clock } from "./clock.ts";

/**
 * Keeps the process alive while somebody waits.
 *
 * The rule of the whole package: what a caller awaits holds the process, until it settles; what nobody awaits does not.
 * Timers of a {@link Clock} hold nothing by themselves, so whatever hands a promise to a caller that only a timer may settle
 * takes a hold, here or by {@link holding}.
 */
export interface ProcessHold {
  /** One more waits. */
  take(): void;
  /** Releases one holder. */
  release(): void;
}

/**
 * Counts, so that many who wait at the same time cost no more than one. The process is let go a moment after the last:
 * calls that follow each other need not hold it anew.
 */
export function createHold(clock: Clock): ProcessHold {
  let waiting = 0;
  let letGo: (() => void) | undefined;
  let isEnding = false;

  const end = (): void => {
    isEnding = false;
    if (waiting > 0) return;
    letGo?.();
    letGo = undefined;
  };

  return {
    take() {
      if (waiting++ === 0) letGo ??= clock.hold?.();
    },
    release() {
      if (--waiting > 0 || isEnding || letGo === undefined) return;
      isEnding = true;
      clock.after(1, end);
    },
  };
}

/** Keeps the process alive until `work` settles. */
export async function holding<T>(clock: Clock, work: Promise<T>): Promise<T> {
  const letGo = clock.hold?.();
  try {
    return await work;
  } finally {
    letGo?.();
  }
}
