import { type Call, createCall } from "../protocol/service.ts";
import { digestText } from "../std/digest.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import type { Lease, Store } from "../store/store.ts";
import { type Context, handlerJob } from "./context.ts";
import type { Environment } from "./environment.ts";
import type { ServerOptions } from "./options.ts";

type Subscriber = Call<"subscriptions/listen">;

/** What an author does about the first and the last subscriber of a resource. */
export type WatcherHooks = Pick<ServerOptions, "onSubscribe" | "onUnsubscribe">;

/** Counts the subscribers of resources, and starts the watcher of each in one process of all. */
export interface Watchers {
  /** Somebody subscribes. Returns how to end that. */
  add(uris: readonly string[], call: Subscriber): () => void;
  /** Nobody here subscribes to anything any more. Never rejects. */
  close(): Promise<void>;
}

/** After this time without a renewal, another process watches the resources of this one. */
const LEASE_MS = 15_000;
/** How long a watcher goes on after its last subscriber: a client that asks for one more resource may ask for all of them anew. */
const LINGER_MS = 1_000;
const TOPIC = "watchers";

export function createWatchers(env: Environment, hooks: WatcherHooks): Watchers {
  const watched = new Map<string, Watched>();
  const coordination = env.isShared && env.clock.requestBound !== true ? createCoordination(env, watched) : undefined;

  const watchFor = (uri: string, call: Subscriber): void => {
    const known = watched.get(uri);
    const resource = known ?? watch(uri, { env, hooks, coordination });
    if (known === undefined) watched.set(uri, resource);
    resource.join(call);
  };

  const end = (uri: string): void => {
    void watched.get(uri)?.end();
    watched.delete(uri);
    if (watched.size === 0) coordination?.rest();
  };

  return {
    add(uris, call) {
      const distinct = [...new Set(uris)];
      for (const uri of distinct) watchFor(uri, call);
      return () => {
        for (const uri of distinct) watched.get(uri)?.leave(call, () => end(uri));
      };
    },
    async close() {
      const all = [...watched.values()];
      watched.clear();
      await Promise.all(all.map((resource) => resource.end()));
      coordination?.rest();
    },
  };
}

/** A resource that somebody here subscribes to, or did a moment ago. */
interface Watched {
  join(call: Subscriber): void;
  /** Calls `ended` once nobody has subscribed for a while. Idempotent. */
  leave(call: Subscriber, ended: () => void): void;
  /** Tries to be the one who looks after it, if nobody is. */
  claim(): Promise<void>;
  /** Looks after it no more. */
  end(): Promise<void>;
}

interface WatchParts {
  readonly env: Environment;
  readonly hooks: WatcherHooks;
  readonly coordination: Coordination | undefined;
}

function watch(uri: string, { env, hooks, coordination }: WatchParts): Watched {
  /** Who subscribes now, in the order in which they came. */
  const calls = new Set<Subscriber>();
  let isRunning = false;
  let isOver = false;
  let lease: Lease | undefined;
  let stopTimer = (): void => {};
  let stay = (): void => {};
  let turn: Promise<void> = Promise.resolve();

  /** One thing after the other: a watcher is not stopped while it starts. */
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    turn = turn.then(work).catch((error: unknown) => void env.errors.failureOf(error, "subscriptions/listen", uri));
    return turn;
  };

  /** On behalf of who subscribes now. One that fails leaves the resource to other processes, and is tried again later. */
  const start = async (): Promise<void> => {
    const [call] = calls;
    if (call === undefined) return;
    isRunning = await callOnSubscribe(uri, call, { env, hooks });
    if (isRunning) return;
    const given = lease;
    lease = undefined;
    await given?.release();
  };

  const stop = async (): Promise<void> => {
    if (!isRunning) return;
    isRunning = false;
    await hooks.onUnsubscribe?.(uri);
  };

  /** Holds on to the lease, or takes it when nobody has it. False when it is not ours. */
  const holdLease = async ({ acquire }: Coordination): Promise<boolean> => {
    if (lease !== undefined && (await lease.renew())) return true;
    // Another process took it, or may have.
    lease = undefined;
    await stop();
    if (calls.size > 0) lease = await acquire(uri);
    return lease !== undefined;
  };

  const hold = async (): Promise<void> => {
    if (isOver || (coordination !== undefined && !(await holdLease(coordination)))) return;
    if (!isRunning) await start();
  };

  const later = (): void => {
    stopTimer();
    const isNeeded = !isOver && (coordination !== undefined || !isRunning);
    if (isNeeded) stopTimer = env.clock.after(LEASE_MS / 3, () => void claim());
  };

  const claim = (): Promise<void> => inTurn(hold).then(later);

  return {
    join(call) {
      stay();
      calls.add(call);
      if (calls.size === 1) void claim();
    },
    leave(call, ended) {
      if (calls.delete(call) && calls.size === 0) stay = linger(env, ended);
    },
    claim: () => (lease === undefined ? claim() : turn),
    end() {
      isOver = true;
      stopTimer();
      stay();
      return inTurn(async () => {
        await stop();
        await lease?.release();
        if (lease !== undefined) await coordination?.announceVacancy(uri);
      });
    },
  };
}

/** Calls `ended` in a moment, and keeps the process alive until then. At once where a timer would end with its request. Returns how to prevent it. */
function linger({ clock }: Environment, ended: () => void): () => void {
  if (clock.requestBound === true) {
    ended();
    return () => {};
  }
  const letGo = clock.hold?.();
  const disarm = clock.after(LINGER_MS, () => {
    letGo?.();
    ended();
  });
  return () => {
    disarm();
    letGo?.();
  };
}

/** Runs the hook with a call of its own: what it starts goes on when this subscriber leaves. False when it fails. */
async function callOnSubscribe(
  uri: string,
  subscriber: Subscriber,
  { env, hooks: { onSubscribe } }: Pick<WatchParts, "env" | "hooks">,
): Promise<boolean> {
  if (onSubscribe === undefined) return true;
  const call = createCall({ ...subscriber, abort: new LazyAbort() });
  const job = handlerJob(env, {
    method: call.method,
    name: uri,
    run: async (context: Context): Promise<void> => onSubscribe(uri, context),
    finish: () => ({ kind: "complete", result: {} }),
  });
  return (await env.runner.runOnce(call, job)).kind === "complete";
}

/** Where several processes agree on who looks after a resource. */
interface Coordination {
  /** Undefined while another process watches it. */
  acquire(uri: string): Promise<Lease | undefined>;
  /** Notifies the others that no process watches a resource. */
  announceVacancy(uri: string): Promise<void>;
  /** Nothing is watched here for now. */
  rest(): void;
}

function createCoordination(
  { store, errors, audience }: Environment,
  watched: ReadonlyMap<string, Pick<Watched, "claim">>,
): Coordination {
  let listening: Promise<() => void> | undefined;

  const listen = async ({ topics }: Store): Promise<() => void> => {
    const subscription = await topics.subscribe(TOPIC);
    const pump = async (): Promise<void> => {
      for await (const message of subscription) {
        const uris = message.kind === "message" ? [message.text] : [...watched.keys()];
        for (const uri of uris) void watched.get(uri)?.claim();
      }
    };
    void pump();
    return () => void subscription.close();
  };

  return {
    async acquire(uri) {
      const opened = await store.load();
      listening ??= listen(opened);
      listening.catch((error: unknown) => {
        listening = undefined;
        errors.failureOf(error, "subscriptions/listen", uri);
      });
      await listening;
      return opened.leases.acquire(`watch:${await digestText(JSON.stringify([audience, uri]))}`, LEASE_MS);
    },
    async announceVacancy(uri) {
      await (await store.load()).topics.publish(TOPIC, uri);
    },
    rest() {
      const ended = listening;
      listening = undefined;
      void ended?.then((stop) => stop()).catch(() => {});
    },
  };
}
