import { type Awaitable, chain } from "../std/awaitable.ts";
import type { Clock } from "../std/clock.ts";
import { type Store, StoreError } from "./store.ts";

/** What came of asking a store for something that can be done without. */
export type Attempt<T> = { readonly ok: true; readonly value: T } | { readonly ok: false };

/** Asks a store for something that can be done without. */
export type Attempts = <T>(work: (store: Store) => Awaitable<T>) => Awaitable<Attempt<T>>;

export interface AttemptsOptions {
  readonly clock: Clock;
  /** Time limit of the store. A result after that is ignored. */
  readonly waitMs: number;
  /** How long it is left alone once it failed. */
  readonly restMs: number;
  /** Called with the error, once for each pause. */
  failed(error: unknown): void;
}

/**
 * Uses a store that makes things better, and whose absence must make nothing
 * fail: it is waited for only so long, and while it rests, not asked at all.
 * An attempt never rejects.
 */
export function createAttempts(store: Store | Promise<Store>, options: AttemptsOptions) {
  const { clock, waitMs, restMs, failed } = options;
  let restsUntil = Number.NEGATIVE_INFINITY;

  const fail = (error: unknown): Attempt<never> => {
    if (clock.now() >= restsUntil) {
      restsUntil = clock.now() + restMs;
      failed(error);
    }
    return none;
  };

  const ask = async <T>(work: (store: Store) => Awaitable<T>): Promise<T> => work(await store);

  return <T>(work: (store: Store) => Awaitable<T>): Promise<Attempt<T>> => {
    if (clock.now() < restsUntil) return Promise.resolve(none);
    return new Promise<Attempt<T>>((resolve) => {
      let isOver = false;
      const end = (attempt: Attempt<T>): void => {
        isOver = true;
        stop();
        resolve(attempt);
      };
      const stop = clock.after(waitMs, () => end(fail(late(waitMs))));
      ask(work).then(
        (value) => end({ ok: true, value }),
        (error: unknown) => isOver || end(fail(error)),
      );
    });
  };
}

const none = { ok: false } as const;

/** Asks a store in the memory of this process. It is always there, and answers at once: no timer has to watch it. */
export function attemptsInMemory(store: Store): Attempts {
  return (work) => chain(work(store), (value) => ({ ok: true, value }));
}

function late(waitMs: number): StoreError {
  return new StoreError("unavailable", `the store did not answer within ${waitMs / 1_000} s`);
}
