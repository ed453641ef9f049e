import { describe, expect, it } from "vitest";
import { memoryStore } from "../../store/memory-store.ts";
import type { Store, StoreLeases, StoreStreams, StoreTopics, StoreValues } from "../../store/store.ts";
import { createManualClock } from "../clock.ts";
import { storeContract } from "./store-contract.ts";

interface Parts {
  readonly values?: Partial<StoreValues>;
  readonly streams?: Partial<StoreStreams>;
  readonly topics?: Partial<StoreTopics>;
  readonly leases?: Partial<StoreLeases>;
}

/** A driver that is like that of memory but for a few methods. */
function driver(change: (store: Store) => Parts & Partial<Pick<Store, "close">>): () => { open(): Store } {
  return () => {
    const clock = createManualClock();
    const store = memoryStore({ clock });
    const { values, streams, topics, leases, ...rest } = change(store);
    const changed: Store = {
      ...store,
      ...rest,
      values: { ...store.values, ...values },
      streams: { ...store.streams, ...streams },
      topics: { ...store.topics, ...topics },
      leases: { ...store.leases, ...leases },
    };
    return { open: () => changed, advance: clock.advance };
  };
}

/** The names of cases that a driver fails. Cases in which time passes would wait for half a minute first. */
async function failuresOf(open: () => { open(): Store }): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const { name, run } of storeContract) {
    if (
      /^values with a time to live|leaves time to live|forgotten|forgets|ran out|run out|ends by itself|is held for|expired|later holder|touched/.test(
        name,
      )
    )
      continue;
    await run(open).catch(() => failures.push(name));
  }
  return failures;
}

describe("storeContract", () => {
  it("has cases with names of their own", () => {
    const names = storeContract.map(({ name }) => name);
    expect(names.length).toBeGreaterThan(55);
    expect(new Set(names).size).toBe(names.length);
  });

  it("is kept by a driver that keeps it", async () => {
    expect(await failuresOf(driver(() => ({})))).toEqual([]);
  });

  it.each<[string, RegExp, Parameters<typeof driver>[0]]>([
    [
      "versions are ignored",
      /^values with conditions: writes only if the version/,
      ({ values }) => ({ values: { put: (name, text, { version: _, ...more } = {}) => values.put(name, text, more) } }),
    ],
    [
      "fences are ignored",
      /^streams: appends with a fence/,
      ({ streams }) => ({
        streams: { append: (name, texts, { fence: _, ...more } = {}) => streams.append(name, texts, more) },
      }),
    ],
    [
      "lists are in no order",
      /^values in a group: lists what was put with it/,
      ({ values }) => ({
        values: { list: async (group, options) => (await values.list(group, options)).toReversed() },
      }),
    ],
    [
      "additions are lost",
      /^numbers: miss no addition/,
      ({ values }) => ({
        values: {
          async add(name, amount, ttlMs) {
            const sum = await values.add(`${name} of`, 0, ttlMs);
            await Promise.resolve();
            return (await values.add(`${name} of`, amount, ttlMs)) && sum + amount;
          },
        },
      }),
    ],
    [
      "messages come twice",
      /^topics: delivers once/,
      ({ topics }) => ({
        topics: {
          async publish(topic, text) {
            await topics.publish(topic, text);
            await topics.publish(topic, text);
          },
        },
      }),
    ],
    [
      "everybody gets a lease",
      /^leases: gives what nobody holds to one/,
      ({ leases }) => ({
        leases: {
          acquire: async (name, ttlMs) => (await leases.acquire(name, ttlMs)) ?? leases.acquire(`${name}2`, ttlMs),
        },
      }),
    ],
    [
      "a closed store is read",
      /^close: makes every later call reject/,
      ({ values }) => ({
        values: {
          get(name) {
            try {
              return values.get(name);
            } catch (error) {
              if (name.length > 512) throw error;
              return undefined;
            }
          },
        },
      }),
    ],
    [
      "long names are taken",
      /^values: refuses a longer name/,
      ({ values }) => ({ values: { get: (name) => values.get(name.slice(0, 512)) } }),
    ],
  ])("tells that a promise is broken where %s", async (_, expected, change) => {
    const failures = await failuresOf(driver(change));
    expect(failures.filter((name) => expected.test(name))).not.toEqual([]);
    expect(failures.length).toBeLessThan(storeContract.length / 2);
  });

  it("tells a durable driver with one handle that it must make more", async () => {
    const name = "close: takes nothing from the other handles of a durable store";
    const found = storeContract.find((one) => one.name === name);
    const store = { ...memoryStore(), durable: true };
    await expect(found?.run(() => ({ open: () => store }))).rejects.toThrow("must return a new handle each time");
  });
});
