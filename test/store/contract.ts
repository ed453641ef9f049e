import { afterEach, beforeEach, describe } from "vitest";
import type { Store } from "../../src/store/store.ts";
import { closeContract } from "./contract-close.ts";
import { leaseContract } from "./contract-leases.ts";
import { streamContract } from "./contract-streams.ts";
import { topicContract } from "./contract-topics.ts";
import { valueContract } from "./contract-values.ts";

/** One empty place where texts are kept, and handles on it. */
export interface StorePlace {
  /** A handle on what all handles of this place share. A driver for one process may give the same one every time. */
  open(): Promise<Store>;
  /** Lets time pass. Left out where the time is the real one: what is due is then waited for. */
  advance?(ms: number): void | Promise<void>;
  /** So many unread messages are more than a subscriber may have. */
  readonly tooManyMessages: number;
  /** Takes the place away, after all handles were closed. */
  remove?(): Promise<void>;
}

/** What the tests of one part are given: two handles on the same place, new for every test. */
export interface Fixture {
  readonly store: Store;
  readonly second: Store;
  readonly place: StorePlace;
  /** Lets something with this time to live expire, or be on its way to. Follow it by {@link eventually}. */
  passes(ms: number): Promise<void>;
}

/** Every sentence of `src/store/store.ts` as a test. `setUp` makes a new, empty place for each of them. */
export function storeContract(name: string, setUp: () => Promise<StorePlace>): void {
  describe(`${name} keeps the contract of a store`, () => {
    let fixture: Fixture;

    beforeEach(async () => {
      const place = await setUp();
      const [store, second] = [await place.open(), await place.open()];
      fixture = { store, second, place, passes: async (ms) => place.advance?.(ms) };
    });

    afterEach(async () => {
      await fixture.store.close();
      await fixture.second.close();
      await fixture.place.remove?.();
    });

    const given = (): Fixture => fixture;
    describe("values", () => valueContract(given));
    describe("streams", () => streamContract(given));
    describe("topics", () => topicContract(given));
    describe("leases", () => leaseContract(given));
    describe("close", () => closeContract(given));
  });
}
