import { createHash } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { callOf, countOf, flakyStore, numberedServer } from "../../test/support/caching.ts";
import { gate } from "../../test/support/served.ts";
import type { JsonObject } from "../json/json.ts";
import type { Method } from "../protocol/methods.ts";
import type { CallSource, Outcome, Service } from "../protocol/service.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { memoryStore } from "../store/memory-store.ts";
import { createManualClock } from "../testing/clock.ts";
import { createResponseCache } from "./response-cache.ts";
import type { ClientWarning } from "./warning.ts";

const shareable = { ttlMs: 1_000, cacheScope: "public" };
const own = { ttlMs: 1_000, cacheScope: "private" };

// The same digests, but within a turn: so there is an end of what happens by itself.
beforeAll(() => {
  vi.spyOn(crypto.subtle, "digest").mockImplementation(
    async (_, bytes) =>
      new Uint8Array(
        createHash("sha256")
          .update(bytes as Uint8Array)
          .digest(),
      ).buffer,
  );
});
afterAll(() => {
  vi.restoreAllMocks();
});

interface Who {
  readonly partition?: string;
  readonly server?: string;
  readonly service?: Service;
}

/** Clients of one server on one store. */
function setUp(hints: JsonObject = shareable) {
  const clock = createManualClock();
  const store = flakyStore(memoryStore({ clock }));
  const server = numberedServer(hints);
  const warnings: ClientWarning[] = [];
  const client = ({ partition, server: name = "place", service = server.service }: Who = {}) => {
    const warn = (warning: ClientWarning): void => void warnings.push(warning);
    const cache = createResponseCache({ shared: { store, server: name, partition }, clock, warn, service });
    return {
      invalidate: cache.invalidate,
      read: (method: Method = "tools/list", params: JsonObject = {}, changes: Partial<CallSource> = {}) =>
        countOf(cache.reading(callOf(method, params, changes))),
      refresh: (method: Method = "tools/list") => countOf(cache.refreshing(callOf(method))),
      reading: cache.reading,
    };
  };
  const settled = (): Promise<void> => clock.advanceAsync(0);
  return { clock, store, server, warnings, client, settled };
}

describe("results in a store", () => {
  it("that are public are there for all clients of a server", async () => {
    const { client, server } = setUp();
    const [one, two] = [client(), client({ partition: "ann" })];
    expect([await one.read(), await two.read(), await one.read(), await client().read()]).toEqual([1, 1, 1, 1]);
    expect(server.asked).toBe(1);
  });

  it.each<[Method, JsonObject]>([
    ["server/discover", {}],
    ["tools/list", { cursor: "" }],
    ["prompts/list", { cursor: "x" }],
    ["resources/list", {}],
    ["resources/templates/list", {}],
    ["resources/read", { uri: "a:b" }],
    ["resources/read", { uri: `a:${"é".repeat(2_000)}` }],
  ])("may be those of %s %j", async (method, params) => {
    const { client } = setUp();
    expect([await client().read(method, params), await client().read(method, params)]).toEqual([1, 1]);
  });

  it("are told apart by server, method, cursor and URI", async () => {
    const { client } = setUp();
    const asked = [
      [{}, "tools/list", {}],
      [{}, "tools/list", { cursor: "" }],
      [{}, "prompts/list", {}],
      [{}, "resources/read", { uri: "a" }],
      [{}, "resources/read", { uri: "b" }],
      [{ server: "another" }, "tools/list", {}],
    ] as const;
    for (const _ of [1, 2]) {
      const counts: number[] = [];
      for (const [who, method, params] of asked) counts.push(await client(who).read(method, params));
      expect(counts).toEqual([1, 2, 3, 4, 5, 6]);
    }
  });

  it("are kept for as long as the server says, and a day at most", async () => {
    const { client, clock, server } = setUp();
    expect(await client().read()).toBe(1);
    clock.advance(999);
    expect(await client().read()).toBe(1);
    clock.advance(1);
    server.hints = { ...shareable, ttlMs: 1e12 };
    expect(await client().read()).toBe(2);
    clock.advance(86_399_999);
    expect(await client().read()).toBe(2);
    clock.advance(1);
    expect(await client().read()).toBe(3);
  });

  it("that are private are there for clients of the same partition, and for nobody else (V36)", async () => {
    const { client } = setUp(own);
    const ann = client({ partition: "ann" });
    expect([await ann.read(), await ann.read(), await client({ partition: "ann" }).read()]).toEqual([1, 1, 1]);
    expect(await client({ partition: "bob" }).read()).toBe(2);
    expect(await client({ partition: "" }).read()).toBe(3);
    expect(await client().read()).toBe(4);
    expect(await client({ partition: "ann", server: "another" }).read()).toBe(5);
    expect(await ann.read()).toBe(1);
  });

  it.each([own, { ttlMs: 1_000 }])("that are private stay in memory without a partition: %j", async (hints) => {
    const { client, store, clock } = setUp(hints);
    const one = client();
    expect([await one.read(), await one.read(), await client().read(), await one.read()]).toEqual([1, 1, 2, 1]);
    expect([...store.written.keys()]).toEqual([]);
    clock.advance(1_000);
    expect(await one.read()).toBe(3);
    one.invalidate({ kind: "tools" });
    expect(await one.read()).toBe(4);
  });

  it.each([{}, { ttlMs: 0, cacheScope: "public" }, { ttlMs: -1, cacheScope: "public" }])(
    "are none that say %j",
    async (hints) => {
      const { client } = setUp(hints);
      const one = client({ partition: "ann" });
      expect([await one.read(), await one.read()]).toEqual([1, 2]);
    },
  );

  it("are none of calls that answer questions, nor of methods nobody knows", async () => {
    const { client, store } = setUp();
    const one = client();
    await one.read("resources/read", { uri: "a" }, { state: "s" });
    await one.read("resources/read", { uri: "a" }, { answers: {} });
    await one.read("resources/read", { uri: "a", version: 2 });
    await one.read("extension/list" as Method);
    expect(store.written.size).toBe(0);
  });

  it("are none that failed, and a failure takes none away", async () => {
    const { client, store } = setUp();
    const failing: Service = async () => ({ kind: "failed", failure: { code: "internal", message: "no" } });
    await client().read();
    const outcome = await client({ service: failing, server: "another" }).reading(callOf("tools/list"));
    expect([outcome.kind, store.written.size]).toEqual(["failed", 1]);
  });

  it("are replaced by who asks anew", async () => {
    const { client } = setUp();
    const [one, two] = [client(), client()];
    expect([await one.read(), await two.refresh(), await one.read()]).toEqual([1, 2, 2]);
  });

  it("go when the server changes its mind about them", async () => {
    const { client, server } = setUp();
    const [ann, bob] = [client({ partition: "ann" }), client({ partition: "bob" })];
    await ann.read();
    server.hints = own;
    expect([await ann.refresh(), await ann.read(), await bob.read()]).toEqual([2, 2, 3]);
    server.hints = { ttlMs: 0, cacheScope: "private" };
    expect([await ann.refresh(), await ann.read(), await bob.read()]).toEqual([4, 5, 3]);
    server.hints = shareable;
    expect([await ann.refresh(), await client().read()]).toEqual([6, 6]);
  });

  it("are none of more than a mebibyte", async () => {
    const { client, server, store } = setUp({ ...shareable, pad: "x".repeat(1_048_000) });
    expect([await client().read(), await client().read()]).toEqual([1, 1]);
    server.hints = { ...shareable, pad: "x".repeat(1_049_000) };
    expect([await client().refresh(), await client().read()]).toEqual([2, 3]);
    server.hints = { ...shareable, pad: "é".repeat(600_000) };
    expect([await client().read(), await client().read()]).toEqual([4, 5]);
    expect(Math.max(...[...store.written.values()].map(({ length }) => length))).toBeLessThan(1_048_577);
  });

  it("name neither servers nor partitions", async () => {
    const { client, store } = setUp(own);
    const secret = "sk-a-key-that-is-secret";
    const one = client({ server: `https://shop.example/mcp?key=${secret}`, partition: `${secret} of ann` });
    await one.read();
    one.invalidate({ kind: "tools" });
    await one.read();
    expect(store.written.size).toBe(2);
    expect(JSON.stringify([...store.written])).not.toMatch(/secret|ann|example/);
  });
});

describe("changes", () => {
  it.each([
    [{ kind: "tools" }, ["tools/list"]],
    [{ kind: "prompts" }, ["prompts/list"]],
    [{ kind: "resources" }, ["resources/list", "resources/templates/list"]],
    [{ kind: "resource", uri: "a:b" }, ["resources/read"]],
  ] as const)("heard by one client as %j are the end of %j for all", async (change, dropped) => {
    const { client, settled } = setUp(own);
    const [one, two] = [client({ partition: "ann" }), client({ partition: "ann" })];
    const bystander = client({ server: "another", partition: "ann" });
    const methods = ["server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"];
    const readAll = async (reader: typeof one) => {
      const counts = new Map<string, number>();
      for (const method of methods) counts.set(method, await reader.read(method as Method));
      return counts.set("resources/read", await reader.read("resources/read", { uri: "a:b" }));
    };
    const [before, apart] = [await readAll(one), await readAll(bystander)];
    one.invalidate(change);
    await settled();
    const after = await readAll(two);
    expect([...before].filter(([method, count]) => after.get(method) !== count).map(([method]) => method)).toEqual(
      dropped,
    );
    expect(await readAll(one)).toEqual(after);
    expect(await readAll(bystander)).toEqual(apart);
  });

  it("are heeded at once by who heard of them", async () => {
    const { client } = setUp();
    const one = client();
    await one.read();
    one.invalidate({ kind: "tools" });
    expect(await one.read()).toBe(2);
    one.invalidate({ kind: "tools" });
    one.invalidate({ kind: "tools" });
    expect(await one.read()).toBe(3);
  });

  it.each(["the same client", "another client"])("heard by %s outdate what was asked for before them", async (who) => {
    const answer = gate<Outcome>();
    const { client, server, settled } = setUp();
    const asking = client({ service: (() => answer.opened) as Service });
    const hearing = who === "the same client" ? asking : client();
    const early = asking.read();
    await settled();
    hearing.invalidate({ kind: "tools" });
    await settled();
    answer.open({ kind: "complete", result: { ...shareable, tools: [{ name: "99" }] } as never });
    expect(await early).toBe(99);
    await settled();
    expect(await client().read()).toBe(1);
    expect(server.asked).toBe(1);
  });

  it("that were heard while a kept result was looked for count", async () => {
    const { client, store, settled } = setUp();
    const one = client();
    await one.read();
    const early = one.read();
    one.invalidate({ kind: "tools" });
    expect(await early).toBe(2);
    await settled();
    const kept = await one.read();
    expect(await one.read()).toBe(kept);
    store.mood = "held";
    const late = one.read();
    await settled();
    one.invalidate({ kind: "tools" });
    store.letGo();
    store.mood = "fine";
    expect(await late).toBe(kept + 1);
  });

  it("outdate what was asked for before them, also in memory, and when nobody else can be told", async () => {
    for (const hints of [own, shareable]) {
      const answer = gate<Outcome>();
      const { client, store, clock, settled, server } = setUp(hints);
      let service = (() => answer.opened) as Service;
      const one = client({ service: ((call) => service(call)) as Service });
      const early = one.read();
      await settled();
      store.mood = "failing";
      one.invalidate({ kind: "tools" });
      await settled();
      store.mood = "fine";
      clock.advance(5_000);
      answer.open({ kind: "complete", result: { ...hints, tools: [{ name: "99" }] } as never });
      expect(await early).toBe(99);
      await settled();
      service = server.service;
      expect([await client().read(), await one.read()]).toEqual([1, 2]);
    }
  });

  it("in a row are all heeded, also when the first is written down last", async () => {
    const { client, store, settled } = setUp();
    const [one, two] = [client(), client()];
    store.mood = "held";
    one.invalidate({ kind: "tools" });
    await settled();
    store.mood = "fine";
    expect(await two.read()).toBe(1);
    store.mood = "silent";
    one.invalidate({ kind: "tools" });
    await settled();
    store.letGo();
    await settled();
    store.mood = "fine";
    expect(await one.read()).toBe(2);
  });

  it("of tasks change nothing", async () => {
    const { client } = setUp();
    const one = client();
    await one.read();
    one.invalidate({ kind: "task", task: { taskId: "t" } as never });
    expect(await one.read()).toBe(1);
  });
});

describe("a store that fails", () => {
  it("fails no call, and is left alone for a while", async () => {
    const { client, store, clock, warnings } = setUp();
    const one = client();
    store.mood = "failing";
    expect([await one.read(), await one.read(), await one.refresh()]).toEqual([1, 2, 3]);
    expect(warnings).toEqual([{ kind: "store-failed", message: expect.any(String), cause: expect.any(Error) }]);
    store.mood = "fine";
    clock.advance(4_999);
    expect(await one.read()).toBe(4);
    clock.advance(1);
    expect([await one.read(), await one.read()]).toEqual([5, 5]);
    expect(warnings).toHaveLength(1);
  });

  it("by saying nothing holds up one call, and that not for long", async () => {
    const { client, store, clock, warnings } = setUp();
    const one = client();
    store.mood = "silent";
    const first = one.read();
    await clock.advanceAsync(499);
    expect(warnings).toEqual([]);
    await clock.advanceAsync(1);
    expect([await first, await one.read()]).toEqual([1, 2]);
    expect(warnings).toMatchObject([{ kind: "store-failed", cause: { code: "unavailable" } }]);
  });

  it("while something is put there fails no call either", async () => {
    const { client, store, warnings, settled } = setUp();
    const service: Service = async () => {
      store.mood = "failing";
      return { kind: "complete", result: { ...shareable, tools: [{ name: "7" }] } as never };
    };
    expect(await client({ service }).read()).toBe(7);
    await settled();
    expect(warnings).toHaveLength(1);
  });

  it("from the start is told of", async () => {
    const { clock, server } = setUp();
    const warn = vi.fn();
    const store = Promise.reject(new Error("wrong password"));
    const cache = createResponseCache({
      shared: { store, server: "place", partition: "" },
      clock,
      warn,
      service: server.service,
    });
    expect(await countOf(cache.reading(callOf("tools/list")))).toBe(1);
    expect(warn).toHaveBeenCalledTimes(1);
  });

  it("learns of changes when it is back", async () => {
    const { client, store, clock } = setUp({ ...shareable, ttlMs: 60_000 });
    const [one, two] = [client(), client()];
    await one.read();
    store.mood = "failing";
    one.invalidate({ kind: "tools" });
    expect(await one.read()).toBe(2);
    store.mood = "fine";
    expect(await two.read()).toBe(1);
    clock.advance(5_000);
    expect([await one.read(), await two.read()]).toEqual([3, 3]);
  });

  it("and misses too many changes is not used any more", async () => {
    const { client, store, clock, warnings } = setUp();
    const one = client();
    await one.read("resources/read", { uri: "a:0" });
    store.mood = "failing";
    for (let n = 0; n <= 10_000; n++) one.invalidate({ kind: "resource", uri: `a:${n}` });
    store.mood = "fine";
    clock.advance(10_000);
    expect([await one.read(), await one.read()]).toEqual([2, 3]);
    expect(warnings.filter(({ message }) => message.includes("not used any more"))).toHaveLength(1);
  });

  it("does not make a call that was given up go out", async () => {
    const { client, store, clock, server } = setUp();
    store.mood = "silent";
    const abort = new LazyAbort();
    const outcome = client().reading(callOf("tools/list", {}, { abort }));
    abort.abort("gone");
    await clock.advanceAsync(500);
    expect(await outcome).toMatchObject({ kind: "failed", failure: { code: "cancelled" } });
    expect(server.asked).toBe(0);
  });
});

describe("what somebody else put in the store", () => {
  /** Reads after what is in the store was exchanged. */
  async function readAfter(
    change: (entry: JsonObject & { result: JsonObject }) => unknown,
    hints: JsonObject = shareable,
  ) {
    const { client, store } = setUp(hints);
    await client({ partition: "ann" }).read();
    const [[name, text] = ["", ""]] = store.written;
    const changed = change(JSON.parse(text));
    await store.values.put(name, typeof changed === "string" ? changed : JSON.stringify(changed));
    return client({ partition: "ann" }).read();
  }

  it("is used when it is like what a server says", async () => {
    expect(await readAfter((entry) => entry)).toBe(1);
    expect(await readAfter(({ result, ...entry }) => ({ ...entry, result: { ...result, nextCursor: "", x: 1 } }))).toBe(
      1,
    );
  });

  it.each<[string, (entry: JsonObject & { result: JsonObject }) => unknown]>([
    ["no JSON", () => "{oops"],
    ["nothing", () => ""],
    ["null", () => "null"],
    ["an array", () => "[]"],
    [
      "nested too deeply",
      (entry) => JSON.stringify(entry).replace('"tools"', `"x":${"[".repeat(70)}${"]".repeat(70)},"tools"`),
    ],
    ["too large", (entry) => ({ ...entry, pad: "x".repeat(1_048_576) })],
    ["the result of another key", (entry) => ({ ...entry, key: "prompts/list null" })],
    ["of another generation", (entry) => ({ ...entry, generation: "x" })],
    ["without a result", ({ key, generation }) => ({ key, generation })],
    ["a list that is none", (entry) => ({ ...entry, result: { ...entry.result, tools: {} } })],
    ["a list of something else", (entry) => ({ ...entry, result: { ...entry.result, tools: [null] } })],
    ["a tool without a name", (entry) => ({ ...entry, result: { ...entry.result, tools: [{ title: "x" }] } })],
    ["a cursor that is none", (entry) => ({ ...entry, result: { ...entry.result, nextCursor: 1 } })],
    ["private after all", (entry) => ({ ...entry, result: { ...entry.result, cacheScope: "private" } })],
    [
      "of a prototype",
      ({ result: _, ...entry }) => JSON.stringify(entry).replace("}", ',"__proto__":{"result":{"tools":[]}}}'),
    ],
  ])("is not used when it is %s", async (_, change) => {
    expect(await readAfter(change)).toBe(2);
  });

  it("for everybody is not used in the place of what is for one", async () => {
    expect(await readAfter((entry) => ({ ...entry, result: { ...entry.result, ...shareable } }), own)).toBe(2);
  });
});

it("nobody is given what is older than a change the store knows of", async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("read" as const), client: fc.nat(2) }),
    fc.record({ kind: fc.constant("change" as const), client: fc.nat(2) }),
    fc.record({ kind: fc.constant("mood" as const), mood: fc.constantFrom("fine" as const, "failing" as const) }),
    fc.record({ kind: fc.constant("wait" as const), ms: fc.constantFrom(10, 600, 5_000) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { client, store, clock, server, settled } = setUp({ ...shareable, ttlMs: 100_000 });
      const clients = [client(), client(), client()] as const;
      /** The last answer before a change, as each client may know of it, and as all do. */
      const heard = [0, 0, 0];
      let known = 0;
      for (const step of steps) {
        if (step.kind === "wait") await clock.advanceAsync(step.ms);
        if (step.kind === "mood") store.mood = step.mood;
        if (step.kind === "change") {
          const generations = store.written.size === 0 ? "" : [...store.written.values()].join();
          heard[step.client] = server.asked;
          clients[step.client]?.invalidate({ kind: "tools" });
          await settled();
          if ([...store.written.values()].join() !== generations) known = server.asked;
        }
        if (step.kind === "read") {
          const count = (await clients[step.client]?.read()) ?? 0;
          expect(count).toBeGreaterThan(Math.max(known, heard[step.client] ?? 0));
          await settled();
        }
      }
    }),
    { numRuns: 150 },
  );
});
