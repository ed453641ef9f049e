import { type Clock, systemClock } from "../std/clock.ts";
import { createExpiry } from "./expiring-map.ts";
import { memoryLeases } from "./memory-leases.ts";
import { memoryStreams } from "./memory-streams.ts";
import { memoryTopics } from "./memory-topics.ts";
import { memoryValues } from "./memory-values.ts";
import { type Store, StoreError } from "./store.ts";

export interface MemoryStoreOptions {
  readonly clock?: Clock;
}

/** A store in the memory of this process, for one process. What it keeps is gone when it is closed. */
export function memoryStore({ clock = systemClock }: MemoryStoreOptions = {}): Store {
  let closed = false;
  const ensureOpen = (): void => {
    if (closed) throw new StoreError("closed", "the store is closed");
  };
  const expiry = createExpiry(clock);
  const leases = memoryLeases(expiry, ensureOpen);
  const topics = memoryTopics(ensureOpen);

  const close = async (): Promise<void> => {
    if (closed) return;
    closed = true;
    topics.end();
    expiry.stop();
  };

  return {
    values: memoryValues({ expiry, leases, ensureOpen }),
    streams: memoryStreams({ expiry, leases, ensureOpen }),
    topics,
    leases: { acquire: leases.acquire, held: leases.held },
    durable: false,
    close,
    [Symbol.asyncDispose]: close,
  };
}
