import type { Clock } from "../../std/clock.ts";

interface ExitSignalOptions {
  readonly clock: Clock;
  /** How long the work may take to end before the process exits anyway. */
  readonly drainMs: number;
  /** Called at the first signal: take no new work. */
  onSignal(): void;
}

interface ExitSignals {
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

  const handle = (_: NodeJS.Signals, number: number): void => {
    const exit = (): never => process.exit(128 + number);
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

/** The parts of a process that show whether its parent is alive. */
interface Family {
  readonly ppid: number;
  on(event: "disconnect", listener: () => void): unknown;
  off(event: "disconnect", listener: () => void): unknown;
}

/**
 * Calls `onDeath` once when the parent of this process has died. Returns how to
 * stop watching.
 *
 * Needed where the end of stdin does not tell, because another process holds
 * the same pipe. On Windows a process keeps the number of its dead parent, so
 * there only stdin tells.
 */
export function watchParent(clock: Clock, onDeath: () => void, family: Family = process): () => void {
  const parent = family.ppid;
  let cancel: (() => void) | undefined;

  const look = (): void => {
    if (family.ppid === parent) {
      wait(lookMs);
      return;
    }
    stop();
    onDeath();
  };
  const wait = (ms: number): void => {
    cancel?.();
    cancel = clock.after(ms, look);
  };
  // A parent that dies closes its channel first, and only then is somebody else the parent.
  const lookSoon = (): void => wait(soonMs);
  const stop = (): void => {
    cancel?.();
    family.off("disconnect", lookSoon);
  };

  family.on("disconnect", lookSoon);
  wait(lookMs);
  return stop;
}

const lookMs = 3000;
const soonMs = 100;
