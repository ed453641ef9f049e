import { constants } from "node:os";
import type { Clock } from "../../std/clock.ts";

export interface ExitSignalOptions {
  readonly clock: Clock;
  /** How long the work may take to end before the process exits anyway. */
  readonly drainMs: number;
  /** Called at the first signal: take no new work. */
  onSignal(): void;
}

export interface ExitSignals {
  /**
   * Says that the work is done. If a signal has come, the process has a second
   * to end by itself and is then exited with 0; else signals are left to others.
   */
  release(): void;
}

/**
 * Ends this process on SIGTERM or SIGINT, but not before its work is done.
 *
 * A second signal, or work that takes too long, exits at once with 128 plus the
 * number of the signal, which is how a shell would report it.
 */
export function exitOnSignals({ clock, drainMs, onSignal }: ExitSignalOptions): ExitSignals {
  let cancelDeadline: (() => void) | undefined;

  const handle = (signal: NodeJS.Signals): void => {
    const exit = (): never => process.exit(128 + constants.signals[signal]);
    if (cancelDeadline !== undefined) exit();
    cancelDeadline = clock.after(drainMs, exit);
    onSignal();
  };

  for (const signal of exitSignals) process.on(signal, handle);
  return {
    release() {
      if (cancelDeadline === undefined) {
        for (const signal of exitSignals) process.off(signal, handle);
      } else {
        cancelDeadline();
        clock.after(lingerMs, () => process.exit(0));
      }
    },
  };
}

const exitSignals = ["SIGTERM", "SIGINT"] as const;
const lingerMs = 1000;
