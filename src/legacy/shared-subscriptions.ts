import type { JsonObject } from "../json/json.ts";

/** A share in the subscription to one resource. */
export interface SharedSubscription {
  /** Resolves when the server has confirmed. Rejects with its refusal. */
  readonly confirmed: Promise<unknown>;
  /** Gives up the share. The last one to leave unsubscribes. Call it once. */
  leave(): void;
}

/** Subscriptions to resources, one on the wire for all who want it. */
export interface SharedSubscriptions {
  join(uri: string): SharedSubscription;
  /** Subscribes again to everything, at a server that has forgotten it. Rejects when it refuses something. */
  renew(): Promise<void>;
}

export function createSharedSubscriptions(
  request: (method: string, params: JsonObject) => Promise<unknown>,
): SharedSubscriptions {
  const active = new Map<string, { readonly confirmed: Promise<unknown>; users: number }>();

  const start = (uri: string) => {
    const entry = { confirmed: request("resources/subscribe", { uri }), users: 0 };
    active.set(uri, entry);
    entry.confirmed.catch(() => forget(uri, entry));
    return entry;
  };

  /** Only what is still there: a newer subscription to the same resource stays. */
  const forget = (uri: string, entry: object): void => {
    if (active.get(uri) === entry) active.delete(uri);
  };

  /** Whoever subscribed again meanwhile keeps the subscription. A server that is gone, or refused, has none. */
  const unsubscribe = async (uri: string, confirmed: Promise<unknown>): Promise<void> => {
    try {
      await confirmed;
      if (!active.has(uri)) await request("resources/unsubscribe", { uri });
    } catch {
      return;
    }
  };

  return {
    join(uri) {
      const entry = active.get(uri) ?? start(uri);
      entry.users++;
      return {
        confirmed: entry.confirmed,
        leave() {
          if (--entry.users > 0) return;
          forget(uri, entry);
          void unsubscribe(uri, entry.confirmed);
        },
      };
    },
    async renew() {
      await Promise.all([...active.keys()].map((uri) => request("resources/subscribe", { uri })));
    },
  };
}
