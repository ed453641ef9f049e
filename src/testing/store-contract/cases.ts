import type { Awaitable } from "../../std/awaitable.ts";
import type { Store } from "../../store/store.ts";

/** One empty place where texts are kept, and handles on it. */
export interface StorePlace {
  /** A handle on what all handles of this place share: a new one for each call, unless the store is not `durable`. */
  open(): Awaitable<Store>;
  /** Lets time pass. Left out where the time is the real one: what is due is then waited for. */
  readonly advance?: ((ms: number) => Awaitable<void>) | undefined;
  /** So many unread messages are more than one subscriber may have. Default 10,001. */
  readonly tooManyMessages?: number | undefined;
  /** Takes the place away, after all handles were closed. */
  readonly remove?: (() => Awaitable<void>) | undefined;
}

/** What one case is given: two handles on the same place, which is new. */
export interface Fixture {
  readonly store: Store;
  readonly second: Store;
  readonly place: StorePlace;
  /** Lets something with this time to live expire, or be on its way to. Follow it by `eventually`. */
  passes(ms: number): Promise<void>;
}

/** Cases by the sentence that each of them holds a driver to. */
export type ContractCases = Readonly<Record<string, (fixture: Fixture) => Promise<void>>>;
