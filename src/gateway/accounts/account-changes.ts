import { isObject } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import type { Store, TopicSubscription } from "../../store/store.ts";
import type { AccountKey } from "./account-records.ts";

/** Something that changed about an account. `unknown`: changes were missed, of whichever accounts. */
export type AccountChange =
  | (AccountKey & { readonly kind: "connected" | "expired" | "disconnected" })
  | { readonly kind: "unknown" };

/** Tells all processes with the same store of changes of accounts. */
export interface AccountChanges {
  /** Tells this process at once, and the others by the store. */
  tell(change: Exclude<AccountChange, { readonly kind: "unknown" }>): Promise<void>;
  /** Hears of changes until it is told to stop. */
  hear(listener: (change: AccountChange) => void): () => void;
  /** Resolves when changes of other processes are heard of. Never rejects. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

const topic = "vault:accounts";

export function createAccountChanges(store: () => Promise<Store>): AccountChanges {
  const self = crypto.randomUUID();
  const listeners = new Set<(change: AccountChange) => void>();
  let subscribing: Promise<TopicSubscription | undefined> | undefined;
  let isClosed = false;

  const spread = (change: AccountChange): void => {
    for (const listener of listeners) listener(change);
  };

  const read = async (subscription: TopicSubscription): Promise<void> => {
    for await (const message of subscription) {
      const change = message.kind === "gap" ? missed : readChange(message.text, self);
      if (change !== undefined) spread(change);
    }
  };

  const subscribe = async (): Promise<TopicSubscription | undefined> => {
    try {
      const subscription = await (await store()).topics.subscribe(topic);
      // When it ends before this is closed, nobody knows what was missed since.
      void read(subscription)
        .catch(() => {})
        .then(lost);
      return subscription;
    } catch {
      lost();
      return undefined;
    }
  };

  const lost = (): void => {
    subscribing = undefined;
    if (!isClosed) spread(missed);
  };

  return {
    async tell(change) {
      spread(change);
      await (await store()).topics.publish(topic, JSON.stringify({ ...change, from: self }));
    },
    hear(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async ready() {
      subscribing ??= subscribe();
      await subscribing;
    },
    async close() {
      isClosed = true;
      await (await subscribing)?.close();
    },
  };
}

const missed: AccountChange = { kind: "unknown" };

function readChange(text: string, self: string): AccountChange | undefined {
  const parsed = parseJson(text);
  const { kind, principal, server, from } = parsed.ok && isObject(parsed.value) ? parsed.value : {};
  if (from === self || typeof principal !== "string" || typeof server !== "string") return undefined;
  return kind === "connected" || kind === "expired" || kind === "disconnected" ? { kind, principal, server } : missed;
}
