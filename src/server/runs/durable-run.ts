import type { JsonObject } from "../../json/json.ts";
import { type Call, onAbort } from "../../model/service.ts";
import { promised } from "../../std/awaitable.ts";
import type { Deadline, Deadlines } from "../../std/deadlines.ts";
import type { Lease, Store } from "../../store/store.ts";
import type { Execution } from "./execution.ts";
import type { Journal } from "./input-state.ts";
import {
  appendEntries,
  endEntry,
  type Rest,
  type RunHistory,
  readEntries,
  readHistory,
  stepEntry,
  takenOver,
} from "./journal.ts";
import type { Place } from "./parking.ts";

/** A run that only this process may go on with, until it is released. */
export interface DurableRun extends Place {
  /** What it was when it was taken. */
  readonly history: RunHistory;
  /** True when another process has taken over, or may have. */
  readonly isLost: boolean;
  /** Keeps what is done from now on. */
  readonly journal: Journal;
  /** This is aborted when another process takes over. */
  execution: Execution | undefined;
  /** Adds all entries or none. Rejects with `cancelled` when another process has taken over. */
  add(...entries: readonly JsonObject[]): Promise<void>;
  end(rest: Rest): Promise<void>;
  /** Lets others have it, when no step is running any more. Never rejects. */
  release(): Promise<void>;
}

export interface DurableRuns {
  /** Takes a run, if necessary when its holder lets go or is gone. Undefined when it stays held, or the call is aborted. */
  take(id: string, call: Call): Promise<DurableRun | undefined>;
  /** True when a run is further than that. */
  hasMoved(place: Place): Promise<boolean>;
}

interface DurableRunsOptions {
  store(): Promise<Store>;
  readonly deadlines: Deadlines;
  readonly leaseMs: number;
  readonly stateTtlMs: number;
  now(): number;
}

/** How long a run that did not end is remembered. */
const UNFINISHED_MS = 86_400_000;
/** How much longer than its state a run is remembered: clocks differ. */
const SPARE_MS = 60_000;

export function createDurableRuns(options: DurableRunsOptions): DurableRuns {
  const { leaseMs } = options;

  const acquire = async (store: Store, name: string, call: Call): Promise<Lease | undefined> => {
    const pauseMs = Math.min(leaseMs / 20, 250);
    for (let waitedMs = 0; waitedMs < leaseMs * 1.5; waitedMs += pauseMs) {
      const lease = await store.leases.acquire(name, leaseMs);
      if (lease !== undefined) return lease;
      if (await isAbortedWithin(pauseMs, call, options.deadlines)) return undefined;
    }
    return undefined;
  };

  return {
    async take(id, call) {
      const store = await options.store();
      const lease = await acquire(store, nameOf(id), call);
      if (lease === undefined) return undefined;
      try {
        const entries = await readEntries(store, nameOf(id));
        return durableRun({ id, store, lease, entries }, options);
      } catch (error) {
        await promised(() => lease.release()).catch(() => {});
        throw error;
      }
    },
    async hasMoved({ id, position }) {
      const store = await options.store();
      return (await store.streams.read(nameOf(id), position, 1)).last > position;
    },
  };
}

function nameOf(id: string): string {
  return `run:${id}`;
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
  readonly entries: readonly JsonObject[];
}

function durableRun({ id, store, lease, entries }: Taken, options: DurableRunsOptions): DurableRun {
  const { stateTtlMs } = options;
  const place = { store, name: nameOf(id), lease };

  /** A handler that waits for an answer is left where it stands: what it would undo is still in use elsewhere. */
  const lose = (): void => {
    kept.letRunOut();
    run.isLost = true;
    if (run.execution?.dialogue?.isWaiting !== true) run.execution?.abandon(takenOver().message);
  };

  const append = async (added: readonly JsonObject[], ttl: number): Promise<void> => {
    const position = await appendEntries({ ...place, ttl }, added);
    if (position !== undefined) {
      run.position = Math.max(run.position, position);
      return;
    }
    lose();
    throw takenOver();
  };

  const unfinishedMs = stateTtlMs + UNFINISHED_MS;
  const kept: KeptLease = keepLease(lease, { ...options, onLost: lose });
  const run = {
    id,
    position: entries.length,
    isLost: false,
    history: readHistory(entries),
    execution: undefined as Execution | undefined,
    journal: {
      // Adding nothing tells whether something could be added.
      ready: () => (kept.isSure ? undefined : append([], unfinishedMs)),
      step: (key, result) => append([stepEntry(key, result)], unfinishedMs),
    } satisfies Journal,
    add: (...added: readonly JsonObject[]) => append(added, unfinishedMs),
    end: (rest: Rest) => append([endEntry(rest)], stateTtlMs + SPARE_MS),
    async release() {
      const dialogue = run.execution?.dialogue;
      if (dialogue?.isBusy !== true) return kept.release();
      kept.letRunOut();
      void dialogue.idle().then(kept.release);
    },
  };
  return run;
}

interface KeepOptions {
  readonly leaseMs: number;
  readonly deadlines: Deadlines;
  now(): number;
  /** Called once, when it was lost. */
  onLost(): void;
}

/** A lease that is renewed until it is let go. */
interface KeptLease {
  readonly token: number;
  /** True while nobody else can hold it. False when that would have to be asked. */
  readonly isSure: boolean;
  /** Renews it no more, so that it runs out. */
  letRunOut(): void;
  /** Gives it back. Never rejects: one that cannot be given back runs out. */
  release(): Promise<void>;
}

/** Renews a lease that was just taken, after every third of its time. */
export function keepLease(lease: Lease, { leaseMs, deadlines, now, onLost }: KeepOptions): KeptLease {
  let renewedAt = now();
  let isKept = true;
  let timer: Deadline;

  const arm = (): void => {
    timer = deadlines.start({ idleMs: 0, totalMs: leaseMs / 3 }, () => void renew());
  };

  const hasTime = (): boolean => now() - renewedAt < leaseMs;

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
    timer.stop();
  };

  arm();
  return {
    token: lease.token,
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
