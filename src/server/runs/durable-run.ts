import type { JsonObject } from "../../json/json.ts";
import { toFailure } from "../../model/errors.ts";
import { type Call, onAbort } from "../../model/service.ts";
import { type Awaitable, promised } from "../../std/awaitable.ts";
import type { Deadline, Deadlines } from "../../std/deadlines.ts";
import type { Lazy } from "../../std/lazy.ts";
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
  runName,
  stepEntry,
  takenOver,
} from "./journal.ts";
import type { Place } from "./parking.ts";
import { refusedTicket } from "./ticket.ts";

/** A run that only this process may go on with, until it is released. */
export interface DurableRun extends Place {
  /** What its journal said when it was taken. */
  readonly history: RunHistory;
  /** True when another process has taken over, or may have. */
  readonly isLost: boolean;
  /** Keeps what is done from now on. */
  readonly journal: Journal;
  /** Works for the run; its steps are waited for before others may have the run. */
  execution: Execution | undefined;
  /** Called once, when another process has taken over. */
  onLost: () => void;
  /** Adds all entries or none. Rejects with `cancelled` when another process has taken over. */
  append(...entries: readonly JsonObject[]): Promise<void>;
  end(rest: Rest): Promise<void>;
  /** Lets others have it, when no step is running any more. Never rejects. */
  release(): Promise<void>;
}

export interface DurableRuns {
  /** Takes a run, if necessary when its holder lets go or is gone. Undefined when it stays held, or the call is aborted. */
  take(id: string, call: Call): Promise<DurableRun | undefined>;
  /** True when a run is further than that. */
  hasMoved(place: Place): Awaitable<boolean>;
}

export interface DurableRunsOptions {
  readonly store: Lazy<Store>;
  /** True when other processes may use the store. */
  readonly isShared: boolean;
  readonly deadlines: Deadlines;
  readonly leaseMs: number;
  readonly stateTtlMs: number;
  now(): number;
}

/** How long a run that did not end is remembered where its process may be replaced. */
const UNFINISHED_MS = 86_400_000;
/** How much longer than its state a run is remembered: clocks differ. */
const SPARE_MS = 60_000;

export function createDurableRuns(options: DurableRunsOptions): DurableRuns {
  const { leaseMs, isShared, stateTtlMs } = options;
  const remember = isShared ? undefined : createMemoryBound(stateTtlMs + SPARE_MS);

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
      const store = await options.store.load();
      const lease = await acquire(store, runName(id), call);
      if (lease === undefined) return undefined;
      try {
        const entries = await readEntries(store, runName(id));
        return durableRun({ id, store, lease, entries, remember }, options);
      } catch (error) {
        await promised(() => lease.release()).catch(() => {});
        throw error;
      }
    },
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
  readonly remember: Remember | undefined;
}

function durableRun({ id, store, lease, entries, remember }: Taken, options: DurableRunsOptions): DurableRun {
  const { stateTtlMs, isShared } = options;
  const place = { store, name: runName(id), lease };

  const lose = (): void => {
    if (run.isLost) return;
    kept.letRunOut();
    run.isLost = true;
    run.onLost();
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

  const unfinishedMs = stateTtlMs + (isShared ? UNFINISHED_MS : SPARE_MS);
  const kept: KeptLease = keepLease(lease, { ...options, onLost: lose });
  const run = {
    id,
    position: entries.length,
    isLost: false,
    history: readHistory(entries),
    execution: undefined as Execution | undefined,
    onLost: () => {},
    journal: {
      // Adding nothing tells whether something could be added.
      ready: () => (kept.isSure ? undefined : append([], unfinishedMs)),
      step: (key, result) => append([stepEntry(key, result)], unfinishedMs),
    } satisfies Journal,
    append: (...added: readonly JsonObject[]) => append(added, unfinishedMs),
    async end(rest: Rest) {
      await append([endEntry(rest)], stateTtlMs + SPARE_MS);
      await remember?.(store, id, rest);
    },
    async release() {
      const dialogue = run.execution?.dialogue;
      if (dialogue?.isBusy !== true) return kept.release();
      kept.letRunOut();
      void dialogue.idle().then(kept.release);
    },
  };
  return run;
}

/** Takes note of how a round of a run ended. */
type Remember = (store: Store, id: string, rest: Rest) => Promise<void>;

/** Of outcomes that are kept in memory for callers that repeat their answers. */
const MAX_CHARACTERS = 32_000_000;
const MAX_JOURNALS = 10_000;
const MAX_USED = 100_000;

/**
 * Bounds what the memory of this process keeps of runs. Of the oldest that are over it keeps only that they are: their
 * states are refused. Others are forgotten: their states say all it takes to go on.
 */
function createMemoryBound(ttl: number): Remember {
  const journals = new Map<string, { readonly characters: number; readonly isOver: boolean }>();
  const used = new Set<string>();
  let characters = 0;

  const leave = (id: string): boolean => {
    const journal = journals.get(id);
    journals.delete(id);
    characters -= journal?.characters ?? 0;
    return journal?.isOver === true;
  };

  const shorten = async ({ streams }: Store, id: string): Promise<void> => {
    const last = await streams.append(runName(id), [JSON.stringify(endEntry(usedAlready))], { ttl });
    await streams.trim(runName(id), (last ?? 1) - 1);
    used.add(id);
    const [oldest] = used;
    if (used.size <= MAX_USED || oldest === undefined) return;
    used.delete(oldest);
    await streams.delete(runName(oldest));
  };

  return async (store, id, { outcome }) => {
    leave(id);
    const journal = { characters: JSON.stringify(outcome).length, isOver: outcome.kind !== "input-required" };
    journals.set(id, journal);
    characters += journal.characters;
    for (const oldest of journals.keys()) {
      if (characters <= MAX_CHARACTERS && journals.size <= MAX_JOURNALS) return;
      if (leave(oldest)) await shorten(store, oldest);
      else await store.streams.delete(runName(oldest));
    }
  };
}

/** In place of an outcome that is not kept any more. */
const usedAlready: Rest = {
  outcome: { kind: "failed", failure: toFailure(refusedTicket("it was used already")) },
  expires: 0,
};

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
