import { beforeAll, describe, expect, it } from "vitest";
import { faultLog, makeCall, type Note } from "../../test/support/direct.ts";
import type { JsonObject } from "../json/json.ts";
import type { ListenFilter } from "../protocol/subscription.ts";
import { memoryStore } from "../store/memory-store.ts";
import { createManualClock } from "../testing/clock.ts";
import { createServer, type Server } from "./server.ts";
import { tool } from "./tool.ts";

const all: ListenFilter = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

beforeAll(async () => {
  await import("./lazy-parts.ts");
});

/** Two processes that serve the same thing on one store. */
function pair() {
  const clock = createManualClock();
  const store = memoryStore({ clock });
  const { faults, onError } = faultLog();
  const offers = { listChanged: true, subscribe: true, tools: {}, prompts: {}, resources: [] };
  const make = (): Server => createServer({ name: "shop", version: "1", ...offers, clock, store, onError });
  const settled = async (): Promise<void> => {
    for (let turns = 0; turns < 3; turns++) await clock.advanceAsync(0);
  };
  return { a: make(), b: make(), clock, store, faults, settled };
}

function listen(server: Server, notifications: ListenFilter = all, meta: JsonObject = {}) {
  const { call, abort, notes } = makeCall("subscriptions/listen", { notifications }, { meta });
  const outcome = server(call);
  return { abort, outcome, notes, heard: () => notes.slice(1) };
}

const changed = (kind: string, position: number, more: JsonObject = {}): Note => [
  `notifications/${kind}/list_changed`,
  { _meta: { "plugbay/position": position, ...more } },
];
const updated = (uri: string, position: number): Note => [
  "notifications/resources/updated",
  { uri, _meta: { "plugbay/position": position } },
];

describe("changes that processes share", () => {
  it("reach the listeners of all, each in the same order", async () => {
    const { a, b, settled } = pair();
    const [first, second] = [listen(a, { ...all, resourceSubscriptions: ["a://1"] }), listen(b)];
    await settled();
    expect(first.notes).toEqual([
      ["notifications/subscriptions/acknowledged", { notifications: { ...all, resourceSubscriptions: ["a://1"] } }],
    ]);
    a.listChanged("tools");
    a.resourceUpdated("a://1");
    await settled();
    b.listChanged("prompts");
    await settled();
    expect(first.heard()).toEqual([changed("tools", 1), updated("a://1", 2), changed("prompts", 3)]);
    expect(second.heard()).toEqual([changed("tools", 1), changed("prompts", 3)]);
  });

  it("are those of lists, too, once for all changes of a turn", async () => {
    const { a, b, settled } = pair();
    const { heard } = listen(b, { toolsListChanged: true });
    await settled();
    a.tools.add("one", tool({ run: () => "" }));
    a.tools.add("two", tool({ run: () => "" }));
    await settled();
    expect(heard()).toEqual([changed("tools", 1)]);
  });

  it("are refused when they are not advertised, as without others", () => {
    const server = createServer({ name: "shop", version: "1", store: memoryStore() });
    expect(() => server.listChanged("tools")).toThrow("does not advertise tools.listChanged");
  });

  it("are heard no more by who left, and the store is left alone when nobody listens", async () => {
    const { a, b, settled, store } = pair();
    const { heard, abort, outcome } = listen(a);
    await settled();
    let reads = 0;
    const { read } = store.streams;
    Object.assign(store.streams, {
      read: (...args: Parameters<typeof read>) => {
        reads++;
        return read(...args);
      },
    });
    abort.abort("bye");
    expect(await outcome).toEqual({ kind: "complete", result: {} });
    await settled();
    b.listChanged("tools");
    await settled();
    expect(heard()).toEqual([]);
    expect(reads).toBe(0);
    const again = listen(a);
    await settled();
    b.listChanged("prompts");
    await settled();
    expect(again.heard()).toEqual([changed("prompts", 2)]);
  });

  it("end at once for who left before it began", async () => {
    const { a, b, settled } = pair();
    const { abort, outcome, heard } = listen(a);
    abort.abort("bye");
    expect(await outcome).toEqual({ kind: "complete", result: {} });
    b.listChanged("tools");
    await settled();
    expect(heard()).toEqual([]);
  });

  it("that followed a position are told first, and none twice", async () => {
    const { a, b, settled } = pair();
    for (const list of ["tools", "prompts", "resources"] as const) a.listChanged(list);
    await settled();
    const { heard, notes } = listen(b, all, { "plugbay/after": 1 });
    a.listChanged("tools");
    await settled();
    expect(notes[0]?.[0]).toBe("notifications/subscriptions/acknowledged");
    expect(heard()).toEqual([changed("prompts", 2), changed("resources", 3), changed("tools", 4)]);
    const last = listen(b, all, { "plugbay/after": 4 });
    await settled();
    expect(last.heard()).toEqual([]);
  });

  it("that are known no longer may be anything", async () => {
    const { a, b, settled, store } = pair();
    for (let n = 0; n < 4; n++) a.listChanged("tools");
    await settled();
    await store.streams.trim("shop/changes", 3);
    const lost = { "plugbay/lost": true };
    const filter = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ["a://1"] };
    const { heard } = listen(b, filter, { "plugbay/after": 1 });
    await settled();
    const resource: Note = [
      "notifications/resources/updated",
      { uri: "a://1", _meta: { "plugbay/position": 4, ...lost } },
    ];
    expect(heard()).toEqual([changed("tools", 4, lost), changed("prompts", 4, lost), resource]);
    const forgotten = listen(b, { toolsListChanged: true }, { "plugbay/after": 99 });
    await settled();
    expect(forgotten.heard()).toEqual([changed("tools", 4, lost)]);
    a.listChanged("tools");
    await settled();
    expect(heard().slice(3)).toEqual([changed("tools", 5)]);
  });

  it("take no account of a position that is none", async () => {
    const { a, settled } = pair();
    a.listChanged("tools");
    await settled();
    for (const after of ["1", -1, 0.5, null]) {
      const { heard, abort } = listen(a, all, { "plugbay/after": after });
      await settled();
      expect(heard()).toEqual([]);
      abort.abort("bye");
    }
  });

  it("reach those here when the store is away, and others when it is back (B1)", async () => {
    const { a, b, settled, store, faults, clock } = pair();
    const [here, there] = [listen(a), listen(b)];
    await settled();
    const { append, read } = store.streams;
    Object.assign(store.streams, { append: () => Promise.reject(new Error("away")) });
    a.listChanged("tools");
    await settled();
    expect(here.heard()).toEqual([["notifications/tools/list_changed", { _meta: {} }]]);
    // An hour, in which the store is tried again and again.
    await clock.advanceAsync(3_600_000);
    a.listChanged("prompts");
    a.listChanged("tools");
    await clock.advanceAsync(10_000);
    expect(there.heard()).toEqual([]);
    expect(here.heard()).toHaveLength(2);
    expect(faults.length).toBe(2);
    Object.assign(store.streams, { append, read: () => Promise.reject(new Error("away")) });
    await clock.advanceAsync(1_000);
    await settled();
    expect(there.heard()).toEqual([]);
    Object.assign(store.streams, { read });
    await clock.advanceAsync(1_000);
    await settled();
    expect(there.heard()).toEqual([changed("tools", 1), changed("prompts", 2)]);
  });

  it("that were appended, but not announced, are announced when the store is back (B1)", async () => {
    const { a, b, settled, store, clock } = pair();
    const there = listen(b);
    await settled();
    const { publish } = store.topics;
    Object.assign(store.topics, { publish: () => Promise.reject(new Error("away")) });
    a.listChanged("tools");
    await settled();
    expect(there.heard()).toEqual([]);
    Object.assign(store.topics, { publish });
    await clock.advanceAsync(1_000);
    await settled();
    expect(there.heard().map(([method]) => method)).toContain("notifications/tools/list_changed");
  });

  it("are anything, when more of them wait for the store than are kept (B1)", async () => {
    const { a, b, settled, store, clock } = pair();
    const there = listen(b, { toolsListChanged: true, resourceSubscriptions: ["a://1"] });
    await settled();
    const { append } = store.streams;
    Object.assign(store.streams, { append: () => Promise.reject(new Error("away")) });
    for (let count = 0; count <= 20_001; count++) a.resourceUpdated(`b://${count}`);
    await clock.advanceAsync(5_000);
    Object.assign(store.streams, { append });
    await clock.advanceAsync(1_000);
    await settled();
    const lost = { "plugbay/lost": true };
    const resource: Note = [
      "notifications/resources/updated",
      { uri: "a://1", _meta: { "plugbay/position": 2, ...lost } },
    ];
    expect(there.heard()).toEqual([changed("tools", 2, lost), resource]);
    expect((await store.streams.read("shop/changes", 0)).events).toHaveLength(2);
  });

  it("are tried once more when the server closes (B1)", async () => {
    const { a, b, settled, store } = pair();
    const there = listen(b);
    await settled();
    const { append } = store.streams;
    Object.assign(store.streams, { append: () => Promise.reject(new Error("away")) });
    a.listChanged("tools");
    await settled();
    Object.assign(store.streams, { append });
    await a.close();
    await settled();
    expect(there.heard()).toEqual([changed("tools", 1)]);
  });

  it("are told to others when one throws", async () => {
    const { a, settled, faults } = pair();
    const notify = (method: string): undefined => {
      if (method.endsWith("list_changed")) throw new Error("broken");
    };
    void a(makeCall("subscriptions/listen", { notifications: all }, { notify }).call);
    const { heard } = listen(a);
    await settled();
    a.listChanged("tools");
    await settled();
    expect(heard()).toEqual([changed("tools", 1)]);
    expect(faults.length).toBe(1);
  });

  it("end with the server", async () => {
    const { a, b, settled } = pair();
    const { heard } = listen(a);
    await settled();
    await a.close();
    b.listChanged("tools");
    await settled();
    expect(heard()).toEqual([]);
  });
});

describe("changes of one process without a store", () => {
  const alone = () => {
    const clock = createManualClock();
    const offers = { listChanged: true, subscribe: true, tools: {}, prompts: {}, resources: [] };
    return { clock, server: createServer({ name: "shop", version: "1", ...offers, clock }) };
  };

  it("are not kept before somebody listens, and all of them from then on", async () => {
    const { clock, server } = alone();
    for (let count = 0; count < 3; count++) server.listChanged("tools");
    await clock.advanceAsync(0);
    const { heard, abort } = listen(server);
    // Before the listener is told that it listens.
    server.listChanged("prompts");
    await clock.advanceAsync(0);
    expect(heard()).toEqual([changed("prompts", 1)]);
    abort.abort("gone");
    server.listChanged("tools");
    await clock.advanceAsync(0);
    const back = listen(server, all, { "plugbay/after": 1 });
    await clock.advanceAsync(0);
    expect(back.heard()).toEqual([changed("tools", 2)]);
  });

  it("are kept up to a bound: who was away for longer hears that anything may have changed", async () => {
    const { clock, server } = alone();
    listen(server);
    for (let count = 0; count < 2_000; count++) server.resourceUpdated(`a://${count}`);
    await clock.advanceAsync(0);
    const { heard } = listen(server, { toolsListChanged: true }, { "plugbay/after": 1 });
    await clock.advanceAsync(0);
    expect(heard()).toEqual([changed("tools", 2_000, { "plugbay/lost": true })]);
  });

  it("are told by who makes them where everything ends with its request", async () => {
    const clock = Object.assign(createManualClock(), { requestBound: true });
    const store = memoryStore({ clock });
    const server = createServer({ name: "shop", version: "1", listChanged: true, tools: {}, clock, store });
    const [first, second] = [listen(server), listen(server)];
    await clock.advanceAsync(0);
    server.listChanged("tools");
    await clock.advanceAsync(0);
    expect([first.heard(), second.heard()]).toEqual([[changed("tools", 1)], [changed("tools", 1)]]);
    first.abort.abort("gone");
    server.listChanged("tools");
    await clock.advanceAsync(0);
    expect([first.heard().length, second.heard().length]).toEqual([1, 2]);
    // What one request writes to a store, no other could wait for.
    expect((await store.streams.read("shop/changes", 0)).last).toBe(0);
    expect(clock.pending).toBe(0);
  });
});
