import { checkName } from "./check.ts";
import { createInbox, type Inbox } from "./inbox.ts";
import type { Topics } from "./store.ts";

export interface MemoryTopics extends Topics {
  /** Ends all subscriptions. */
  end(): void;
}

/** Who listens, by topic. `ensureOpen` throws when the store is closed. */
export function memoryTopics(ensureOpen: () => void): MemoryTopics {
  const topics = new Map<string, Set<Inbox>>();

  const leave = (topic: string, inbox: Inbox): void => {
    const inboxes = topics.get(topic);
    if (inboxes?.delete(inbox) && inboxes.size === 0) topics.delete(topic);
  };

  return {
    async publish(topic, text) {
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
