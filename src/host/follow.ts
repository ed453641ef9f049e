import type { Watch } from "../client/listen.ts";
import type { Line } from "../connect/create-connect.ts";
import type { Change } from "../model/subscription.ts";
import type { Clock } from "../std/clock.ts";

/**
 * Hears of the changes of one server, over all its connections: of its lists,
 * and of the resources that somebody watches. When the server comes, goes or was
 * not heard for a while, everything counts as changed.
 */
export interface Follower {
  /** Follows this connection from now on. */
  start(line: Line): void;
  /** Until the next connection. */
  stop(): void;
  /** Resolves when the lists of this connection are listened to, or will never be. Never rejects. */
  readonly listening: Promise<void>;
  /** Watches a resource. Watching the same one twice adds up. */
  watch(uri: string): WatchedResource;
}

export interface WatchedResource {
  /** Resolves when no later update is missed, or none will ever be told. Never rejects. */
  readonly ready: Promise<void>;
  stop(): void;
}

export interface FollowerOptions {
  readonly clock: Clock;
  /** How long to wait before listening again after it broke off. */
  readonly retryMs: number;
  onChange(change: Change): void;
}

/** Listening that goes on until it is stopped. */
interface Listening {
  readonly ready: Promise<void>;
  stop(): void;
}

interface Watched {
  count: number;
  on: Listening;
}

const nothing: Listening = { ready: Promise.resolve(), stop() {} };

interface Source {
  open(): Watch<unknown>;
  hear(item: unknown): void;
  /** Something may have been missed. */
  gap(): void;
}

export function createFollower({ clock, retryMs, onChange }: FollowerOptions): Follower {
  const watched = new Map<string, Watched>();
  let line: Line | undefined;
  let lists = nothing;

  /** Listens, and listens again when it breaks off while the connection holds. */
  const listen = (on: Line, { open, hear, gap }: Source): Listening => {
    let isOver = false;
    let stopTimer = (): void => {};
    let watch = open();
    const read = async (): Promise<void> => {
      try {
        for await (const item of watch) hear(item);
      } catch (error) {
        // What the server will not announce, it will not announce later either.
        if (isOver || (error as { readonly code?: string }).code === "unsupported") return;
      }
      if (isOver || line !== on) return;
      stopTimer = clock.after(retryMs, () => {
        if (isOver || line !== on) return;
        gap();
        watch = open();
        void read();
      });
    };
    void read();
    return {
      ready: watch.ready.catch(() => {}),
      stop() {
        isOver = true;
        stopTimer();
        void watch[Symbol.asyncDispose]();
      },
    };
  };

  /** A server that comes or goes brings its lists, or takes them away. */
  const all = (): void => {
    for (const kind of ["tools", "prompts", "resources"] as const) onChange({ kind });
  };

  const listenToLists = (on: Line): void => {
    const { tools, prompts, resources } = on.client.server.capabilities;
    const kinds = {
      tools: tools?.listChanged === true,
      prompts: prompts?.listChanged === true,
      resources: resources?.listChanged === true,
    };
    if (kinds.tools || kinds.prompts || kinds.resources) {
      lists = listen(on, {
        open: () => on.client.changes(kinds),
        hear: (change) => onChange(change as Change),
        gap: all,
      });
    }
  };

  const listenTo = (on: Line, uri: string): Listening => {
    const tell = (): void => onChange({ kind: "resource", uri });
    return listen(on, { open: () => on.client.watch(uri), hear: tell, gap: tell });
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
