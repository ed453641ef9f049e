import type { JsonObject } from "../../json/json.ts";
import { encodeMessage, type Message, type Parsed } from "../../jsonrpc/message.ts";
import type { Clock } from "../../std/clock.ts";
import { type ClusterNode, createClusterNode } from "../../store/cluster-node.ts";
import type { Store } from "../../store/store.ts";
import { itemsOf } from "./post-response.ts";
import { randomName } from "./session-store.ts";

/** A message about a session from one process to all others. */
export type ClusterEvent = { readonly session: string } & (
  | { readonly kind: "closed" }
  /** The client cancelled a request. Not delivered to the process that sends it. */
  | { readonly kind: "cancelled"; readonly params: JsonObject; readonly by: string }
  /** Something of what is kept of it is different. */
  | { readonly kind: "changed" }
  /** There is more in what belongs to no call. */
  | { readonly kind: "aside" }
  /** The events of a POST are read elsewhere now. */
  | { readonly kind: "taken"; readonly stream: string; readonly reader: string }
  /** A stream delivers the messages that belong to no call. */
  | { readonly kind: "moved"; readonly owner: string }
  /** No stream delivers the messages that belong to no call. */
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
  /** A message may have been missed by this process. */
  missed(): void;
}

/** One of the processes that serve the same sessions. It sends the answers of clients to the process that asked. */
export type Node = ClusterNode<ClusterEvent, Relayed>;

interface NodeOptions extends NodeHandlers {
  readonly store: Store;
  readonly clock: Clock;
}

export function createNode({ store, clock, told, answered, missed }: NodeOptions): Node {
  const handlers = { onEvent: told, onMessage: answered, onGap: missed };
  return createClusterNode<ClusterEvent, Relayed>({ id: randomName(), store, clock, topic: "sessions", ...handlers });
}

/** A process that has its store for itself. */
export function createSingleProcessNode(told: NodeHandlers["told"]): Node {
  const id = randomName();
  let left = false;

  return {
    id,
    join: () => undefined,
    tell: async (event) => told(event),
    send: async () => {},
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

/** Forwards a message that may concern another process. The promise, if any, resolves when that will receive it. */
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

/** A response for a process that has ended is dropped. */
async function relayTo(asker: string, session: string, message: Message, node: Node): Promise<void> {
  if (await node.isAlive(asker)) await node.send(asker, { session, text: encodeMessage(message) });
}

/** The process that asked a question, by the id of the question. */
function askerOf(id: unknown): string | undefined {
  return typeof id === "string" ? /^([\w-]{16})\.[\w-]{16}\.\d+$/.exec(id)?.[1] : undefined;
}
