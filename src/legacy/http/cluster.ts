import type { JsonObject } from "../../json/json.ts";
import { encodeMessage, type Message, type Parsed } from "../../jsonrpc/message.ts";
import type { Clock } from "../../std/clock.ts";
import type { Lease, Store, TopicSubscription } from "../../store/store.ts";
import { itemsOf } from "./post-response.ts";
import { randomName } from "./session-store.ts";

/** What one process tells all others of a session, and hears itself. */
export type ClusterEvent = { readonly session: string } & (
  | { readonly kind: "closed" }
  /** The client cancelled a request. Not heard by who tells it. */
  | { readonly kind: "cancelled"; readonly params: JsonObject; readonly by: string }
  /** Something of what is kept of it is different. */
  | { readonly kind: "changed" }
  /** There is more in what belongs to no call. */
  | { readonly kind: "aside" }
  /** The events of a POST are read elsewhere now. */
  | { readonly kind: "taken"; readonly stream: string; readonly reader: string }
  /** Another stream tells the client what belongs to no call. */
  | { readonly kind: "moved"; readonly owner: string }
  /** No stream tells the client what belongs to no call. */
  | { readonly kind: "free" }
);

/** An answer of a client to a question that another process asked. */
export interface Relayed {
  readonly session: string;
  readonly text: string;
}

interface NodeHandlers {
  told(event: ClusterEvent): void;
  answered(relayed: Relayed): void;
  /** Something was told that this process did not hear. */
  missed(): void;
}

/** One of the processes that serve the same sessions. */
export interface Node {
  /** Nobody can guess it. */
  readonly id: string;
  /**
   * Resolves when this process hears the others, and they know that it lives. Rejects when the store is away.
   * Undefined once that is so.
   */
  join(): Promise<void> | undefined;
  /** Resolves when all will hear it. */
  tell(event: ClusterEvent): Promise<void>;
  /** Hands an answer to the process that waits for it. */
  relay(node: string, relayed: Relayed): Promise<void>;
  isAlive(node: string): Promise<boolean>;
  /** True when the store has been there for a while: then a process without a lease has let it run out. */
  readonly isSteady: boolean;
  /** Hears nothing any more, and says that it does not live. */
  leave(): Promise<void>;
  readonly left: boolean;
}

interface NodeOptions extends NodeHandlers {
  readonly store: Store;
  readonly clock: Clock;
}

/** How long a process counts as alive without a sign of life. */
const LEASE_MS = 5_000;
const RENEWALS = 5;
/** How long after it was away all processes should have reached the store again. */
const STEADY_MS = 4_000;
/** What all processes hear. */
const ALL = "sessions";

export function createNode({ store, clock, told, answered, missed }: NodeOptions): Node {
  const id = randomName();
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
        if (message.kind === "gap") missed();
        else hear(message.text);
      } catch (error) {
        // What goes wrong with one session must not make this process deaf for all.
        console.error("plugbay: a message of another process:", error);
      }
    }
  };

  const listen = async (topic: string, hear: (text: string) => void): Promise<void> => {
    const subscription = await store.topics.subscribe(topic);
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
    await listen(ALL, (text) => told(JSON.parse(text)));
    await listen(name, (text) => answered(JSON.parse(text)));
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
    tell: async (event) => store.topics.publish(ALL, JSON.stringify(event)),
    relay: async (node, relayed) => store.topics.publish(nameOf(node), JSON.stringify(relayed)),
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

/** A process that has its store for itself. */
export function createLoneNode(told: NodeHandlers["told"]): Node {
  const id = randomName();
  let left = false;

  return {
    id,
    join: () => undefined,
    tell: async (event) => told(event),
    relay: async () => {},
    isAlive: async (node) => node === id,
    isSteady: true,
    async leave() {
      left = true;
    },
    get left() {
      return left;
    },
  };
}

/** Hands on what may concern another process. The promise, if there is something, resolves when that will hear it. */
export function relay(posted: Parsed, session: string, node: Node): Promise<unknown> | undefined {
  const relayed = itemsOf(posted).map((item) =>
    item.kind === "malformed" ? undefined : relayOne(item, session, node),
  );
  return relayed.some((each) => each !== undefined) ? Promise.all(relayed) : undefined;
}

function relayOne(message: Message, session: string, node: Node): Promise<void> | undefined {
  if (message.kind === "notification" && message.method === "notifications/cancelled") {
    return node.tell({ kind: "cancelled", session, params: message.params, by: node.id });
  }
  if (message.kind !== "success" && message.kind !== "failure") return undefined;
  const asker = askerOf(message.id);
  return asker === undefined || asker === node.id ? undefined : relayTo(asker, session, message, node);
}

/** A response to a process that is gone is a response to nobody. */
async function relayTo(asker: string, session: string, message: Message, node: Node): Promise<void> {
  if (await node.isAlive(asker)) await node.relay(asker, { session, text: encodeMessage(message) });
}

/** The process that asked a question, by the id of the question. */
function askerOf(id: unknown): string | undefined {
  return typeof id === "string" ? /^([\w-]{16})\.[\w-]{16}\.\d+$/.exec(id)?.[1] : undefined;
}
