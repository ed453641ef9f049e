import type { Shortage } from "../../protocol/budget.ts";
import { toFailure } from "../../protocol/errors.ts";
import { type Amounts, bytesOf, isShare, type Shares } from "../../protocol/shares.ts";
import type { Lazy } from "../../std/lazy.ts";
import type { Store } from "../../store/store.ts";
import { endEntry, type Rest, readEntries, runName, sinceEntry } from "./journal.ts";
import { refusedTicket } from "./ticket.ts";

/** A run, and on whose account what is kept of it is. */
export interface KeptRun {
  readonly id: string;
  readonly account: string;
}

/** Bounds what the memory of this process keeps of runs, so that callers who repeat their answers find what came of them. */
export interface OutcomeMemory {
  /** Why a caller cannot go on with a run now: so much is remembered of earlier ones that even that they are over has no room. */
  shortage(run: KeptRun): Shortage | undefined;
  /** Takes note of how a round of a run ended. */
  remember(run: KeptRun, rest: Rest): void;
}

/** Of a run of which only that its states are used up is remembered. */
const USED: Amounts = { heldBytes: 512 };

/**
 * Where there is no room for all outcomes, the oldest are dropped, and that their states are used up is remembered for as
 * long as one of them is good. Of a run that waits, the newest state stays good: it says all it takes to go on.
 */
export function createOutcomeMemory(stored: Lazy<Store>, shares: Shares, ttlMs: number | undefined): OutcomeMemory {
  const known = shares.createMap();

  const shorten = async (id: string, { outcome, since }: Rest): Promise<void> => {
    const store = await stored.load();
    const isOver = outcome.kind !== "input-required";
    const { entries: later, last } = await readEntries(store, runName(id), since);
    // What was done after the newest state was made is in no state.
    const waiting = [sinceEntry(since), ...later.filter(({ end }) => end === undefined)];
    const entries = isOver ? [endEntry(usedAlready)] : waiting;
    await store.streams.append(
      runName(id),
      entries.map((entry) => JSON.stringify(entry)),
      ttlMs === undefined ? {} : { ttlMs },
    );
    await store.streams.trim(runName(id), last);
  };

  return {
    shortage({ id, account }) {
      if (known.get(id) !== undefined) return undefined;
      const taken = shares.take(account, USED);
      if (!isShare(taken)) return taken;
      taken.release();
      return undefined;
    },
    remember({ id, account }, rest) {
      const amounts = { heldBytes: bytesOf(JSON.stringify(rest)) + Number(USED.heldBytes) };
      const share = known.get(id) ?? shares.hold(account, {});
      share.resize(amounts);
      known.set(id, share, ttlMs);
      share.yields(() => {
        // The store is in memory: it fails when it is closed, and then nothing is kept at all.
        void shorten(id, rest).catch(() => {});
        return USED;
      });
    },
  };
}

/** In place of an outcome that is not kept any more. */
const usedAlready: Rest = {
  outcome: { kind: "failed", failure: toFailure(refusedTicket("it was used already")) },
  expires: 0,
  since: 0,
};
