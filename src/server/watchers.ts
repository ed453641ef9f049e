import type { Call } from "../protocol/service.ts";
import { digestText } from "../std/digest.ts";
import type { Lease, Store } from "../store/store.ts";
import { type Context, handlerJob } from "./context.ts";
import type { Environment } from "./environment.ts";
import type { ServerOptions } from "./options.ts";

/** What an author does about the first and the last subscriber of a resource. */
export type WatcherHooks = Pick<ServerOptions, "onSubscribe" | "onUnsubscribe">;

/** Counts the subscribers of resources, and has one process of all look after each resource that has some. */
export interface Watchers {
  /** Somebody subscribes. Returns how to end that. */
  add(uris: readonly string[], call: Call): () => void;
  /** Nobody here subscribes to anything any more. Never rejects. */
  close(): Promise<void>;
}

/** A process that does not renew it for so long is gone, and another one looks after its resources. */
const LEASE_MS = 15_000;
const TOPIC = "watchers";

export function createWatchers(env: Environment, hooks: WatcherHooks): Watchers {
  const watched = new Map<string, Watched>();
  const coordination = env.isShared && env.clock.requestBound !== true ? createCoordination(env, watched) : undefined;

  const release = (uri: string): void => {
    const resource = watched.get(uri);
    if (resource === undefined || --resource.count > 0) return;
    watched.delete(uri);
    void resource.end();
    if (watched.size === 0) coordination?.rest();
  };

  return {
    add(uris, call) {
      const distinct = [...new Set(uris)];
      for (const uri of distinct) {
        const known = watched.get(uri);
        if (known !== undefined) known.count++;
        else watched.set(uri, watch(uri, call, { env, hooks, coordination }));
      }
      let isOver = false;
      return () => {
        if (!isOver) for (const uri of distinct) release(uri);
        isOver = true;
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

/** A resource that somebody here subscribes to. */
interface Watched {
  count: number;
  /** Tries to be the one who looks after it, if nobody is. */
  claim(): Promise<void>;
  /** Nobody here subscribes any more. */
  end(): Promise<void>;
}

interface WatchParts {
  readonly env: Environment;
  readonly hooks: WatcherHooks;
  readonly coordination: Coordination | undefined;
}

function watch(uri: string, call: Call, { env, hooks, coordination }: WatchParts): Watched {
  let isRunning = false;
  let isOver = false;
  let lease: Lease | undefined;
  let stopTimer = (): void => {};
  let turn: Promise<void> = Promise.resolve();

  /** One thing after the other: a watcher is not stopped while it starts. */
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    turn = turn.then(work).catch((error: unknown) => void env.faults.failureOf(error, "subscriptions/listen", uri));
    return turn;
  };

  const start = async (): Promise<void> => {
    isRunning = true;
    const { onSubscribe } = hooks;
    if (onSubscribe === undefined) return;
    const run = async (context: Context): Promise<void> => onSubscribe(uri, context);
    const job = handlerJob(env, {
      method: call.method,
      name: uri,
      run,
      finish: () => ({ kind: "complete", result: {} }),
    });
    await env.runner.runOnce(call, job);
  };

  const stop = async (): Promise<void> => {
    if (!isRunning) return;
    isRunning = false;
    await hooks.onUnsubscribe?.(uri);
  };

  const later = (): void => {
    stopTimer();
    if (!isOver) stopTimer = env.clock.after(LEASE_MS / 3, () => void claim());
  };

  /** Holds on to the lease, or takes it when nobody has it. */
  const hold = async (): Promise<void> => {
    if (isOver || coordination === undefined) return;
    if (lease !== undefined && (await lease.renew())) return;
    // Another process took it, or may have.
    lease = undefined;
    await stop();
    lease = await coordination.acquire(uri);
    if (lease !== undefined) await start();
  };

  const claim = (): Promise<void> => inTurn(hold).then(later);

  if (coordination === undefined) void inTurn(start);
  else void claim();
  return {
    count: 1,
    claim: () => (lease === undefined ? claim() : turn),
    end() {
      isOver = true;
      stopTimer();
      return inTurn(async () => {
        await stop();
        await lease?.release();
        if (lease !== undefined) await coordination?.tell(uri);
      });
    },
  };
}

/** Where several processes agree on who looks after a resource. */
interface Coordination {
  /** Undefined while another process looks after it. */
  acquire(uri: string): Promise<Lease | undefined>;
  /** Tells the others that nobody looks after a resource any more. */
  tell(uri: string): Promise<void>;
  /** Nothing is watched here for now. */
  rest(): void;
}

function createCoordination(
  { store, faults, audience }: Environment,
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
        faults.failureOf(error, "subscriptions/listen", uri);
      });
      await listening;
      return opened.leases.acquire(`watch:${await digestText(JSON.stringify([audience, uri]))}`, LEASE_MS);
    },
    async tell(uri) {
      await (await store.load()).topics.publish(TOPIC, uri);
    },
    rest() {
      const ended = listening;
      listening = undefined;
      void ended?.then((stop) => stop()).catch(() => {});
    },
  };
}
