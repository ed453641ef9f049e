import type { Clock } from "../../std/clock.ts";

/** The parts of a process that tell whether its parent lives. */
export interface Family {
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
