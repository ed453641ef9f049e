import type { Connection } from "../protocol/connection.ts";
import type { Awaitable } from "../std/awaitable.ts";

/** Who the server takes a client for, where that may change while its results are kept. */
export interface CacheOwner {
  /** Finds out who that is now. Undefined where it is always the same. */
  find(): Promise<void> | undefined;
  /** Whether it is still who was found last. */
  isSame(): Awaitable<boolean>;
}

/** `onChange` hears that it is somebody else than before. Who cannot say who it is, is somebody else. */
export function createCacheOwner(credentials: Connection["credentials"], onChange: () => void): CacheOwner {
  if (credentials === undefined) return { find: () => undefined, isSame: () => true };
  let owner: string | undefined;

  const found = (now: string): void => {
    if (owner !== undefined && owner !== now) onChange();
    owner = now;
  };

  return {
    find: () => credentials().then(found, () => found("")),
    isSame: () =>
      credentials().then(
        (now) => now === owner,
        () => false,
      ),
  };
}
