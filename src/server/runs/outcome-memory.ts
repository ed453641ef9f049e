import type { Shortage } from "../../protocol/budget.ts";
import { toFailure } from "../../protocol/errors.ts";
import { type Amounts, bytesOf, isShare, type Shares } from "../../protocol/shares.ts";
import type { Lazy } from "../../std/lazy.ts";
import type { Store } from "../../store/store.ts";
import { endEntry, type RoundEnd, readEntries, runName, sinceEntry } from "./journal.ts";
import { refusedTicket } from "./ticket.ts";

/** A run, and the account of what is retained of it. */
export interface KeptRun {
  readonly id: string;
  readonly account: string;
}

/** Limits the memory for outcomes of runs, which are retained for callers that repeat their answers. */
export interface OutcomeMemory {
  /** The reason why a caller cannot continue a run now: even the records of its used states take all room. */
  shortage(run: KeptRun): Shortage | undefined;
  /** Takes note of how a round of a run ended. */
  remember(run: KeptRun, rest: RoundEnd): void;
}

/** Of a run of which only that its states are used up is remembered. */
const USED: Amounts = { heldBytes: 512 };

/**
 * Without room for all outcomes, the oldest are dropped, and the fact that their states are used is recorded while one
 * of them is valid. Of a run that waits, the newest state stays valid, as it contains all that is needed to continue.
 */
export function createOutcomeMemory(stored: Lazy<Store>, shares: Shares, ttlMs: number | undefined): OutcomeMemory {
  const known = shares.createMap();

  const shorten = async (id: string, { outcome, since }: RoundEnd): Promise<void> => {
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
        // The store is in memory: it fails when it is closed, and then nothing is retained.
        void shorten(id, rest).catch(() => {});
        return USED;
      });
    },
  };
}

/** Replaces an outcome that was dropped. */
const usedAlready: RoundEnd = {
  outcome: { kind: "failed", failure: toFailure(refusedTicket("it was used already")) },
  expires: 0,
  since: 0,
};
