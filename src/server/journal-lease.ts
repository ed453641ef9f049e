import type { Deadline, Deadlines } from "../std/deadlines.ts";
import type { Lease } from "../store/store.ts";

export interface KeepOptions {
  readonly leaseMs: number;
  readonly deadlines: Deadlines;
  now(): number;
  /** Called once, when it was lost. */
  onLost(): void;
}

/** A lease that is renewed until it is let go. */
export interface KeptLease {
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
    const renewed = await lease.renew().catch(() => undefined);
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
      await lease.release().catch(() => {});
    },
  };
}
