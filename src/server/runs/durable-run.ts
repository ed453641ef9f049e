import type { JsonObject } from "../../json/json.ts";
import { accountOf } from "../../protocol/account.ts";
import type { Shortage } from "../../protocol/budget.ts";
import { type Call, onAbort } from "../../protocol/service.ts";
import type { Shares } from "../../protocol/shares.ts";
import { type Awaitable, promised } from "../../std/awaitable.ts";
import type { Deadline, Deadlines } from "../../std/deadlines.ts";
import type { Lazy } from "../../std/lazy.ts";
import { isUnavailable, type Lease, type Store } from "../../store/store.ts";
import type { Execution } from "./execution.ts";
import type { Journal } from "./input-state.ts";
import {
  appendEntries,
  endEntry,
  type JournalPart,
  type Rest,
  type RunHistory,
  readEntries,
  readHistory,
  runName,
  stepEntry,
  takenOver,
} from "./journal.ts";
import { createOutcomeMemory, type OutcomeMemory } from "./outcome-memory.ts";
import type { ParkingPlace } from "./parking.ts";

/** A run that only this process may go on with, until it is released. */
export interface DurableRun extends ParkingPlace {
  /** What its journal said when it was taken. */
  readonly history: RunHistory;
  /** For writes of what belongs to the run: they fail when another process has taken over. */
  readonly fence: number;
  /** True when another process has taken over, or may have. */
  readonly isLost: boolean;
  /** Keeps what is done from now on. */
  readonly journal: Journal;
  /** Works for the run; its steps are waited for before others may have the run. */
  execution: Execution | undefined;
  /** Called once, when another process has taken over, or may have. */
  onLost: () => void;
  /** Adds all entries or none. Rejects with `cancelled` when another process has taken over. */
  append(...entries: readonly JsonObject[]): Promise<void>;
  /** Says how a round ended. */
  end(rest: Rest): Promise<void>;
  /** Does one thing after the other, and nothing more once it is left. */
  inTurn(work: () => Promise<void>): Promise<void>;
  /** Writes to the store, and waits while that is away. Rejects with `cancelled` when the run is left or lost meanwhile. */
  persist<T>(write: () => Awaitable<T>): Promise<T>;
  /** This process does nothing more for it: its lease runs out. */
  leave(): void;
  /** Lets others have it, when no step is running any more. Never rejects. */
  release(): Promise<void>;
}

export interface DurableRuns {
  /** Begins a run that nobody else knows of. */
  begin(id: string): Promise<DurableRun>;
  /** Takes a run that nobody holds. */
  take(id: string): Promise<DurableRun | undefined>;
  /** Takes a run, if necessary when its holder lets go or is gone. Undefined when it stays held, or the call is aborted. */
  takeFor(call: Call, id: string): Promise<DurableRun | undefined>;
  /** Why what comes of a call could not be remembered in this process, if so. */
  shortage(call: Call, id: string): Shortage | undefined;
  /** Writes down what belongs to a run that nobody goes on with. False when somebody does, or did. */
  note(place: ParkingPlace, entries: readonly JsonObject[]): Promise<boolean>;
  /** True when a run is further than that. */
  hasMoved(place: ParkingPlace): Awaitable<boolean>;
}

export interface DurableRunsOptions {
  readonly store: Lazy<Store>;
  /** True when other processes may use the store. */
  readonly isShared: boolean;
  /** True when the store ends with this process, and this process with no run: leases need not run out. */
  readonly isAlone: boolean;
  readonly deadlines: Deadlines;
  readonly leaseMs: number;
  /** How long a client may take to come back with answers. Left out, a run is kept until it is deleted. */
  readonly askTimeoutMs?: number;
  /** True when nobody waits for the run: what cannot be written now is written when the store is back. */
  readonly isPatient?: boolean;
  readonly shares: Shares;
  now(): number;
}

/** How long a run that did not end is remembered where its process may be replaced. */
const UNFINISHED_MS = 86_400_000;
/** How much longer than its state a run is remembered: clocks differ. */
const SPARE_MS = 60_000;
/** Of a lease that need not run out. */
const ENDLESS_MS = 2 ** 40;

export function createDurableRuns(options: DurableRunsOptions): DurableRuns {
  const { leaseMs, isShared, isAlone, deadlines } = options;
  // What others share is bounded by its time alone.
  const memory = isShared ? undefined : createOutcomeMemory(options.store, options.shares, ttlOf(options, SPARE_MS));

  const acquire = (store: Store, id: string): Awaitable<Lease | undefined> =>
    store.leases.acquire(runName(id), isAlone ? ENDLESS_MS : leaseMs);

  const open = async (store: Store, id: string, lease: Lease, account?: string): Promise<DurableRun> => {
    try {
      const known = await readEntries(store, runName(id));
      return durableRun({ id, store, lease, known, account, memory }, options);
    } catch (error) {
      await promised(() => lease.release()).catch(() => {});
      throw error;
    }
  };

  const take = async (id: string): Promise<DurableRun | undefined> => {
    const store = await options.store.load();
    const lease = await acquire(store, id);
    return lease && open(store, id, lease);
  };

  return {
    async begin(id) {
      const store = await options.store.load();
      const lease = await acquire(store, id);
      if (lease === undefined) throw takenOver();
      return durableRun({ id, store, lease, known: { entries: [], last: 0 } }, options);
    },
    take,
    async note(place, entries) {
      const run = await take(place.id);
      const isHere = run?.position === place.position;
      if (isHere) await run.append(...entries);
      if (isHere) place.position = run.position;
      await run?.release();
      return isHere;
    },
    async takeFor(call, id) {
      const store = await options.store.load();
      const pauseMs = Math.min(leaseMs / 20, 250);
      for (let waitedMs = 0; waitedMs < leaseMs * 1.5; waitedMs += pauseMs) {
        const lease = await acquire(store, id);
        if (lease !== undefined) return open(store, id, lease, accountOf(call));
        if (await isAbortedWithin(pauseMs, call, deadlines)) return undefined;
      }
      return undefined;
    },
    shortage: (call, id) => memory?.shortage({ id, account: accountOf(call) }),
    hasMoved({ id, position }) {
      // Nobody has written to a store that this process has yet to make.
      if (!isShared && options.store.loaded === undefined) return false;
      return options.store.load().then(async ({ streams }) => {
        const { last } = await streams.read(runName(id), position, 1);
        return last > position;
      });
    },
  };
}

function ttlOf({ askTimeoutMs }: DurableRunsOptions, spareMs: number): number | undefined {
  return askTimeoutMs === undefined ? undefined : askTimeoutMs + spareMs;
}

/** Waits, unless the call is aborted before or meanwhile. */
function isAbortedWithin(ms: number, call: Call, deadlines: Deadlines): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = deadlines.start({ idleMs: 0, totalMs: ms }, () => {
      unlisten();
      resolve(false);
    });
    const unlisten = onAbort(call, () => {
      timer.stop();
      resolve(true);
    });
  });
}

interface Taken {
  readonly id: string;
  readonly store: Store;
  readonly lease: Lease;
  readonly known: JournalPart;
  /** Whose outcomes these are. Absent where none are kept in memory. */
  readonly account?: string | undefined;
  readonly memory?: OutcomeMemory | undefined;
}

function durableRun({ id, store, lease, known, account, memory }: Taken, options: DurableRunsOptions): DurableRun {
  const { isShared, isPatient = false, deadlines, leaseMs } = options;
  const [unfinishedMs, endedMs] = [ttlOf(options, isShared ? UNFINISHED_MS : SPARE_MS), ttlOf(options, SPARE_MS)];
  let isLeft = false;
  let turn: Promise<unknown> = Promise.resolve();

  const leave = (): void => {
    isLeft = true;
    kept.letRunOut();
  };

  const lose = (): void => {
    if (run.isLost) return;
    leave();
    run.isLost = true;
    run.onLost();
  };

  const persist = async <T>(write: () => Awaitable<T>): Promise<T> => {
    for (;;) {
      if (isLeft) throw takenOver();
      try {
        return await write();
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
      await new Promise<void>((resolve) => {
        deadlines.start({ idleMs: 0, totalMs: leaseMs / 3 }, resolve);
      });
    }
  };

  const add = async (added: readonly JsonObject[], ttlMs: number | undefined): Promise<void> => {
    const position = await appendEntries({ store, name: runName(id), lease, ttlMs }, added);
    if (position === undefined) {
      lose();
      throw takenOver();
    }
    run.position = Math.max(run.position, position);
  };

  /** What a patient run cannot keep is not done. */
  const append = async (...added: readonly JsonObject[]): Promise<void> => {
    if (!isPatient) return add(added, unfinishedMs);
    return persist(() => add(added, unfinishedMs)).catch((error: unknown) => {
      lose();
      throw error;
    });
  };

  const kept: KeptLease = keepLease(lease, { ...options, onLost: lose });
  const run = {
    id,
    position: known.last,
    asked: 0,
    isLost: false,
    history: readHistory(known.entries),
    fence: lease.token,
    execution: undefined as Execution | undefined,
    onLost: () => {},
    journal: {
      // Adding nothing tells whether something could be added.
      ready: () => (kept.isSure ? undefined : append()),
      step: (key, result) => append(stepEntry(key, result)),
    } satisfies Journal,
    append,
    async end(rest: Rest) {
      await add([endEntry(rest)], endedMs);
      if (account !== undefined) memory?.remember({ id, account }, rest);
    },
    inTurn(work: () => Promise<void>) {
      const done = turn.then(() => (isLeft ? undefined : work()));
      turn = done.catch(() => {});
      return done;
    },
    persist,
    leave,
    async release() {
      const inputState = run.execution?.inputState;
      leave();
      if (inputState?.isBusy !== true) return kept.release();
      void inputState.idle().then(kept.release);
    },
  };
  return run;
}

interface KeepOptions extends Pick<DurableRunsOptions, "leaseMs" | "isAlone" | "deadlines" | "now"> {
  /** Called once, when it was lost. */
  onLost(): void;
}

/** A lease that is renewed until it is let go. */
interface KeptLease {
  /** True while nobody else can hold it. False when that would have to be asked. */
  readonly isSure: boolean;
  /** Renews it no more, so that it runs out. */
  letRunOut(): void;
  /** Gives it back. Never rejects: one that cannot be given back runs out. */
  release(): Promise<void>;
}

/** Renews a lease that was just taken, after every third of its time, if it can run out at all. */
function keepLease(lease: Lease, { leaseMs, isAlone, deadlines, now, onLost }: KeepOptions): KeptLease {
  let renewedAt = now();
  let isKept = true;
  let timer: Deadline | undefined;

  const arm = (): void => {
    if (!isAlone) timer = deadlines.start({ idleMs: 0, totalMs: leaseMs / 3 }, () => void renew());
  };

  const hasTime = (): boolean => isAlone || now() - renewedAt < leaseMs;

  const renew = async (): Promise<void> => {
    const at = now();
    const renewed = await promised(() => lease.renew()).catch(() => undefined);
    if (!isKept) return;
    if (renewed === true) renewedAt = at;
    // A store that is out of reach for a moment has not given it to another.
    if (renewed === false || !hasTime()) {
      isKept = false;
      return onLost();
    }
    arm();
  };

  const letRunOut = (): void => {
    isKept = false;
    timer?.stop();
  };

  arm();
  return {
    get isSure() {
      return isKept && hasTime();
    },
    letRunOut,
    async release() {
      letRunOut();
      await promised(() => lease.release()).catch(() => {});
    },
  };
}
