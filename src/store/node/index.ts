import { unreachable } from "../../std/unreachable.ts";
import { memoryStore } from "../memory-store.ts";
import { readAddress } from "../open-store.ts";
import type { Store } from "../store.ts";
import type { StoreWarning } from "./sqlite-permissions.ts";

export type * from "../index.ts";
export { StoreError } from "../store.ts";
export type { StoreWarning } from "./sqlite-permissions.ts";
export { memoryStore };

export interface OpenStoreOptions {
  /** What all keys in Redis start with. A file, or memory, has no need for it: it belongs to one application. */
  readonly prefix?: string | undefined;
  /** Called with warnings about a store that works, such as a file that others may write. Default: stderr. */
  readonly onWarning?: ((warning: StoreWarning) => void) | undefined;
}

/**
 * Opens the store at an address: `memory:`, `sqlite:./file.db`, `redis://host`, `rediss://host`, `valkey://host` or `valkeys://host`.
 *
 * Only the driver that is needed is loaded. Rejects with `invalid` for any other address.
 */
export async function openStore(url: string, options: OpenStoreOptions = {}): Promise<Store> {
  const address = readAddress(url);
  switch (address.kind) {
    case "memory":
      return memoryStore();
    case "sqlite":
      return (await import("./sqlite-store.ts")).sqliteStore(address.path, options);
    case "redis":
      return (await import("./redis-store.ts")).redisStore(address.url, options);
    default:
      return unreachable(address);
  }
}
