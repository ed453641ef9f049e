import type { Clock } from "../std/clock.ts";
import type { Lease, Store, TopicSubscription } from "./store.ts";

/** One of the processes that share a store. `E` is what all are told, `M` what one of them is sent. Both are JSON. */
export interface ClusterNode<E, M> {
  /** Nobody can guess it. */
  readonly id: string;
  /**
   * Resolves when this process hears the others, and they know that it lives. Rejects when the store is away.
   * Undefined once that is so.
   */
  join(): Promise<void> | undefined;
  /** Resolves when all will hear it. */
  tell(event: E): Promise<void>;
  /** Sends a message to one process. Resolves when that will hear it, if it lives. */
  send(node: string, message: M): Promise<void>;
  isAlive(node: string): Promise<boolean>;
  /** True when the store has been there for a while: then a process without a lease has let it run out. */
  readonly isSteady: boolean;
  /** Hears nothing any more, and says that it does not live. */
  leave(): Promise<void>;
  readonly left: boolean;
}

interface ClusterNodeOptions<E, M> {
  readonly id: string;
  readonly store: Store;
  readonly clock: Clock;
  /** The topic that all processes hear. */
  readonly topic: string;
  onEvent(event: E): void;
  onMessage(message: M): void;
  /** Something was told that this process did not hear. */
  onGap(): void;
}

/** How long a process counts as alive without a sign of life. */
const LEASE_MS = 5_000;
const RENEWALS = 5;
/** How long after it was away all processes should have reached the store again. */
const STEADY_MS = 4_000;

export function createClusterNode<E, M>({
  id,
  store,
  clock,
  topic,
  onEvent,
  onMessage,
  onGap,
}: ClusterNodeOptions<E, M>): ClusterNode<E, M> {
  const name = nameOf(id);
  let lease: Lease | undefined;
  const subscriptions: TopicSubscription[] = [];
  let joining: Promise<void> | undefined;
  let joined = false;
  let left = false;
  let disarm = (): void => {};
  /** When the store was last away, as far as this process knows: it knows nothing of the time before it began. */
  let awayAt = clock.now();

  const read = async (subscription: TopicSubscription, hear: (text: string) => void): Promise<void> => {
    for await (const message of subscription) {
      try {
        if (message.kind === "gap") onGap();
        else hear(message.text);
      } catch (error) {
        // What goes wrong with one message must not make this process deaf for all.
        console.error("plugbay: a message of another process:", error);
      }
    }
  };

  const listen = async (from: string, hear: (text: string) => void): Promise<void> => {
    const subscription = await store.topics.subscribe(from);
    subscriptions.push(subscription);
    void read(subscription, hear);
  };

  /** A store that was away has forgotten that we live: then it is told anew. */
  const renew = async (): Promise<void> => {
    try {
      if ((await lease?.renew()) !== true) {
        awayAt = clock.now();
        lease = await store.leases.acquire(name, LEASE_MS);
      }
    } catch {
      // The next time will do.
      awayAt = clock.now();
    }
    if (!left) disarm = clock.after(LEASE_MS / RENEWALS, () => void renew());
  };

  const start = async (): Promise<void> => {
    await listen(topic, (text) => onEvent(JSON.parse(text)));
    await listen(name, (text) => onMessage(JSON.parse(text)));
    lease = await store.leases.acquire(name, LEASE_MS);
    if (!left) disarm = clock.after(LEASE_MS / RENEWALS, () => void renew());
  };

  const end = async (): Promise<void> => {
    disarm();
    await Promise.allSettled([...subscriptions.splice(0).map((each) => each.close()), lease?.release()]);
  };

  return {
    id,
    join() {
      if (joined) return undefined;
      joining ??= start().then(
        () => {
          joined = true;
        },
        async (error) => {
          joining = undefined;
          await end();
          throw error;
        },
      );
      return joining;
    },
    tell: async (event) => store.topics.publish(topic, JSON.stringify(event)),
    send: async (node, message) => store.topics.publish(nameOf(node), JSON.stringify(message)),
    isAlive: async (node) => node === id || store.leases.held(nameOf(node)),
    get isSteady() {
      return clock.now() - awayAt >= STEADY_MS;
    },
    leave() {
      left = true;
      return end();
    },
    get left() {
      return left;
    },
  };
}

function nameOf(node: string): string {
  return `node:${node}`;
}
