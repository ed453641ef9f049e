import type { HostChange } from "../host/change-feed.ts";
import type { ConnectionOwner } from "./connection-owner.ts";

export interface ChangeListeners {
  /** Hears of changes over the connections of an owner, also of those that it gets later, until the signal aborts. */
  hearChanges(owner: ConnectionOwner, hear: (change: HostChange) => void, signal: AbortSignal): void;
  /** Tells who hears of the connections of an owner. */
  announce(owner: string, change: HostChange): void;
}

/** Those who hear of changes, by the key of the owner of the connections. */
export function createChangeListeners(): ChangeListeners {
  const listeners = new Map<string, Set<(change: HostChange) => void>>();
  return {
    announce(owner, change) {
      for (const hear of listeners.get(owner) ?? []) hear(change);
    },
    hearChanges({ key }, hear, signal) {
      if (signal.aborted) return;
      const mine = listeners.get(key) ?? new Set();
      listeners.set(key, mine.add(hear));
      const leave = (): void => {
        mine.delete(hear);
        if (mine.size === 0 && listeners.get(key) === mine) listeners.delete(key);
      };
      signal.addEventListener("abort", leave, { once: true });
    },
  };
}
