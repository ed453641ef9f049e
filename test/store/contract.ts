import { describe, it } from "vitest";
import type { Awaitable } from "../../src/std/awaitable.ts";
import type { StorePlace } from "../../src/testing/store-contract/cases.ts";
import { storeContract } from "../../src/testing/store-contract/store-contract.ts";

export type { StorePlace };

/** Holds a driver to every sentence of `src/store/store.ts`. `open` makes a new, empty place for each of them. */
export function testContract(name: string, open: () => Awaitable<StorePlace>): void {
  describe(`${name} keeps the contract of a store`, () => {
    it.each(storeContract)("$name", ({ run }) => run(open));
  });
}
