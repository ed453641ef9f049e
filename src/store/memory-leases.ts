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

/**
 * Leases with tokens from one counter.
 *
 * A token is forgotten an hour after its lease ended. From then on a fence on this name holds only when it is at least as
 * new as all that was forgotten: a holder that was away for so long is refused rather than trusted.
 */
export function memoryLeases(expiry: Expiry, ensureOpen: () => void): MemoryLeases {
  let lastToken = 0;
  let forgotten = 0;
  const newest = expiry.newMap<Held>((_name, { token }) => {
    forgotten = Math.max(forgotten, token);
  });

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
      if (holds(name, token)) hold(name, token, expiry.now());
    },
  });

  return {
    acquire(name, ttlMs) {
      ensureOpen();
      checkName(name);
      checkTtl(ttlMs);
      if (isHeld(newest.get(name))) return undefined;
      lastToken++;
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
