import { asJson } from "../../json/json.ts";
import { weightOf } from "../../json/weight.ts";
import { accountOf } from "../../protocol/account.ts";
import { type Amounts, isShare, type Share, type Shares } from "../../protocol/shares.ts";
import type { Awaitable } from "../../std/awaitable.ts";
import type { Deadline, Deadlines } from "../../std/deadlines.ts";
import type { Execution } from "./execution.ts";
import type { ReplayState } from "./input-state.ts";

/** A suspended run, and the position of its journal at its last write. */
export interface Parked {
  readonly execution: Execution;
  readonly place: ParkingKey;
  /** What the state says that its client has. */
  readonly known: ReplayState;
}

/** The position of a run in its journal. */
export interface ParkingKey {
  readonly id: string;
  position: number;
  /** The position when the client was last asked: the state that was sent covers all entries up to it. */
  asked: number;
}

export interface ParkingOptions {
  readonly deadlines: Deadlines;
  readonly askTimeoutMs: number;
  readonly shares: Shares;
  /** True where a handler cannot outlive its request: no run is retained, and each round runs the handler again. */
  readonly requestBound?: boolean | undefined;
  /** Records what a run has done that is dropped from memory. True when another process continued it, so that it must not be aborted here. */
  leave(parked: Parked): Awaitable<boolean>;
}

/** Suspended runs of this process. Each counts for the budget of its caller, and is dropped when its state expires. */
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

  /**
   * A run that another process continues is dropped without an abort: its cleanup could undo what that process uses.
   */
  const abandonRun = (name: string, reason: string): void => {
    const entry = unpark(name);
    if (entry === undefined) return;
    const abandon = (): void => entry.execution.abandon(reason);
    const moved = leave(entry);
    if (moved instanceof Promise) moved.then((it) => it || abandon(), abandon);
    else if (!moved) abandon();
  };

  return {
    park(name, run) {
      const expire = (): void => abandonRun(name, "no answer came in time");
      const deadline = deadlines.start({ idleMs: 0, totalMs: askTimeoutMs }, expire);
      const { call } = run.execution;
      const taken = shares.take(accountOf(call), { parkedCalls: 1, heldBytes: weightOf(asJson(call.params)) });
      const share = isShare(taken) ? taken : undefined;
      parked.set(name, { ...run, deadline, share });
      const makeRoom = (): Amounts => {
        abandonRun(name, "too many calls wait for answers");
        return {};
      };
      if (share === undefined) makeRoom();
      else share.yields(makeRoom);
    },
    unpark,
  };
}
