import { type Clock, systemClock } from "../std/clock.ts";
import { checkName } from "./check.ts";
import { createExpiry, type Expiry } from "./expiring-map.ts";
import { memoryLeases } from "./memory-leases.ts";
import { memoryStreams } from "./memory-streams.ts";
import { type MakeRoom, memoryValues } from "./memory-values.ts";
import { type Store, StoreError, type Topics } from "./store.ts";
import { createInbox, type Inbox } from "./subscription-queue.ts";

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

interface MemoryTopics extends Topics {
  /** Ends all subscriptions. */
  end(): void;
}

/** Who listens, by topic. `ensureOpen` throws when the store is closed. */
function memoryTopics(ensureOpen: () => void): MemoryTopics {
  const topics = new Map<string, Set<Inbox>>();

  const leave = (topic: string, inbox: Inbox): void => {
    const inboxes = topics.get(topic);
    if (inboxes?.delete(inbox) && inboxes.size === 0) topics.delete(topic);
  };

  return {
    publish(topic, text) {
      ensureOpen();
      checkName(topic);
      for (const inbox of topics.get(topic) ?? []) inbox.deliver(text);
    },
    async subscribe(topic) {
      ensureOpen();
      checkName(topic);
      const inbox = createInbox(() => leave(topic, inbox));
      const inboxes = topics.get(topic);
      if (inboxes === undefined) topics.set(topic, new Set([inbox]));
      else inboxes.add(inbox);
      return inbox.subscription;
    },
    end() {
      for (const inboxes of topics.values()) for (const inbox of inboxes) inbox.end();
      topics.clear();
    },
  };
}
