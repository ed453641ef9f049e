import type { Awaitable } from "../../std/awaitable.ts";
import type { Deadline, Deadlines } from "../../std/deadlines.ts";
import type { Execution } from "./execution.ts";

/** A suspended run, and how far its journal was when it last wrote there. */
export interface Parked {
  readonly execution: Execution;
  readonly place: ParkingPlace;
}

/** Where a run stands in what all processes know of it. */
export interface ParkingPlace {
  readonly id: string;
  readonly position: number;
}

export interface ParkingOptions {
  readonly deadlines: Deadlines;
  readonly askTimeoutMs: number;
  readonly maxParkedCalls: number;
  /** True where a handler cannot outlive its request: nothing is kept, and each round runs it again. */
  readonly requestBound?: boolean | undefined;
  /** True when a run went on elsewhere, so that it must not be unwound here. */
  hasMoved(place: ParkingPlace): Awaitable<boolean>;
}

/** Suspended runs of this process. The oldest give way when there are too many; none stays longer than its state is good. */
export interface Parking {
  park(name: string, parked: Parked): void;
  unpark(name: string): Parked | undefined;
}

export function createParking({ requestBound, ...options }: ParkingOptions): Parking {
  return requestBound === true ? { park() {}, unpark: () => undefined } : createSpace(options);
}

function createSpace({ deadlines, askTimeoutMs, maxParkedCalls, hasMoved }: ParkingOptions): Parking {
  const parked = new Map<string, Parked & { readonly deadline: Deadline }>();

  const unpark = (name: string): Parked | undefined => {
    const entry = parked.get(name);
    parked.delete(name);
    entry?.deadline.stop();
    return entry;
  };

  /** A run that went on in another process is left where it stands: what it would undo is still in use there. */
  const giveUp = (name: string, reason: string): void => {
    const entry = unpark(name);
    if (entry === undefined) return;
    const abandon = (): void => entry.execution.abandon(reason);
    const moved = hasMoved(entry.place);
    if (moved instanceof Promise) moved.then((it) => it || abandon(), abandon);
    else if (!moved) abandon();
  };

  return {
    park(name, { execution, place }) {
      const expire = (): void => giveUp(name, "no answer came in time");
      const deadline = deadlines.start({ idleMs: 0, totalMs: askTimeoutMs }, expire);
      parked.set(name, { execution, place, deadline });
      const [oldest] = parked.keys();
      if (parked.size > maxParkedCalls && oldest !== undefined) giveUp(oldest, "too many calls wait for answers");
    },
    unpark,
  };
}
