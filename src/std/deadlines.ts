import type { Clock } from "./clock.ts";
import { type Linked, LinkedSet } from "./linked-set.ts";

/** A time limit on one piece of work. */
export interface Deadline {
  /** A sign of life: the idle time starts anew, the total does not. */
  touch(): void;
  /** The work is over. Nothing happens any more. */
  stop(): void;
}

export interface DeadlineLimits {
  /** Expires after this long without a sign of life. 0 is off. */
  readonly idleMs: number;
  /** Expires after this long, whatever happens. 0 is off. */
  readonly totalMs: number;
}

/**
 * Many time limits on one timer.
 *
 * A timer per call costs more than a small call does. Starting and stopping a
 * deadline here is a set operation; the timer is armed for the earliest one.
 */
export interface Deadlines {
  start(limits: DeadlineLimits, expire: () => void): Deadline;
}

/** Where a timer ends with its request, each limit has one of its own. */
export function createDeadlines(clock: Clock): Deadlines {
  if (!clock.requestBound) return createSharedTimer(clock);
  return { start: (limits, expire) => createSharedTimer(clock).start(limits, expire) };
}

function createSharedTimer(clock: Clock): Deadlines {
  const active = new LinkedSet<Entry>();
  let armedFor = Number.POSITIVE_INFINITY;
  let disarm = (): void => {};

  const arm = (due: number): void => {
    if (due >= armedFor) return;
    disarm();
    armedFor = due;
    disarm = due === Number.POSITIVE_INFINITY ? () => {} : clock.after(Math.max(0, due - clock.now()), tick);
  };

  const tick = (): void => {
    armedFor = Number.POSITIVE_INFINITY;
    const now = clock.now();
    let earliest = Number.POSITIVE_INFINITY;
    const expired: Entry[] = [];
    for (const entry of active.toArray()) {
      if (entry.due <= now) expired.push(entry);
      else earliest = Math.min(earliest, entry.due);
    }
    arm(earliest);
    for (const entry of expired) {
      // The end of one may be a sign of life of another.
      if (entry.due > now) arm(entry.due);
      else if (active.delete(entry)) entry.expire();
    }
  };

  return {
    start(limits, expire) {
      const entry = new Entry(limits, clock, { active, expire });
      if (entry.due === Number.POSITIVE_INFINITY) return entry;
      active.add(entry);
      arm(entry.due);
      return entry;
    },
  };
}

class Entry implements Deadline, Linked<Entry> {
  previous: Entry | undefined;
  next: Entry | undefined;
  due: number;
  readonly expire: () => void;
  readonly #active: LinkedSet<Entry>;
  readonly #clock: Clock;
  readonly #idleMs: number;
  readonly #end: number;

  constructor(
    { idleMs, totalMs }: DeadlineLimits,
    clock: Clock,
    owner: { active: LinkedSet<Entry>; expire: () => void },
  ) {
    const now = clock.now();
    this.#clock = clock;
    this.#active = owner.active;
    this.expire = owner.expire;
    this.#idleMs = idleMs;
    this.#end = totalMs > 0 ? now + totalMs : Number.POSITIVE_INFINITY;
    this.due = idleMs > 0 ? Math.min(now + idleMs, this.#end) : this.#end;
  }

  touch(): void {
    if (this.#idleMs > 0) this.due = Math.min(this.#clock.now() + this.#idleMs, this.#end);
  }

  stop(): void {
    this.#active.delete(this);
  }
}
