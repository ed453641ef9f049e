import { systemClock } from "../../std/clock.ts";
import { createExpiry } from "../../store/expiring-map.ts";
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

/** Where all processes with a store keep them. The store bounds them by their time alone. */
export function storedProofs(store: Store | Promise<Store>): UsedProofs {
  return {
    async claim(_principal, name, ttlMs) {
      const { values } = await store;
      return (await values.put(`dpop/${name}`, "", { version: null, ttlMs })) !== undefined;
    },
  };
}

export interface MemoryProofsOptions {
  readonly maxProofs: number;
  now(): number;
}

/** The part of all proofs that may be of one principal. */
const SHARE = 1 / 4;

/**
 * Where one process keeps them. A proof that could be used again is never forgotten for another one: who has used up the
 * share of one principal, with however many keys, is refused until some of their own proofs have expired.
 */
export function memoryProofs({ maxProofs, now }: MemoryProofsOptions): UsedProofs {
  const share = Math.max(1, Math.floor(maxProofs * SHARE));
  const expiry = createExpiry({ ...systemClock, now });
  const counts = new Map<string, number>();
  const countOf = (principal: string): number => counts.get(principal) ?? 0;
  const owners = expiry.newMap<string>((_name, principal) => {
    const rest = countOf(principal) - 1;
    if (rest > 0) counts.set(principal, rest);
    else counts.delete(principal);
  });
  const isFull = (principal: string): boolean => countOf(principal) >= share || owners.slots.size >= maxProofs;

  return {
    async claim(principal, name, ttlMs) {
      if (owners.get(name) !== undefined) return false;
      if (isFull(principal)) expiry.sweep();
      if (isFull(principal)) throw full(countOf(principal) >= share, share, maxProofs);
      owners.set(name, principal, expiry.after(ttlMs));
      counts.set(principal, countOf(principal) + 1);
      return true;
    },
  };
}

/** Proofs expire together with the spans of time they lie in, and are not looked through for the first. */
const RETRY_AFTER_MS = 10_000;

function full(isOwn: boolean, share: number, maxProofs: number): Error {
  return isOwn
    ? limitReached("too many DPoP proofs of this principal are remembered", {
        limit: "a quarter of dpop.maxProofs",
        max: share,
        scope: "principal",
        retryAfterMs: RETRY_AFTER_MS,
      })
    : limitReached("too many DPoP proofs are remembered", {
        limit: "dpop.maxProofs",
        max: maxProofs,
        scope: "process",
        retryAfterMs: RETRY_AFTER_MS,
      });
}
