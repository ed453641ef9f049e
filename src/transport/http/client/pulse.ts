import type { Clock } from "../../../std/clock.ts";
import type { Deadline, Deadlines } from "../../../std/deadlines.ts";

/** Notices that a connection is dead although nobody has closed it. */
export interface Pulse {
  /** Something arrived. A beat is what servers send only to show that they are there. */
  arrived(isBeat: boolean): void;
  stop(): void;
}

export interface PulseOptions {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** The connection has been silent for longer than its server ever was. */
  dead(): void;
}

/** Beats that follow each other faster than this are no rhythm but parts of one thing. */
const shortestMs = 1_000;
/** How many beats in a row may be missing before the connection counts as dead. */
const patience = 2.5;

/**
 * Learns the rhythm of a server from its beats. One that never beats, or beat
 * only once, may be silent for as long as it likes.
 */
export function createPulse({ clock, deadlines, dead }: PulseOptions): Pulse {
  let last: number | undefined;
  let longest = 0;
  let deadline: Deadline | undefined;

  const learn = (gap: number): void => {
    if (gap < shortestMs || gap <= longest) return;
    longest = gap;
    deadline?.stop();
    deadline = deadlines.start({ idleMs: longest * patience, totalMs: 0 }, dead);
  };

  return {
    arrived(isBeat) {
      deadline?.touch();
      if (!isBeat) return;
      const now = clock.now();
      if (last !== undefined) learn(now - last);
      last = now;
    },
    stop: () => deadline?.stop(),
  };
}
