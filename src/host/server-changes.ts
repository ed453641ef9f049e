import type { Watch } from "../client/listen.ts";
import { isTransientFailure } from "../client/task-notifications.ts";
import type { ClientConnection } from "../connect/create-connect.ts";
import { McpError } from "../protocol/errors.ts";
import type { Change } from "../protocol/subscription.ts";
import type { Clock } from "../std/clock.ts";

/**
 * Hears of the changes of one server, over all its connections: of its lists,
 * and of the resources that somebody watches. When the server comes, goes or was
 * not heard for a while, everything counts as changed.
 */
export interface Follower {
  /** Follows this connection from now on. */
  start(line: ClientConnection): void;
  /** Until the next connection. */
  stop(): void;
  /** Resolves when the lists of this connection are listened to, or will never be. Never rejects. */
  readonly listening: Promise<void>;
  /** True while the server has confirmed that it announces changes of such a list. */
  hears(kind: ListChange): boolean;
  /** Watches a resource. Watching the same one twice adds up. */
  watch(uri: string): WatchedResource;
}

/** The changes of lists. */
type ListChange = "tools" | "prompts" | "resources";

interface WatchedResource {
  /** Resolves when no later update is missed, or none will ever be told. Never rejects. */
  readonly ready: Promise<void>;
  stop(): void;
}

interface FollowerOptions extends KeepListeningOptions {
  onChange(change: Change): void;
}

interface Watched {
  count: number;
  on: Listening;
}

export function createFollower(options: FollowerOptions): Follower {
  const { onChange } = options;
  const watched = new Map<string, Watched>();
  let line: ClientConnection | undefined;
  let lists = nothing;

  /** A server that comes or goes brings its lists, or takes them away. */
  const all = (): void => {
    for (const kind of ["tools", "prompts", "resources"] as const) onChange({ kind });
  };

  const listenToLists = (on: ClientConnection): void => {
    const { tools, prompts, resources } = on.client.server.capabilities;
    const kinds = {
      tools: tools?.listChanged === true,
      prompts: prompts?.listChanged === true,
      resources: resources?.listChanged === true,
    };
    if (kinds.tools || kinds.prompts || kinds.resources) {
      lists = keepListening(options, {
        open: () => on.client.changes(kinds),
        hear: (change) => onChange(change as Change),
        gap: all,
      });
    }
  };

  const listenTo = (on: ClientConnection, uri: string): Listening => {
    const tell = (): void => onChange({ kind: "resource", uri });
    return keepListening(options, { open: () => on.client.watch(uri), hear: tell, gap: tell });
  };

  return {
    start(opened) {
      line = opened;
      listenToLists(opened);
      all();
      for (const [uri, entry] of watched) {
        entry.on = listenTo(opened, uri);
        onChange({ kind: "resource", uri });
      }
    },
    stop() {
      if (line === undefined) return;
      line = undefined;
      all();
      lists.stop();
      lists = nothing;
      for (const { on } of watched.values()) on.stop();
    },
    get listening() {
      return lists.ready;
    },
    hears: (kind) =>
      lists.missing?.includes(kind) === false && line?.client.server.capabilities[kind]?.listChanged === true,
    watch(uri) {
      const entry = watched.get(uri) ?? { count: 0, on: line === undefined ? nothing : listenTo(line, uri) };
      entry.count++;
      watched.set(uri, entry);
      let isOver = false;
      return {
        ready: entry.on.ready,
        stop() {
          if (isOver) return;
          isOver = true;
          if (--entry.count > 0) return;
          watched.delete(uri);
          entry.on.stop();
        },
      };
    },
  };
}

/** Listening that goes on until it is stopped. */
interface Listening {
  /** Resolves when the server listens, or never will. Never rejects. */
  readonly ready: Promise<void>;
  /** What the server does not announce of what it was asked for. Undefined while it announces nothing. */
  readonly missing: readonly string[] | undefined;
  stop(): void;
}

/** Listening to nothing. */
const nothing: Listening = { ready: Promise.resolve(), missing: undefined, stop() {} };

interface Source {
  open(): Watch<unknown>;
  hear(item: unknown): void;
  /** Something may have been missed. */
  gap(): void;
}

interface KeepListeningOptions {
  readonly clock: Clock;
  /** How long to wait before listening again after it broke off. */
  readonly retryMs: number;
}

/**
 * A server that takes longer to confirm that it announces changes may have been listed before: then everything counts as
 * changed when it does.
 */
const lateMs = 1_000;

/** Listens, and listens again whenever it breaks off. A server that refuses is not asked again. */
function keepListening({ clock, retryMs }: KeepListeningOptions, { open, hear, gap }: Source): Listening {
  let isOver = false;
  let stopTimer = (): void => {};
  let missing: readonly string[] | undefined;
  let deafSince = clock.now();
  let watch = open();

  const confirm = async (): Promise<void> => {
    await watch.ready;
    if (isOver) return;
    missing = watch.missing;
    if (clock.now() - deafSince >= lateMs) gap();
  };

  const read = async (): Promise<void> => {
    const confirmed = confirm().catch(() => {});
    try {
      for await (const item of watch) hear(item);
    } catch (error) {
      isOver ||= !mayBeHeardAgain(error);
    }
    await confirmed;
    if (missing !== undefined) deafSince = clock.now();
    missing = undefined;
    if (!isOver) stopTimer = clock.after(retryMs, again);
  };

  const again = (): void => {
    watch = open();
    void read();
  };

  void read();
  return {
    ready: watch.ready.catch(() => {}),
    get missing() {
      return missing;
    },
    stop() {
      isOver = true;
      stopTimer();
      void watch[Symbol.asyncDispose]();
    },
  };
}

/** True where listening broke off by itself, or the reader was too slow: the server has refused nothing. */
function mayBeHeardAgain(error: unknown): boolean {
  return isTransientFailure(error) || (error instanceof McpError && error.code === "limit-reached");
}

/** Waits, but not for long: a server that takes its time to listen counts as changed when it does. */
export function soon(work: Promise<void>, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.after(lateMs, resolve);
    void work.then(() => {
      stop();
      resolve();
    });
  });
}
