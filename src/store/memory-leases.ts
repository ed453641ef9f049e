import { checkName, checkTtl } from "./check.ts";
import type { Expiry } from "./expiring-map.ts";
import type { Lease, StoreLeases } from "./store.ts";

export interface MemoryLeases extends StoreLeases {
  /** Whether a write with this fence may happen: always without one. */
  allows(name: string, fence: number | undefined): boolean;
}

/** The newest lease on a name. */
interface Held {
  readonly token: number;
  readonly until: number;
}

/** How long the last token of a name is known after its lease ended. */
const REMEMBER_MS = 3_600_000;
/** How many names whose lease was given back are known. */
export const MAX_GIVEN_BACK = 10_000;

/**
 * Leases with tokens from one counter.
 *
 * A token is forgotten an hour after its lease ended, or when so many were given back since that memory would grow. From then
 * on a fence on this name holds only when it is at least as new as all that was forgotten: a holder that was away for so long
 * is refused rather than trusted.
 */
export function memoryLeases(expiry: Expiry, ensureOpen: () => void): MemoryLeases {
  let lastToken = 0;
  let forgotten = 0;
  /** Names whose lease was given back and not taken since, the first that was given back first. */
  const givenBack = new Set<string>();
  const newest = expiry.newMap<Held>((name, lease) => forget(name, lease));

  const forget = (name: string, { token }: Held): void => {
    givenBack.delete(name);
    forgotten = Math.max(forgotten, token);
  };

  const giveBack = (name: string, token: number): void => {
    hold(name, token, expiry.now());
    givenBack.add(name);
    const [oldest] = givenBack;
    if (givenBack.size <= MAX_GIVEN_BACK || oldest === undefined) return;
    const lease = newest.delete(oldest);
    if (lease !== undefined) forget(oldest, lease);
  };

  const isHeld = (lease: Held | undefined): boolean => lease !== undefined && lease.until > expiry.now();

  const hold = (name: string, token: number, until: number): void =>
    newest.set(name, { token, until }, until + REMEMBER_MS);

  /** Whether this is the newest lease, and has not run out. */
  const holds = (name: string, token: number): boolean => {
    const lease = newest.get(name);
    return lease?.token === token && isHeld(lease);
  };

  const leaseOf = (name: string, token: number, ttlMs: number): Lease => ({
    name,
    token,
    renew() {
      ensureOpen();
      if (!holds(name, token)) return false;
      hold(name, token, expiry.after(ttlMs));
      return true;
    },
    release() {
      ensureOpen();
      if (holds(name, token)) giveBack(name, token);
    },
  });

  return {
    acquire(name, ttlMs) {
      ensureOpen();
      checkName(name);
      checkTtl(ttlMs);
      if (isHeld(newest.get(name))) return undefined;
      lastToken++;
      givenBack.delete(name);
      hold(name, lastToken, expiry.after(ttlMs));
      return leaseOf(name, lastToken, ttlMs);
    },
    held(name) {
      ensureOpen();
      checkName(name);
      return isHeld(newest.get(name));
    },
    allows: (name, fence) => fence === undefined || fence >= (newest.get(name)?.token ?? forgotten),
  };
}
