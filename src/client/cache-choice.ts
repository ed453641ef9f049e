import type { Connection } from "../model/connection.ts";
import type { Service } from "../model/service.ts";
import type { Clock } from "../std/clock.ts";
import type { Store } from "../store/store.ts";
import { createCache, type ResponseCache } from "./response-cache.ts";
import type { Warn } from "./warning.ts";

/** Where results are kept so that others need not ask for them. */
export interface CacheOptions {
  /** Shared by everybody who is given it: `openStore("redis://…")`. */
  readonly store: Store | Promise<Store>;
  /**
   * Names who the credentials of this client belong to: results that are private
   * are shared with clients of the same. Without it they stay in memory.
   */
  readonly partition?: string | undefined;
}

export interface CacheParts {
  /** What is asked for results that are not kept. */
  readonly service: Service;
  readonly connection: Pick<Connection, "server" | "revision">;
  readonly clock: Clock;
  readonly warn: Warn;
  /** Names where the server is. May hold secrets. Absent where nobody else could connect to the same. */
  readonly place: string | undefined;
}

/** The cache that a client was told to use. One in a store is loaded when it is wanted. */
export function chooseCache(wanted: boolean | CacheOptions, parts: CacheParts): ResponseCache | undefined {
  const { service, connection, clock, warn, place } = parts;
  const { server, revision } = connection;
  if (wanted === false) return undefined;
  if (wanted === true) return createCache(service, clock);
  if (place === undefined) {
    warn({ kind: "not-honoured", message: "results stay in memory: only a URL or a command names a server to others" });
    return createCache(service, clock);
  }
  const { name, version } = server.serverInfo;
  const identity = JSON.stringify([place, name, version, revision]);
  const shared = { ...wanted, partition: wanted.partition, server: identity, service, clock, warn };
  const loading = import("./shared-cache.ts").then(
    ({ createSharedCache }) => createSharedCache(shared),
    (cause: unknown) => {
      warn({ kind: "store-failed", message: "results stay in memory: what uses a store cannot be loaded", cause });
      return createCache(service, clock);
    },
  );
  return whenLoaded(loading);
}

/** A cache that is on its way. What it is told is told in order. */
function whenLoaded(loading: Promise<ResponseCache>): ResponseCache {
  return {
    reading: async (call) => (await loading).reading(call),
    refreshing: async (call) => (await loading).refreshing(call),
    invalidate: (change) => void loading.then((cache) => cache.invalidate(change)),
  };
}
