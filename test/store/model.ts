import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Awaitable } from "../../src/std/awaitable.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { Lease, Store, TopicSubscription, WriteConditions } from "../../src/store/store.ts";
import { createManualClock } from "../../src/testing/clock.ts";
import type { StorePlace } from "./contract.ts";
import { LONG } from "./support.ts";

/** A store, and what it gave so far. What differs between drivers is compared by the order in which it was given. */
interface Side {
  readonly store: Store;
  readonly versions: string[];
  readonly leases: Lease[];
  readonly readings: Promise<readonly (string | null)[]>[];
}

/** One call. Says what it answered, in terms that are the same for every driver. */
interface Command {
  readonly name: string;
  run(side: Side): Awaitable<unknown>;
}

export interface ModelOptions {
  readonly numRuns?: number;
}

/**
 * Any sequence of calls is answered like by `memoryStore`. Time passes in it only where the place can let it pass: else
 * everything lives longer than the test.
 */
export function storeModel(name: string, setUp: () => Promise<StorePlace>, { numRuns = 40 }: ModelOptions = {}): void {
  describe(`${name} answers like memoryStore`, () => {
    it("in any sequence of calls", async () => {
      const hasTime = await canAdvance(setUp);
      const sequence = fc.array(hasTime ? fc.oneof(timeless([20, 40]), time) : timeless([LONG]), { maxLength: 80 });
      await fc.assert(
        fc.asyncProperty(sequence, (steps) => compare(steps, setUp)),
        { numRuns, endOnFailure: true },
      );
    }, 240_000);
  });
}

type Step = Command | { readonly advance: number };

async function compare(steps: readonly Step[], setUp: () => Promise<StorePlace>): Promise<void> {
  const clock = createManualClock();
  const place = await setUp();
  const [model, real] = [sideOf(memoryStore({ clock })), sideOf(await place.open())];
  try {
    for (const step of steps) {
      if ("advance" in step) {
        clock.advance(step.advance);
        await place.advance?.(step.advance);
      } else {
        expect(await step.run(real), step.name).toEqual(await step.run(model));
      }
    }
    expect(await received(real)).toEqual(await received(model));
  } finally {
    await real.store.close();
    await model.store.close();
    await place.remove?.();
  }
}

function sideOf(store: Store): Side {
  return { store, versions: [], leases: [], readings: [] };
}

/** What every subscriber has read. The last message tells that all before it have arrived. */
async function received({ store, readings }: Side): Promise<readonly (readonly (string | null)[])[]> {
  for (const topic of topics) await store.topics.publish(topic, END);
  return await Promise.all(readings);
}

async function canAdvance(setUp: () => Promise<StorePlace>): Promise<boolean> {
  const place = await setUp();
  await place.remove?.();
  return place.advance !== undefined;
}

const END = "the end of all";
const topics = ["t", "u"];

const someName = fc.constantFrom("a", "b", "c:{d}", "__proto__", "😀", "\uffff");
const someGroup = fc.constantFrom("g", "h");
const someText = fc.oneof(fc.constantFrom("", "x", "\0"), fc.string({ unit: "grapheme", maxLength: 20 }));
const time = fc.nat(30).map((advance) => ({ advance }));

/** Which of the things that were given is meant, if any. */
const pick = fc.nat(20);

const condition = fc.record({ version: fc.constantFrom("any", "none", "given"), fenced: fc.boolean(), pick });

/** The same group on every write of one name. */
function groupOf(name: string): { readonly group?: string } {
  return name === "a" ? {} : { group: name.length % 2 === 0 ? "g" : "h" };
}

function conditionsOf(
  side: Side,
  name: string,
  wanted: { version: string; fenced: boolean; pick: number },
): WriteConditions {
  const versions: Record<string, string | null | undefined> = {
    none: null,
    given: side.versions.at(-1 - (wanted.pick % 5)) ?? null,
  };
  const own = side.leases.filter((lease) => lease.name === name);
  const token = wanted.fenced ? own.at(-1 - (wanted.pick % 3))?.token : undefined;
  const version = versions[wanted.version];
  return { ...(version === undefined ? {} : { version }), ...(token === undefined ? {} : { fence: token }) };
}

/** The number of a version in the order they were given. */
function numberOf(side: Side, version: string): number {
  return side.versions.indexOf(version);
}

function command<T>(name: string, args: fc.Arbitrary<T>, run: (side: Side, args: T) => Awaitable<unknown>) {
  return args.map((given): Command => ({ name: `${name} ${JSON.stringify(given)}`, run: (side) => run(side, given) }));
}

/** Calls whose times to live are some of these. */
function timeless(ttls: readonly number[]): fc.Arbitrary<Command> {
  const someTtl = fc.constantFrom(...ttls);
  return fc.oneof(valueCommands(someTtl), streamCommands(someTtl), fc.oneof(leaseCommands(someTtl), topicCommands()));
}

function valueCommands(someTtl: fc.Arbitrary<number>): fc.Arbitrary<Command> {
  const put = fc.record({ name: someName, text: someText, condition, ttlMs: fc.option(someTtl, { nil: undefined }) });
  const page = { after: fc.option(someName, { nil: undefined }), limit: fc.integer({ min: 1, max: 4 }) };
  return fc.oneof(
    command("get", someName, async (side, name) => {
      const value = await side.store.values.get(name);
      return value && [value.text, numberOf(side, value.version)];
    }),
    command("put", put, async (side, { name, text, condition, ttlMs }) => {
      const options = {
        ...conditionsOf(side, name, condition),
        ...groupOf(name),
        ...(ttlMs === undefined ? {} : { ttlMs }),
      };
      const version = await side.store.values.put(name, text, options);
      if (version !== undefined) side.versions.push(version);
      return version !== undefined;
    }),
    command("touch", fc.tuple(someName, someTtl), ({ store }, args) => store.values.touch(...args)),
    command("delete", fc.record({ name: someName, condition }), (side, { name, condition }) =>
      side.store.values.delete(name, conditionsOf(side, name, condition)),
    ),
    command("list", fc.record({ group: someGroup, ...page }), async (side, { group, after, limit }) => {
      const listed = await side.store.values.list(group, { limit, ...(after === undefined ? {} : { after }) });
      return listed.map(({ name, text, version }) => [name, text, numberOf(side, version)]);
    }),
    command("add", fc.tuple(someName, fc.integer({ min: -9, max: 9 }), someTtl), ({ store }, args) =>
      store.values.add(...args),
    ),
  );
}

function streamCommands(someTtl: fc.Arbitrary<number>): fc.Arbitrary<Command> {
  const append = fc.record({
    name: someName,
    texts: fc.array(someText, { minLength: 1, maxLength: 4 }),
    condition,
    ttlMs: fc.option(someTtl, { nil: undefined }),
  });
  return fc.oneof(
    command("append", append, (side, { name, texts, condition, ttlMs }) => {
      const { fence } = conditionsOf(side, name, condition);
      const options = { ...(fence === undefined ? {} : { fence }), ...(ttlMs === undefined ? {} : { ttlMs }) };
      return side.store.streams.append(name, texts, options);
    }),
    command("read", fc.tuple(someName, fc.nat(12), fc.integer({ min: 1, max: 6 })), ({ store }, args) =>
      store.streams.read(...args),
    ),
    command("trim", fc.tuple(someName, fc.nat(12)), ({ store }, args) => store.streams.trim(...args)),
    command("delete stream", someName, ({ store }, name) => store.streams.delete(name)),
  );
}

function leaseCommands(someTtl: fc.Arbitrary<number>): fc.Arbitrary<Command> {
  return fc.oneof(
    command("acquire", fc.tuple(someName, someTtl), async (side, [name, ttlMs]) => {
      const lease = await side.store.leases.acquire(name, ttlMs);
      if (lease !== undefined) side.leases.push(lease);
      return lease?.name;
    }),
    command("held", someName, ({ store }, name) => store.leases.held(name)),
    command("renew", pick, async ({ leases }, index) => await leases.at(-1 - index)?.renew()),
    command("release", pick, async ({ leases }, index) => await leases.at(-1 - index)?.release()),
  );
}

function topicCommands(): fc.Arbitrary<Command> {
  const someTopic = fc.constantFrom(...topics);
  return fc.oneof(
    command("publish", fc.tuple(someTopic, someText), ({ store }, args) => store.topics.publish(...args)),
    command("subscribe", someTopic, async ({ store, readings }, topic) => {
      const subscription = await store.topics.subscribe(topic);
      readings.push(readUntilEnd(subscription));
    }),
  );
}

async function readUntilEnd(subscription: TopicSubscription): Promise<readonly (string | null)[]> {
  const read: (string | null)[] = [];
  for await (const message of subscription) {
    if (message.kind === "message" && message.text === END) break;
    read.push(message.kind === "gap" ? null : message.text);
  }
  return read;
}
