import { systemClock } from "../../std/clock.ts";
import { memoryStore } from "../../store/memory-store.ts";
import type { Store } from "../../store/store.ts";
import { limitReached } from "./limits.ts";

/** Proofs that were used, so that none is taken twice. */
export interface UsedProofs {
  /**
   * True for the first that asks by this name. `ttlMs` lasts from now until the proof cannot be used any more. Rejects when
   * nobody can tell, and with `limit-reached` when it could not be remembered.
   */
  claim(principal: string, name: string, ttlMs: number): Promise<boolean>;
}

export interface UsedProofsOptions {
  /** Where all processes keep them, which bounds them by their time alone. Absent: in the memory of this process. */
  readonly store: Store | Promise<Store> | undefined;
  /** How many are kept in memory. One principal may have a quarter of them. */
  readonly maxProofs: number;
  now(): number;
}

/**
 * Keeps used proofs in a store: that of the option, or one in memory with a share for each principal in front of it. A proof
 * that could be used again is never forgotten for another one: a principal that has used up its share, with however many
 * keys, is refused until some of its own proofs have expired.
 */
export function createUsedProofs({ store, maxProofs, now }: UsedProofsOptions): UsedProofs {
  const kept = store ?? memoryStore({ clock: { ...systemClock, now } });
  const shares = store === undefined ? createProofShares(maxProofs, now) : undefined;

  return {
    async claim(principal, name, ttlMs) {
      const { values } = kept instanceof Promise ? await kept : kept;
      const path = `dpop/${name}`;
      // What was used is no claim: it takes nothing of a share. Memory answers at once, so nothing comes in between.
      if (shares !== undefined && values.get(path) !== undefined) return false;
      shares?.take(principal, ttlMs);
      return (await values.put(path, "", { version: null, ttlMs })) !== undefined;
    },
  };
}

/** How many proofs each principal has in memory. */
interface ProofShares {
  /** Counts one more until it expires. Throws `limit-reached` where there is no room for it. */
  take(principal: string, ttlMs: number): void;
}

/** The part of all proofs that may be of one principal. */
const SHARE = 1 / 4;

/** Proofs that expire in the same span of time are counted together. */
const SPAN_MS = 10_000;

function createProofShares(maxProofs: number, now: () => number): ProofShares {
  const share = Math.max(1, Math.floor(maxProofs * SHARE));
  /** By principal: how many expire, by the end of the span that they expire in. */
  const principals = new Map<string, Map<number, number>>();
  let total = 0;
  /** The span in which all were looked through last. */
  let swept = -1;

  /** Counts no more what has expired. What is left of a principal. */
  const sweep = (principal: string): number => {
    let left = 0;
    const spans = principals.get(principal) ?? new Map<number, number>();
    for (const [end, count] of spans) {
      if (end > now()) {
        left += count;
        continue;
      }
      spans.delete(end);
      total -= count;
    }
    if (spans.size === 0) principals.delete(principal);
    return left;
  };

  /** All are looked through once in a span: until the next one, nothing more expires. */
  const isFull = (): boolean => {
    const span = Math.floor(now() / SPAN_MS);
    if (total < maxProofs || span === swept) return total >= maxProofs;
    swept = span;
    for (const principal of [...principals.keys()]) sweep(principal);
    return total >= maxProofs;
  };

  return {
    take(principal, ttlMs) {
      const isOwn = sweep(principal) >= share;
      if (isOwn || isFull()) throw full(isOwn, share, maxProofs);
      const spans = principals.get(principal) ?? new Map<number, number>();
      const end = Math.ceil((now() + ttlMs) / SPAN_MS) * SPAN_MS;
      spans.set(end, (spans.get(end) ?? 0) + 1);
      principals.set(principal, spans);
      total++;
    },
  };
}

function full(isOwn: boolean, share: number, maxProofs: number): Error {
  return isOwn
    ? limitReached("too many DPoP proofs of this principal are remembered", {
        limit: "a quarter of dpop.maxProofs",
        max: share,
        scope: "principal",
        retryAfterMs: SPAN_MS,
      })
    : limitReached("too many DPoP proofs are remembered", {
        limit: "dpop.maxProofs",
        max: maxProofs,
        scope: "process",
        retryAfterMs: SPAN_MS,
      });
}
