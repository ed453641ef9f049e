import type { Awaitable } from "../../std/awaitable.ts";
import type { ContractCases, Fixture, StorePlace } from "./cases.ts";
import { closeCases } from "./close.ts";
import { leaseCases } from "./leases.ts";
import { numberCases } from "./numbers.ts";
import { streamCases } from "./streams.ts";
import { topicCases } from "./topics.ts";
import { conditionCases, expiryCases, groupCases, valueCases } from "./values.ts";

/** One thing that every driver of a store does. */
export interface StoreContractCase {
  /** As a sentence, unique in the list. */
  readonly name: string;
  /**
   * Resolves when the driver does it, and rejects with an assertion that says what it did instead. `open` makes a new, empty
   * place, which is removed at the end. Where time is the real one a case may take seconds; it gives up after a minute.
   */
  run(open: () => Awaitable<StorePlace>): Promise<void>;
}

/**
 * What a store promises, as a list of tests for any runner. A driver that passes them all can be given to servers, clients
 * and hosts.
 *
 * @example
 * for (const { name, run } of storeContract) test(name, () => run(() => ({ open: () => myStore(newPath()) })));
 */
export const storeContract: readonly StoreContractCase[] = [
  ...casesOf("values", valueCases),
  ...casesOf("values with conditions", conditionCases),
  ...casesOf("values with a time to live", expiryCases),
  ...casesOf("values in a group", groupCases),
  ...casesOf("numbers", numberCases),
  ...casesOf("streams", streamCases),
  ...casesOf("topics", topicCases),
  ...casesOf("leases", leaseCases),
  ...casesOf("close", closeCases),
];

function casesOf(part: string, cases: ContractCases): readonly StoreContractCase[] {
  return Object.entries(cases).map(([name, check]) => ({
    name: `${part}: ${name}`,
    run: (open) => runIn(open, check),
  }));
}

async function runIn(open: () => Awaitable<StorePlace>, check: (fixture: Fixture) => Promise<void>): Promise<void> {
  const place = await open();
  const [store, second] = [await place.open(), await place.open()];
  try {
    await within(MAX_MS, check({ store, second, place, passes: async (ms) => place.advance?.(ms) }));
  } finally {
    await store.close();
    await second.close();
    await place.remove?.();
  }
}

/** Longer than any case takes. */
const MAX_MS = 60_000;

async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `the driver has not done it within ${ms / 1_000} s; something that should settle or end does not`;
    timer = setTimeout(() => reject(new Error(message)), ms);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
