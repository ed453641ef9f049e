import { accountOf } from "../../protocol/account.ts";
import { type Amounts, isShare, type Share, type Shares } from "../../protocol/shares.ts";
import type { Awaitable } from "../../std/awaitable.ts";
import type { Deadline, Deadlines } from "../../std/deadlines.ts";
import type { Execution } from "./execution.ts";
import type { ReplayState } from "./input-state.ts";

/** A suspended run, and how far its journal was when it last wrote there. */
export interface Parked {
  readonly execution: Execution;
  readonly place: ParkingPlace;
  /** What the state says that its client has. */
  readonly known: ReplayState;
}

/** Where a run stands in what all processes know of it. */
export interface ParkingPlace {
  readonly id: string;
  position: number;
  /** The position that it had when the client was last asked: the state that went out says all up to there. */
  asked: number;
}

export interface ParkingOptions {
  readonly deadlines: Deadlines;
  readonly askTimeoutMs: number;
  readonly shares: Shares;
  /** True where a handler cannot outlive its request: nothing is kept, and each round runs it again. */
  readonly requestBound?: boolean | undefined;
  /** Records what a run has done that is dropped from memory. True when another process continued it, so that it must not be aborted here. */
  leave(parked: Parked): Awaitable<boolean>;
}

/** Suspended runs of this process. Each has its place in the budget of its caller; none stays longer than its state is good. */
export interface Parking {
  park(name: string, parked: Parked): void;
  unpark(name: string): Parked | undefined;
}

interface Waiting extends Parked {
  readonly deadline: Deadline;
  /** Absent when there is no room for it. */
  readonly share: Share | undefined;
}

export function createParking({ requestBound, ...options }: ParkingOptions): Parking {
  return requestBound === true ? { park() {}, unpark: () => undefined } : createSpace(options);
}

function createSpace({ deadlines, askTimeoutMs, shares, leave }: ParkingOptions): Parking {
  const parked = new Map<string, Waiting>();

  const unpark = (name: string): Parked | undefined => {
    const entry = parked.get(name);
    parked.delete(name);
    entry?.deadline.stop();
    entry?.share?.release();
    return entry;
  };

  /** A run that went on in another process is left where it stands: what it would undo is still in use there. */
  const giveUp = (name: string, reason: string): void => {
    const entry = unpark(name);
    if (entry === undefined) return;
    const abandon = (): void => entry.execution.abandon(reason);
    const moved = leave(entry);
    if (moved instanceof Promise) moved.then((it) => it || abandon(), abandon);
    else if (!moved) abandon();
  };

  return {
    park(name, run) {
      const expire = (): void => giveUp(name, "no answer came in time");
      const deadline = deadlines.start({ idleMs: 0, totalMs: askTimeoutMs }, expire);
      const taken = shares.take(accountOf(run.execution.call), { parkedCalls: 1 });
      const share = isShare(taken) ? taken : undefined;
      parked.set(name, { ...run, deadline, share });
      const makeRoom = (): Amounts => {
        giveUp(name, "too many calls wait for answers");
        return {};
      };
      if (share === undefined) makeRoom();
      else share.yields(makeRoom);
    },
    unpark,
  };
}
