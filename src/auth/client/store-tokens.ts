import { McpError } from "../../model/errors.ts";
import { type Clock, systemClock } from "../../std/clock.ts";
import type { Lease, Store } from "../../store/store.ts";
import type { TokenStore } from "./token-store.ts";

export interface StoreTokensOptions {
  /** Keeps apart what different users keep in one store. */
  readonly prefix?: string;
  readonly clock?: Clock;
}

const leaseMs = 30_000;
const pollMs = 100;
const patienceMs = 60_000;

/** Keeps tokens in a store that processes share. Only one of them at a time refreshes a token. */
export function storeTokens(store: Store, options: StoreTokensOptions = {}): TokenStore {
  const { prefix = "auth:", clock = systemClock } = options;
  const { values, leases } = store;

  const acquire = async (name: string): Promise<Lease> => {
    for (const start = clock.now(); ; await pause(clock, pollMs)) {
      const lease = await leases.acquire(name, leaseMs);
      if (lease !== undefined) return lease;
      if (clock.now() - start > patienceMs) throw new McpError("timeout", "another process holds the tokens");
    }
  };

  return {
    get: async (name) => (await values.get(prefix + name))?.text,
    async set(name, text) {
      await values.put(prefix + name, text);
    },
    async delete(name) {
      await values.delete(prefix + name);
    },
    async exclusive(name, task) {
      const lease = await acquire(`${prefix}lock:${name}`);
      const stop = keep(lease, clock);
      try {
        return await task();
      } finally {
        stop();
        await lease.release().catch(() => {});
      }
    },
  };
}

/** Renews a lease until it is told to stop. */
function keep(lease: Lease, clock: Clock): () => void {
  let cancel = (): void => {};
  const arm = (): void => {
    cancel = clock.after(leaseMs / 3, () => {
      lease.renew().catch(() => {});
      arm();
    });
  };
  arm();
  return () => cancel();
}

/** A timer of the clock would not keep the process alive, and somebody waits for this one. */
function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    if (clock === systemClock) setTimeout(resolve, ms);
    else clock.after(ms, resolve);
  });
}
