import type { ClientConnection } from "../connect/create-connect.ts";
import { readTarget } from "../connect/target.ts";
import type { CreateOwnSlot, OwnConnections, OwnConnectionsHost } from "../host/own-connections.ts";
import type { ServerSlot } from "../host/server-slot.ts";
import type { SendBySlot } from "../host/slot-request.ts";
import type { JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { Method } from "../protocol/methods.ts";
import { eraOf } from "../protocol/revision.ts";
import { type CallOf, createCall, type OutcomeOf, signalOf } from "../protocol/service.ts";
import { isFinal, type Task } from "../protocol/task.ts";
import type { QuestionRun, QuestionRuns } from "../server/question-runs.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import type { CircuitBreakers } from "./circuit-breaker.ts";
import { canBeAsked } from "./connection-handlers.ts";
import { type ConnectionOwner, connectionOwnerOf, sessionOwnerKey } from "./connection-owner.ts";
import {
  type ConnectionPool,
  type ConnectionPoolOptions,
  createConnectionPool,
  type HeldConnection,
} from "./connection-pool.ts";
import type { GatewayNode, GatewayNodes, NodeHandlers } from "./nodes/gateway-nodes.ts";

/** One connection to a server for all callers, or one for each. */
export type UpstreamSessions = "auto" | "shared" | "per-caller";

export interface CallerConnectionsOptions extends Omit<ConnectionPoolOptions, "onChange" | "onDrop"> {
  /** What is said of a server. */
  sessionsOf(server: string): UpstreamSessions;
  readonly runs: QuestionRuns;
  /** Refuse calls over connections that have not answered for a while. */
  readonly breakers: Pick<CircuitBreakers, "run" | "forget">;
  /** Where several processes serve the gateway: how they reach each other. */
  readonly joinNodes?: ((handlers: NodeHandlers) => GatewayNodes) | undefined;
  /** False for a server that each process connects to by itself: what it is shown does not leave the process. */
  isForwarded(server: string): boolean;
}

/** What a gateway knows of the connections of its callers. */
export interface CallerConnections extends OwnConnections {
  /** How many there are to each server. */
  counts(): ReadonlyMap<string, number>;
  /** The processes that serve the gateway; none where it is this one alone. */
  nodes(): Promise<readonly GatewayNode[]>;
  /** Tells the servers of a caller something that belongs to no call. */
  tell(caller: CallOf, method: string, params: JsonObject): void;
  /** The session of a client is over: so are its connections. */
  endSession(id: string): Promise<void>;
  /** The credentials of a user, or of all, have changed: the connections to a server are made anew. */
  reconnect(server: string, principal?: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Gives callers of a gateway connections of their own, where a server needs to tell them apart: servers of older revisions,
 * which ask the client of a session and may keep state for it, and servers that each user has credentials for.
 *
 * What such a server asks reaches the caller whose call is running there: at once where the caller can be asked while it
 * waits, else by the outcome of the call.
 */
export function createCallerConnections(
  options: CallerConnectionsOptions,
  create: CreateOwnSlot,
  host: OwnConnectionsHost,
): CallerConnections {
  const { sessionsOf, credentialsOf, runs, breakers, joinNodes, isForwarded } = options;
  const pool = createConnectionPool(
    {
      ...options,
      onChange: ({ key: owner }, change) => nodes?.tell({ kind: "changed", owner, change }),
      onDrop: (server, owner) => nodes?.release(server, owner),
    },
    create,
  );

  const sender = createOwnSender({ pool, runs, nodes: () => nodes });
  const { isOwnUse } = createOwnUse(options);
  const nodes = joinNodes?.({
    async run({ server, owner, request }, call) {
      const shared = host.slots.get(server);
      if (shared === undefined) throw new McpError("invalid-params", `unknown server ${server}`);
      const isBack = call.state !== undefined && (await runs.runOf(call.state)) !== undefined;
      return sender.send(shared, { call, owner, isBack, send: host.send(shared, call, request) });
    },
    onEvent(event) {
      if (event.kind === "changed") pool.announce(event.owner, event.change);
      else if (event.kind === "notification") pool.tell(event.owner, event.method, event.params);
      else void pool.dropAll(({ owner }) => owner.key === event.owner);
    },
  });

  return {
    async run(shared, call, request, send) {
      const run = call.state === undefined ? undefined : await runs.runOf(call.state);
      const decided = run !== undefined || isOwnUse(shared, call);
      const isOwn = decided instanceof Promise ? await decided : decided;
      const { name: server } = shared;
      if (!isOwn) return breakers.run({ server }, () => send(shared, call));
      const owner = connectionOwnerOf(call);
      return breakers.run({ server, owner: owner.key }, async () => {
        const work = { server, owner, request };
        const forwarded = isForwarded(server) ? await nodes?.forward(work, call, run) : undefined;
        return forwarded ?? sender.send(shared, { call, owner, isBack: run !== undefined, send });
      });
    },
    listsOf(shared, caller) {
      const owner = connectionOwnerOf(caller);
      const isKnown = sessionsOf(shared.name) === "per-caller" || credentialsOf(shared, caller) !== undefined;
      return isKnown ? pool.slotFor(shared, owner, caller) : (pool.known(shared, owner) ?? shared);
    },
    async watchOver(shared, caller, signal) {
      const owner = connectionOwnerOf(caller);
      if (owner.isExclusive || !(await isOwnUse(shared, caller)) || signal.aborted) return shared;
      const { connection, use, release } = pool.hold(shared, owner, caller);
      use.isWatch = true;
      const over = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      void connection.slot.member.use(over).then(release);
      await connection.slot.member.open(signal).catch(() => {});
      return connection.slot;
    },
    async retire(shared, enough) {
      breakers.forget(shared.name);
      await pool.retire(shared, enough);
    },
    hearChanges: (caller, hear, signal) => pool.hearChanges(connectionOwnerOf(caller), hear, signal),
    counts: pool.counts,
    nodes: async () => (await nodes?.list()) ?? [],
    tell(caller, method, params) {
      const { key: owner } = connectionOwnerOf(caller);
      pool.tell(owner, method, params);
      nodes?.tell({ kind: "notification", owner, method, params });
    },
    async endSession(id) {
      const key = sessionOwnerKey(id);
      nodes?.tell({ kind: "ended", owner: key });
      await pool.dropAll(({ owner }) => owner.key === key);
    },
    reconnect: (server, principal) =>
      pool.dropAll(
        ({ owner, slot }) =>
          slot.name === server && (principal === undefined || owner.account === `principal:${principal}`),
      ),
    async close() {
      await pool.close();
      await nodes?.close();
    },
  };
}

/** Sends calls over connections of their callers that are in this process. */
function createOwnSender({ pool, runs, nodes }: OwnSenderOptions) {
  const hold = (shared: ServerSlot, owner: ConnectionOwner, call: CallOf, isAlone?: boolean): HeldConnection => {
    try {
      return pool.hold(shared, owner, call, isAlone);
    } catch (error) {
      nodes()?.release(shared.name, owner);
      throw error;
    }
  };

  /** Sends a call over a connection of its own: as it is to a server that asks by outcomes, else as work that can be asked. */
  const sendFirst = async <M extends Method>(shared: ServerSlot, { call, owner, send }: OwnCall<M>) => {
    let held = hold(shared, owner, call);
    let isRunning = false;
    try {
      const { slot } = held.connection;
      const { connection } = slot.member.line ?? (await slot.member.open(signalOf(call)));
      if (eraOf(connection.revision) === "modern") return await send(slot, call);
      if (isAskedAlone(owner, call)) {
        held.release();
        held = hold(shared, owner, call, true);
      }
      return await runs.run(call, (run) => {
        isRunning = true;
        return sendAsked(held, { call, run, send });
      });
    } finally {
      if (!isRunning) held.release();
    }
  };

  const sendBack = <M extends Method>(shared: ServerSlot, { call, owner, send }: OwnCall<M>) =>
    runs.run(call, (run) => sendAsked(hold(shared, owner, call, isAskedAlone(owner, call)), { call, run, send }));

  const send = async <M extends Method>(shared: ServerSlot, own: OwnCall<M>): Promise<OutcomeOf<M>> => {
    const { owner } = own;
    const outcome = await (own.isBack ? sendBack(shared, own) : sendFirst(shared, own));
    if (outcome.kind === "failed" && outcome.cause instanceof McpError) throw outcome.cause;
    // Nobody knows whose connection it is: the answers have to come here.
    if (owner.isExclusive && outcome.kind === "input-required") await keepRun(outcome.state);
    return outcome;
  };

  const keepRun = async (state: string | undefined): Promise<void> => {
    const others = nodes();
    if (others === undefined || state === undefined) return;
    const run = await runs.runOf(state);
    if (run !== undefined) await others.keepRun(run);
  };

  return { send };
}

interface OwnSenderOptions {
  readonly pool: ConnectionPool;
  readonly runs: QuestionRuns;
  nodes(): GatewayNodes | undefined;
}

/** Says which calls need a connection of their caller. */
function createOwnUse({ sessionsOf, credentialsOf }: CallerConnectionsOptions) {
  const isOwnUse = (shared: ServerSlot, call: CallOf): boolean | Promise<boolean> => {
    const sessions = sessionsOf(shared.name);
    if (sessions !== "auto") return sessions === "per-caller";
    if (credentialsOf(shared, call) !== undefined) return true;
    const { line } = shared.member;
    if (line !== undefined) return needsOwn(shared, line, call);
    // Why it cannot be had is found out again, and told, by who sends the call.
    return shared.member.open(signalOf(call)).then(
      (opened) => needsOwn(shared, opened, call),
      () => false,
    );
  };

  return { isOwnUse };
}

/** A call for a connection of its own. */
interface OwnCall<M extends Method> {
  readonly call: CallOf<M>;
  readonly owner: ConnectionOwner;
  /** True for a call that comes back with answers. */
  readonly isBack: boolean;
  readonly send: SendBySlot<M>;
}

interface AskedCall<M extends Method> {
  readonly call: CallOf<M>;
  readonly run: QuestionRun;
  readonly send: SendBySlot<M>;
}

/** Sends a call to a server that asks while it is called: the work of a run, which may last for several calls of its caller. */
async function sendAsked<M extends Method>(
  { connection, use, release }: HeldConnection,
  { call, run, send }: AskedCall<M>,
): Promise<OutcomeOf<M>> {
  use.run = run;
  try {
    const outcome = await send(
      connection.slot,
      lastingCall(call, run, (id) => use.requestIds.add(id)),
    );
    if (outcome.kind === "task") connection.awaitTask(outcome.task);
    else if (isEndOfTask(call.method, outcome)) connection.endTask(String((call.params as { taskId?: string }).taskId));
    return outcome;
  } finally {
    release();
  }
}

/**
 * Whether a call has a connection for itself while it runs: a server that asks does not always say for which call. A client
 * of 2026-07-28 may be one of several programs of its user, which must not see each other's questions; a session is one.
 */
function isAskedAlone({ isSession, isExclusive }: ConnectionOwner, { peer }: CallOf): boolean {
  return isExclusive || (!isSession && canBeAsked(peer.capabilities));
}

/** Whether a server that was found out to speak so has to know callers apart. */
function needsOwn({ spec }: ServerSlot, { connection }: ClientConnection, { peer }: CallOf): boolean {
  if (eraOf(connection.revision) === "modern" || connection.hasSession === false) return false;
  // A program is one process for each caller: only for those that it may ask.
  return readTarget(spec.target).kind === "url" || canBeAsked(peer.capabilities);
}

/** The call as it is sent: it can be asked, and lasts until its caller comes back or gives up. */
function lastingCall<M extends Method>(
  call: CallOf<M>,
  run: QuestionRun,
  onSent: (requestId: string | number) => void,
): CallOf<M> {
  const abort = new LazyAbort();
  const { signal } = run;
  const stop = (): void => abort.abort(signal.reason);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  return createCall({
    ...call,
    abort,
    state: undefined,
    answers: undefined,
    closeStream: undefined,
    onSent,
    ask: (question) => run.ask(question),
    notify: (method, params) => run.notify(method, params),
  });
}

function isEndOfTask(method: Method, outcome: OutcomeOf): boolean {
  if (outcome.kind !== "complete") return false;
  return (
    method === "tasks/result" ||
    (method.startsWith("tasks/") && "status" in outcome.result && isFinal(outcome.result as Task))
  );
}
