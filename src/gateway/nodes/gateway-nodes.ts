import type { HostChange } from "../../host/change-feed.ts";
import type { SlotRequest } from "../../host/slot-request.ts";
import { asJson, type JsonObject } from "../../json/json.ts";
import type { Method } from "../../protocol/methods.ts";
import { createSealer } from "../../protocol/seal.ts";
import { type CallOf, createRequestId, type Outcome, type OutcomeOf } from "../../protocol/service.ts";
import type { Clock } from "../../std/clock.ts";
import { type ClusterNode, createClusterNode } from "../../store/cluster-node.ts";
import type { Store } from "../../store/store.ts";
import type { ConnectionOwner } from "../connection-owner.ts";
import { type CallForwarder, createCallForwarder } from "./call-forwarder.ts";
import type { CallMessage } from "./call-messages.ts";
import { type ConnectionHomes, createConnectionHomes } from "./connection-homes.ts";

/** What another process is asked to do for a call. */
export interface ForwardedWork {
  readonly server: string;
  readonly owner: ConnectionOwner;
  readonly request: SlotRequest;
}

/** What all processes of a gateway hear about the connections of a caller. */
export type ConnectionEvent = { readonly owner: string } & (
  | { readonly kind: "changed"; readonly change: HostChange }
  /** The caller tells its servers something that belongs to no call. */
  | { readonly kind: "notification"; readonly method: string; readonly params: JsonObject }
  /** The session of the caller is over. */
  | { readonly kind: "ended" }
);

/** A process that serves a gateway. */
export interface GatewayNode {
  readonly id: string;
  /** True for the process that says so. */
  readonly isSelf: boolean;
  readonly pid: number;
  /** ISO 8601. */
  readonly startedAt: string;
}

/** The processes that serve the same gateway. */
export interface GatewayNodes {
  /**
   * Has a call run by the process that has the connection of its caller, or in which it waits for answers: `run`, if it was
   * given, names what waits. Undefined where that is this process, or the other one does not take it in time.
   */
  forward<M extends Method>(work: ForwardedWork, call: CallOf<M>, run?: string): Promise<OutcomeOf<M> | undefined>;
  /** A call waits here for answers. */
  keepRun(run: string): Promise<void>;
  /** The connection of a caller is closed. */
  release(server: string, owner: ConnectionOwner): void;
  /** Tells the other processes. */
  tell(event: ConnectionEvent): void;
  /** Those that live. */
  list(): Promise<readonly GatewayNode[]>;
  close(): Promise<void>;
}

/** What other processes bring about in this one. */
export interface NodeHandlers {
  /** Runs what another process has forwarded. */
  run(work: ForwardedWork, call: CallOf): Promise<Outcome>;
  onEvent(event: ConnectionEvent): void;
}

export interface GatewayNodesOptions {
  readonly store: () => Promise<Store>;
  readonly stateKeys: readonly string[];
  readonly clock: Clock;
}

/** What is sent between processes: only those that know the keys of the gateway can read or write it. */
interface Sealed {
  readonly sealed: string;
}

const NODES = "nodes";
const FORGOTTEN_MS = 86_400_000;

export function createGatewayNodes(options: GatewayNodesOptions, handlers: NodeHandlers): GatewayNodes {
  const id = createRequestId();
  /** The connections that are here, by what the store says. */
  const mine = new Set<string>();
  let joining: Promise<Joined> | undefined;
  let isClosed = false;
  const joined = (): Promise<Joined> => {
    joining ??= join(id, options, handlers).catch((error: unknown) => {
      // The store may be back for the next call.
      joining = undefined;
      throw error;
    });
    return joining;
  };
  // The other processes should know of this one before the first call.
  joined().catch(() => {});

  return {
    async forward(work, call, waiting) {
      const { server, owner } = work;
      if (owner.isExclusive) return waiting === undefined ? undefined : forwardRun(await joined(), work, call, waiting);
      const connection = nameOf(server, owner);
      if (mine.has(connection)) return undefined;
      const { homes, forwarder } = await joined();
      const home = await homes.claim(connection);
      if (home !== id) {
        const outcome = await forwarder.forward(home, work, call);
        if (outcome !== undefined) return outcome;
        await homes.take(connection);
      }
      mine.add(connection);
      return undefined;
    },
    keepRun: async (waiting) => (await joined()).homes.keepRun(waiting),
    release(server, owner) {
      const connection = nameOf(server, owner);
      if (isClosed || !mine.delete(connection)) return;
      joined()
        .then(({ homes }) => homes.release(connection))
        .catch(() => {});
    },
    tell(event) {
      joined()
        .then(({ tell }) => tell(event))
        .catch(() => {});
    },
    list: async () => listNodes(await joined()),
    async close() {
      isClosed = true;
      const parts = await joining?.catch(() => undefined);
      if (parts === undefined) return;
      parts.forwarder.close();
      await Promise.allSettled([parts.node.leave(), parts.store.values.delete(`node ${id}`)]);
    },
  };
}

/** Where nobody knows who calls, the call that waits leads to the process. */
async function forwardRun<M extends Method>(
  { homes, forwarder, node: { id } }: Joined,
  work: ForwardedWork,
  call: CallOf<M>,
  run: string,
): Promise<OutcomeOf<M> | undefined> {
  const home = await homes.homeOfRun(run);
  return home === undefined || home === id ? undefined : forwarder.forward(home, work, call);
}

async function join(
  id: string,
  { store: load, stateKeys, clock }: GatewayNodesOptions,
  { run, onEvent }: NodeHandlers,
): Promise<Joined> {
  const { date: now = Date.now } = clock;
  const store = await load();
  const { seal, open } = createMessageSealer(stateKeys);
  const inOrder = createQueue();
  const node: ClusterNode<Sealed, Sealed> = createClusterNode({
    ...{ id, store, clock, topic: "gateway" },
    onEvent: (sealed: Sealed) =>
      inOrder(async () => {
        const event = await open<ConnectionEvent & { readonly from: string }>(sealed);
        if (event !== undefined && event.from !== id) onEvent(event);
      }),
    onMessage: (sealed: Sealed) =>
      inOrder(async () => {
        const message = await open<CallMessage>(sealed);
        if (message !== undefined) forwarder.receive(message);
      }),
    onGap: () => forwarder.end(),
  });
  const forwarder = createCallForwarder<ForwardedWork>({
    ...{ self: id, clock, run },
    isAlive: node.isAlive,
    send: async (to, message) => node.send(to, await seal(message)),
  });
  await node.join();
  const self = { pid: process.pid, startedAt: new Date(now()).toISOString() };
  await store.values.put(`node ${id}`, JSON.stringify(self), { group: NODES, ttlMs: FORGOTTEN_MS });
  const homes = createConnectionHomes({ store, self: id, isAlive: node.isAlive });
  return { store, node, forwarder, homes, tell: async (event) => node.tell(await seal({ ...event, from: id })) };
}

function createMessageSealer(stateKeys: readonly string[]) {
  const sealer = createSealer(stateKeys, { purpose: "plugbay gateway nodes", taker: "openGateway" });
  return {
    seal: async (content: object): Promise<Sealed> => ({ sealed: await sealer.seal(asJson(content)) }),
    /** Undefined for what was not sealed with the keys of the gateway. */
    open: async <T>({ sealed }: Sealed): Promise<T | undefined> =>
      typeof sealed === "string" ? ((await sealer.open(sealed)) as T | undefined) : undefined,
  };
}

/** Handles one message after the other, in the order in which they came. */
function createQueue(): (work: () => Promise<void>) => void {
  let last: Promise<void> = Promise.resolve();
  return (work) => {
    last = last.then(work).catch((error: unknown) => console.error("plugbay: a message of another process:", error));
  };
}

/** The processes that live. What processes that were killed have left behind is deleted. */
async function listNodes({ store, node }: Joined): Promise<readonly GatewayNode[]> {
  const known = await store.values.list(NODES, { limit: MAX_NODES });
  const living = await Promise.all(
    known.map(async ({ name, text }): Promise<readonly GatewayNode[]> => {
      const id = name.slice("node ".length);
      if (await node.isAlive(id)) return [{ id, isSelf: id === node.id, ...JSON.parse(text) }];
      await store.values.delete(name);
      return [];
    }),
  );
  return living.flat();
}

/** More than anybody runs. */
const MAX_NODES = 1_000;

interface Joined {
  readonly store: Store;
  readonly node: ClusterNode<Sealed, Sealed>;
  readonly forwarder: CallForwarder<ForwardedWork>;
  readonly homes: ConnectionHomes;
  tell(event: ConnectionEvent): Promise<void>;
}

function nameOf(server: string, { key }: ConnectionOwner): string {
  return `${server}\n${key}`;
}
