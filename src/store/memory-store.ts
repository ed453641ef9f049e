import { type Clock, systemClock } from "../std/clock.ts";
import { checkName } from "./check.ts";
import { createExpiry, type Expiry } from "./expiring-map.ts";
import { memoryLeases } from "./memory-leases.ts";
import { memoryStreams } from "./memory-streams.ts";
import { type MakeRoom, memoryValues } from "./memory-values.ts";
import { type Store, StoreError, type StoreTopics } from "./store.ts";
import { createSubscriptionQueue, type SubscriptionQueue } from "./subscription-queue.ts";

export interface MemoryStoreOptions {
  readonly clock?: Clock | undefined;
}

/** A store in the memory of this process, for one process. What it keeps is gone when it is closed. */
export function memoryStore({ clock = systemClock }: MemoryStoreOptions = {}): Store {
  return createMemoryStore(createExpiry(clock));
}

export function createMemoryStore(expiry: Expiry, makeRoom?: MakeRoom): Store {
  let closed = false;
  const ensureOpen = (): void => {
    if (closed) throw new StoreError("closed", "the store is closed");
  };
  const leases = memoryLeases(expiry, ensureOpen);
  const topics = memoryTopics(ensureOpen);

  const close = async (): Promise<void> => {
    if (closed) return;
    closed = true;
    topics.end();
    expiry.stop();
  };

  return {
    values: memoryValues({ expiry, leases, ensureOpen }, makeRoom),
    streams: memoryStreams({ expiry, leases, ensureOpen }),
    topics,
    leases: { acquire: leases.acquire, held: leases.held },
    durable: false,
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface MemoryTopics extends StoreTopics {
  /** Ends all subscriptions. */
  end(): void;
}

/** Subscribers by topic. `ensureOpen` throws when the store is closed. */
function memoryTopics(ensureOpen: () => void): MemoryTopics {
  const topics = new Map<string, Set<SubscriptionQueue>>();

  const leave = (topic: string, queue: SubscriptionQueue): void => {
    const queues = topics.get(topic);
    if (queues?.delete(queue) && queues.size === 0) topics.delete(topic);
  };

  return {
    publish(topic, text) {
      ensureOpen();
      checkName(topic);
      for (const queue of topics.get(topic) ?? []) queue.deliver(text);
    },
    async subscribe(topic) {
      ensureOpen();
      checkName(topic);
      const queue = createSubscriptionQueue(() => leave(topic, queue));
      const queues = topics.get(topic);
      if (queues === undefined) topics.set(topic, new Set([queue]));
      else queues.add(queue);
      return queue.subscription;
    },
    end() {
      for (const queues of topics.values()) for (const queue of queues) queue.end();
      topics.clear();
    },
  };
}
