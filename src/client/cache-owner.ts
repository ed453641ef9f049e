import type { Connection } from "../protocol/connection.ts";
import type { Awaitable } from "../std/awaitable.ts";

/** The identity under which the server sees a client, where it can change while results are cached. */
export interface CacheOwner {
  /** Resolves with the current identity. Undefined where it never changes. */
  find(): Promise<void> | undefined;
  /** Whether the identity is still the one found last. */
  isSame(): Awaitable<boolean>;
}

/** `onChange` is called when the identity differs from the previous one. An unknown identity counts as different. */
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
