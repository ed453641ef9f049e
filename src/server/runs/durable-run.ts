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
  leaseLost,
  type RoundEnd,
  type RunHistory,
  readEntries,
  readHistory,
  runName,
  stepEntry,
} from "./journal.ts";
import { createOutcomeMemory, type OutcomeMemory } from "./outcome-memory.ts";
import type { ParkingKey } from "./parking.ts";

/** A run that only this process may continue, until it is released. */
export interface DurableRun extends ParkingKey {
  /** What its journal said when it was taken. */
  readonly history: RunHistory;
  /** For writes of what belongs to the run: they fail when another process has taken over. */
  readonly fence: number;
  /** True when another process has taken over, or may have. */
  readonly isLost: boolean;
  /** Writes from now on. */
  readonly journal: Journal;
  /** Works for the run; its steps are waited for before others may have the run. */
  execution: Execution | undefined;
  /** Called once, when another process has taken over, or may have. */
  onLost: () => void;
  /** Adds all entries or none. Rejects with `cancelled` when another process has taken over. */
  append(...entries: readonly JsonObject[]): Promise<void>;
  /** Says how a round ended. */
  end(rest: RoundEnd): Promise<void>;
  /** Does one thing after the other, and nothing more once it is left. */
  inTurn(work: () => Promise<void>): Promise<void>;
  /**
   * Writes to the store, and retries while it is unavailable. Rejects with `cancelled` when the run is released or lost
   * meanwhile.
   */
  persist<T>(write: () => Awaitable<T>): Promise<T>;
  /** This process does nothing more for it: its lease runs out. */
  leave(): void;
  /** Lets others have it, when no step is running any more. Never rejects. */
  release(): Promise<void>;
}

export interface DurableRuns {
  /** Begins a new run. */
  begin(id: string): Promise<DurableRun>;
  /** Acquires a run that no process holds. */
  take(id: string): Promise<DurableRun | undefined>;
  /**
   * Acquires a run, and waits for its holder to release it or to end. Undefined when it stays held, or the call is
   * aborted.
   */
  waitFor(call: Call, id: string): Promise<DurableRun | undefined>;
  /** Why what comes of a call could not be remembered in this process, if so. */
  shortage(call: Call, id: string): Shortage | undefined;
  /** Writes entries of a run that no process continues. False when a process does, or did. */
  note(place: ParkingKey, entries: readonly JsonObject[]): Promise<boolean>;
  /** True when a run is further than that. */
  hasMoved(place: ParkingKey): Awaitable<boolean>;
}

export interface DurableRunsOptions {
  readonly store: Lazy<Store>;
  /** True when other processes may use the store. */
  readonly isShared: boolean;
  /** True when the store and all its runs end with this process, so that leases need not expire. */
  readonly isAlone: boolean;
  readonly deadlines: Deadlines;
  readonly leaseMs: number;
  /** How long a client may take to return with answers. When left out, a run is retained until it is deleted. */
  readonly askTimeoutMs?: number;
  /** True when the run may wait for the store: writes that fail now are retried when the store is available. */
  readonly waitsForStore?: boolean;
  readonly shares: Shares;
  now(): number;
}

/** How long a run that did not end is remembered where its process may be replaced. */
const UNFINISHED_MS = 86_400_000;
/** How much longer than its state a run is remembered: clocks differ. */
const SPARE_MS = 60_000;
/** A lease that need not expire. */
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
      if (lease === undefined) throw leaseLost();
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
    async waitFor(call, id) {
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
      // A store that is not created yet is empty.
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
  /** The account of these outcomes. Absent where none are retained in memory. */
  readonly account?: string | undefined;
  readonly memory?: OutcomeMemory | undefined;
}

function durableRun({ id, store, lease, known, account, memory }: Taken, options: DurableRunsOptions): DurableRun {
  const { isShared, waitsForStore = false, deadlines, leaseMs } = options;
  const [unfinishedMs, endedMs] = [ttlOf(options, isShared ? UNFINISHED_MS : SPARE_MS), ttlOf(options, SPARE_MS)];
  let isLeft = false;
  let turn: Promise<unknown> = Promise.resolve();

  const leave = (): void => {
    isLeft = true;
    kept.stopRenewing();
  };

  const lose = (): void => {
    if (run.isLost) return;
    leave();
    run.isLost = true;
    run.onLost();
  };

  const persist = async <T>(write: () => Awaitable<T>): Promise<T> => {
    for (;;) {
      if (isLeft) throw leaseLost();
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
      throw leaseLost();
    }
    run.position = Math.max(run.position, position);
  };

  /** A step of a waiting run counts as done only when it is written. */
  const append = async (...added: readonly JsonObject[]): Promise<void> => {
    if (!waitsForStore) return add(added, unfinishedMs);
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
      // An append without entries checks whether appends are possible.
      ready: () => (kept.isSure ? undefined : append()),
      step: (key, result) => append(stepEntry(key, result)),
    } satisfies Journal,
    append,
    async end(rest: RoundEnd) {
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

/** A lease that is renewed until it is released. */
interface KeptLease {
  /** True while no other process can hold the lease. False when that is uncertain. */
  readonly isSure: boolean;
  /** Renews it no more, so that it runs out. */
  stopRenewing(): void;
  /** Releases the lease. Never rejects: a lease that cannot be released expires. */
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

  const stopRenewing = (): void => {
    isKept = false;
    timer?.stop();
  };

  arm();
  return {
    get isSure() {
      return isKept && hasTime();
    },
    stopRenewing,
    async release() {
      stopRenewing();
      await promised(() => lease.release()).catch(() => {});
    },
  };
}
