import type { Dial } from "../connect/create-connect.ts";
import type { HostChange } from "../host/change-feed.ts";
import type { CreateOwnSlot } from "../host/own-connections.ts";
import { closedError } from "../host/server-connection.ts";
import type { ServerSlot } from "../host/server-slot.ts";
import type { HostConnectOptions } from "../host/spec.ts";
import type { JsonObject } from "../json/json.ts";
import { RETRY_AFTER_MS, toLimitError } from "../protocol/limit-error.ts";
import { eraOf } from "../protocol/revision.ts";
import type { CallOf } from "../protocol/service.ts";
import type { Task } from "../protocol/task.ts";
import type { Clock } from "../std/clock.ts";
import { type ChangeListeners, createChangeListeners } from "./change-listeners.ts";
import { type ConnectionUse, capabilitiesFor, createHandlers } from "./connection-handlers.ts";
import type { ConnectionOwner } from "./connection-owner.ts";
import { withLogLevels } from "./log-levels.ts";
import { createTaskQuestions } from "./task-questions.ts";

export interface ConnectionPoolOptions {
  /** What is different about connecting for this caller, where each user has credentials of its own. */
  credentialsOf(slot: ServerSlot, caller: CallOf): HostConnectOptions | undefined;
  readonly dial: Dial;
  readonly clock: Clock;
  /** A connection that its caller has not used for so long is closed. */
  readonly idleTimeoutMs: number;
  /** Connections of one caller, and of all. */
  readonly max: { readonly principal: number; readonly process: number };
  /** Something that a connection lists has changed. */
  onChange?(owner: ConnectionOwner, change: HostChange): void;
  /** A connection is closed. */
  onDrop?(server: string, owner: ConnectionOwner): void;
}

/** A connection that only the calls of one owner use. */
export interface OwnConnection {
  readonly owner: ConnectionOwner;
  readonly slot: ServerSlot;
  /** Keeps the connection until the task is over, or {@link OwnConnection.endTask}. The id is the one that the caller has. */
  awaitTask(task: Task): void;
  endTask(taskId: string): void;
}

/** A connection that is in use by a call. */
export interface HeldConnection {
  readonly connection: OwnConnection;
  readonly use: ConnectionUse;
  /** Idempotent. */
  release(): void;
}

/** The connections of single callers. */
export interface ConnectionPool extends ChangeListeners {
  /**
   * A connection for a call, until it is released; the one that has the task of a call about a task. A call that is to be
   * alone gets one that no such call uses, as long as there may be another. Throws `limit-reached` where no more may be made.
   */
  hold(shared: ServerSlot, owner: ConnectionOwner, call: CallOf, isAlone?: boolean): HeldConnection;
  /** The slot of an owner, for its lists. */
  slotFor(shared: ServerSlot, owner: ConnectionOwner, call: CallOf): ServerSlot;
  /** The slot of an owner, if it has one. */
  known(shared: ServerSlot, owner: ConnectionOwner): ServerSlot | undefined;
  /** How many there are to each server. */
  counts(): ReadonlyMap<string, number>;
  /** Tells the servers of an owner something that belongs to no call. */
  tell(owner: string, method: string, params: JsonObject): void;
  /** Closes those to a server that was taken out of the host, when no call uses them or `enough` resolves. */
  retire(shared: ServerSlot, enough: Promise<void>): Promise<void>;
  /** Closes those that a test holds for. Resolves when they are closed. */
  dropAll(which: (connection: OwnConnection) => boolean): Promise<void>;
  /** Closes all, and waits for those that are being closed. */
  close(): Promise<void>;
}

interface Own extends OwnConnection {
  readonly name: string;
  /** In the order of their begin. */
  readonly uses: Set<ConnectionUse>;
  usedAt: number;
  /** Tasks that run there, by the id that the caller has. */
  readonly tasks: Map<string, RunningTask>;
}

interface RunningTask {
  /** Waits for it no more. */
  end(): void;
  readonly over: Promise<void>;
}

export function createConnectionPool(options: ConnectionPoolOptions, create: CreateOwnSlot): ConnectionPool {
  const { clock, max } = options;
  const connections = new Map<string, Own>();
  const closing = new Set<Promise<void>>();
  const { announce, hearChanges } = createChangeListeners();

  const drop = (own: Own): Promise<void> => {
    if (connections.get(own.name) === own) connections.delete(own.name);
    for (const task of [...own.tasks.values()]) task.end();
    const isLast = ![...connections.values()].some(({ slot, owner }) => isOf(own, slot.name, owner));
    if (isLast) options.onDrop?.(own.slot.name, own.owner);
    const closed = own.slot.close().finally(() => closing.delete(closed));
    closing.add(closed);
    return closed;
  };

  const dropAll = async (which: (own: OwnConnection) => boolean): Promise<void> => {
    await Promise.all([...connections.values()].filter(which).map(drop));
  };

  /** Makes room for one more: the one that its owner, or else anybody, has not used for longest gives way. */
  const makeRoom = ({ account }: ConnectionOwner): void => {
    const all = [...connections.values()];
    const mine = all.filter(({ owner }) => owner.account === account);
    const isFull = mine.length >= max.principal ? mine : all.length >= max.process ? all : undefined;
    if (isFull === undefined) return;
    const [idle] = isFull.filter(isIdle).sort((one, other) => one.usedAt - other.usedAt);
    if (idle !== undefined) return void drop(idle);
    const scope = isFull === mine ? "principal" : "process";
    throw toLimitError({ limit: "maxUpstreamSessions", max: max[scope], scope, retryAfterMs: RETRY_AFTER_MS });
  };

  /** The name of a connection that the call may use, whether it is there or has to be made. */
  const freeName = (shared: ServerSlot, owner: ConnectionOwner, isAlone: boolean): string => {
    for (let index = 0; ; index++) {
      const name = nameOf(shared, owner, index);
      const known = connections.get(name);
      if (known === undefined || isFree(known, isAlone)) return name;
    }
  };

  const make = (name: string, shared: ServerSlot, owner: ConnectionOwner, call: CallOf): Own => {
    // Nobody would close what is made for a server that was removed meanwhile.
    if (shared.member.state.kind === "closed") throw closedError(shared.name);
    const first = connections.get(nameOf(shared, owner, 0));
    try {
      makeRoom(owner);
    } catch (error) {
      // A user whose calls have all the connections there may be is asked over one of them: which call asks is less sure.
      if (first !== undefined && !owner.isExclusive) return first;
      throw error;
    }
    const made = openConnection({ name, shared, owner, call, create, drop, tell }, options);
    connections.set(name, made);
    return made;
  };

  const find = (shared: ServerSlot, owner: ConnectionOwner, call: CallOf, isAlone: boolean): Own => {
    const withTask = withTaskOf(call, shared, owner, connections.values());
    if (withTask !== undefined) return withTask;
    const name = freeName(shared, owner, isAlone);
    return connections.get(name) ?? make(name, shared, owner, call);
  };

  const tell = (owner: ConnectionOwner, change: HostChange): void => {
    announce(owner.key, change);
    options.onChange?.(owner, change);
  };

  return {
    hold: (shared, owner, call, isAlone = owner.isExclusive) =>
      beginUse(find(shared, owner, call, isAlone), isAlone, (own) => {
        own.usedAt = clock.now();
        if (own.slot.member.state.kind === "down" && isIdle(own)) void drop(own);
      }),
    slotFor: (shared, owner, call) => find(shared, owner, call, owner.isExclusive).slot,
    known: (shared, owner) => connections.get(nameOf(shared, owner, 0))?.slot,
    hearChanges,
    counts: () => countByServer(connections.values()),
    announce,
    tell(key, method, params) {
      for (const { owner, slot } of connections.values()) {
        if (owner.key === key) slot.member.line?.connection.tell?.(method, params);
      }
    },
    retire: createRetire(connections, drop),
    dropAll,
    async close() {
      await dropAll(() => true);
      await Promise.all(closing);
    },
  };
}

/** Waits for the calls and tasks on connections to a server, and closes each of them when it has none. */
function createRetire(connections: ReadonlyMap<string, Own>, drop: (own: Own) => Promise<void>) {
  return async (shared: ServerSlot, enough: Promise<void>): Promise<void> => {
    let isEnough = false;
    const late = enough.then(() => {
      isEnough = true;
    });
    for (;;) {
      const left = [...connections.values()].filter(({ slot }) => slot.origin === shared);
      const free = left.filter((own) => isEnough || workOf(own).length === 0);
      await Promise.all(free.map(drop));
      if (free.length === left.length) return;
      await Promise.race([late, ...left.flatMap(workOf)]);
    }
  };
}

/** The ends of calls and tasks that are under way. */
function workOf({ uses, tasks }: Own): readonly Promise<void>[] {
  const calls = [...uses].filter(({ isWatch }) => !isWatch);
  return [...calls, ...tasks.values()].map(({ over }) => over);
}

function beginUse(own: Own, isAlone: boolean, onReleased: (own: Own) => void): HeldConnection {
  let end = (): void => {};
  const over = new Promise<undefined>((resolve) => {
    end = () => resolve(undefined);
  });
  const use: ConnectionUse = { run: undefined, isWatch: false, isAlone, requestIds: new Set(), over };
  own.uses.add(use);
  const release = (): void => {
    if (!own.uses.delete(use)) return;
    end();
    onReleased(own);
  };
  return { connection: own, use, release };
}

interface NewConnection {
  readonly name: string;
  readonly shared: ServerSlot;
  readonly owner: ConnectionOwner;
  readonly call: CallOf;
  readonly create: CreateOwnSlot;
  drop(own: Own): Promise<void>;
  tell(owner: ConnectionOwner, change: HostChange): void;
}

/** A server that was replaced by another of its name is not the same. */
function nameOf(shared: ServerSlot, { key }: ConnectionOwner, index: number): string {
  const slot = slotNumbers.get(shared) ?? ++slotCount;
  slotNumbers.set(shared, slot);
  return `${slot}\n${key}\n${index}`;
}

const slotNumbers = new WeakMap<ServerSlot, number>();
let slotCount = 0;

function openConnection(
  { name, shared, owner, call, create, drop, tell }: NewConnection,
  { credentialsOf, dial, clock, idleTimeoutMs }: ConnectionPoolOptions,
): Own {
  const uses = new Set<ConnectionUse>();
  const tasks = new Map<string, RunningTask>();
  const questions = eraOf(call.peer.revision) === "modern" ? createTaskQuestions() : undefined;
  const handlers = createHandlers(capabilitiesFor(shared, call), uses, questions);
  const connectOptions = credentialsOf(shared, call);
  const own: Own = {
    name,
    owner,
    uses,
    usedAt: clock.now(),
    tasks,
    slot: create(shared, {
      dial: async (target, options) => ({
        ...withLogLevels(await dial(target, { ...options, handlers })),
        ...(questions && { taskQuestions: questions }),
      }),
      idleTimeoutMs,
      questions: () => ({}),
      onState(_, state) {
        // The next call of its owner makes another.
        if ((state.kind === "idle" || state.kind === "down") && isIdle(own)) void drop(own);
      },
      onChange: (server, change) => tell(owner, { ...change, server }),
      ...(connectOptions && { connectOptions }),
    }),
    awaitTask: (task) => awaitTask(own, task, clock),
    endTask: (taskId) => tasks.get(taskId)?.end(),
  };
  return own;
}

function countByServer(connections: Iterable<Own>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { slot } of connections) counts.set(slot.name, (counts.get(slot.name) ?? 0) + 1);
  return counts;
}

function isIdle({ uses, tasks }: Own): boolean {
  return uses.size === 0 && tasks.size === 0;
}

/** Whether a call may use a connection beside those that use it. */
function isFree(own: Own, isAlone: boolean): boolean {
  if (own.owner.isExclusive) return isIdle(own);
  return !isAlone || ![...own.uses].some((use) => use.isAlone);
}

function isOf({ slot, owner }: Own, server: string, { key }: ConnectionOwner): boolean {
  return slot.name === server && owner.key === key;
}

/** The connection over which the task was begun that a call is about. */
function withTaskOf(
  { method, params }: CallOf,
  { name }: ServerSlot,
  owner: ConnectionOwner,
  connections: Iterable<Own>,
): Own | undefined {
  if (!method.startsWith("tasks/") || !("taskId" in params)) return undefined;
  return [...connections].find((own) => isOf(own, name, owner) && own.tasks.has(String(params.taskId)));
}

/** Keeps a connection while a task runs that was begun over it. */
function awaitTask({ slot, tasks }: Own, { taskId, ttlMs }: Task, clock: Clock): void {
  let end = (): void => {};
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  const stop = (): void => {
    tasks.delete(taskId);
    stopTimer();
    end();
  };
  const stopTimer = clock.after(Math.min(ttlMs ?? maxTaskMs, maxTaskMs), stop);
  tasks.set(taskId, { end: stop, over });
  void slot.member.use(over);
}

const maxTaskMs = 3_600_000;
