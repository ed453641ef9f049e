import { describe, expect, it, vi } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import { gate } from "../../../test/support/served.ts";
import type { ServerCodec } from "../../codec/codec.ts";
import { McpError } from "../../model/errors.ts";
import type { ServerCapabilities } from "../../model/peer.ts";
import type { Call, Outcome, Service } from "../../model/service.ts";
import { createServer, resource, tool } from "../../server/index.ts";
import { createSharedFeed, type FeedSession } from "./shared-feed.ts";

const a = "file:///a";
const ack = "notifications/subscriptions/acknowledged";
const toolsChanged = "notifications/tools/list_changed";
const updated = "notifications/resources/updated";
const all: ServerCapabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};

/** Listening calls as they arrive, each to be confirmed and ended by the test. */
function remote() {
  const calls: { call: Call<"subscriptions/listen">; end(outcome: Outcome | Promise<never>): void }[] = [];
  const service = ((call: Call<"subscriptions/listen">) => {
    const { opened, open } = gate<Outcome | Promise<never>>();
    calls.push({ call, end: open });
    return opened;
  }) as Service;
  const shared = createSharedFeed(service);
  const join = (changes: Partial<FeedSession> = {}) => {
    const heard: string[] = [];
    const reader = { tell: (text: string): Promise<void> | undefined => void heard.push(text) };
    const feed = shared.join({ codec: codecFor("2025-11-25"), capabilities: all, reader, ...changes });
    return { feed, heard, methods: () => heard.map((text) => JSON.parse(text).method) };
  };
  const at = (index: number) => calls[index] ?? expect.fail(`only ${calls.length} calls`);
  return { join, at, calls };
}

const open = (calls: ReturnType<typeof remote>["calls"]) => calls.filter(({ call }) => !call.signal.aborted).length;
const settled = () => new Promise((resolve) => setImmediate(resolve));

it("does not tell clients where a change stands among all", async () => {
  const { join, at } = remote();
  const { feed, heard } = join();
  void feed.start();
  at(0).call.notify(toolsChanged, { _meta: { "plugbay/position": 3, "plugbay/lost": true, own: 1 } });
  expect(heard.map((text) => JSON.parse(text).params)).toEqual([{ _meta: { own: 1 } }]);
});

describe("changed lists", () => {
  it("take one call for all sessions, from the first to the last", () => {
    const { join, at, calls } = remote();
    const feeds = [join().feed, join().feed, join().feed];
    expect(calls).toHaveLength(0);
    for (const feed of feeds) void feed.start();
    expect(calls).toHaveLength(1);
    expect(at(0).call.params.notifications).toEqual({
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
    });
    feeds[0]?.stop();
    feeds[1]?.stop();
    expect(open(calls)).toBe(1);
    feeds[2]?.stop();
    feeds[2]?.stop();
    expect(open(calls)).toBe(0);
    void feeds[0]?.start();
    expect(calls).toHaveLength(2);
    expect(open(calls)).toBe(1);
  });

  it("are heard by those that started, and no longer when they stopped", () => {
    const { join, at } = remote();
    const [early, late, never] = [join(), join(), join()];
    void early.feed.start();
    at(0).call.notify(toolsChanged, {});
    void late.feed.start();
    at(0).call.notify(toolsChanged, {});
    early.feed.stop();
    at(0).call.notify(toolsChanged, {});
    expect([early, late, never].map(({ heard }) => heard.length)).toEqual([2, 2, 0]);
  });

  it("are encoded once for each revision, and the same text goes to all of it", () => {
    const { join, at } = remote();
    const counted = (codec: ServerCodec): ServerCodec => ({
      ...codec,
      encodeNotification: vi.fn(codec.encodeNotification),
    });
    const codecs = [counted(codecFor("2025-11-25")), counted(codecFor("2025-06-18"))] as const;
    const sessions = Array.from({ length: 100 }, (_, index) => join({ codec: codecs[index % 2] ?? codecs[0] }));
    for (const { feed } of sessions) void feed.start();
    at(0).call.notify(toolsChanged, {});
    for (const { encodeNotification } of codecs) expect(encodeNotification).toHaveBeenCalledTimes(1);
    expect(new Set(sessions.flatMap(({ heard }) => heard))).toEqual(
      new Set([JSON.stringify({ jsonrpc: "2.0", method: toolsChanged, params: {} })]),
    );
    expect(sessions.every(({ heard }) => heard.length === 1)).toBe(true);
  });

  it("C76: are those that the handshake announced to each session", () => {
    const { join, at, calls } = remote();
    const [older, newer, silent] = [
      join({ capabilities: { prompts: { listChanged: true } } }),
      join(),
      join({ capabilities: { tools: {} } }),
    ];
    for (const { feed } of [older, newer, silent]) void feed.start();
    expect(calls.map(({ call }) => call.params.notifications)).toEqual([
      { promptsListChanged: true },
      { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true },
    ]);
    // Even when the service tells more than it was asked for.
    for (const { call } of calls) call.notify(toolsChanged, {});
    expect([older, newer, silent].map(({ heard }) => heard.length)).toEqual([0, 1, 0]);
    expect(at(0).call.peer).toEqual({ revision: "2026-07-28", capabilities: {} });
  });

  it("are not shared between principals, or scopes", () => {
    const { join, calls } = remote();
    const auths = [undefined, { principal: "ann" }, { principal: "bob" }, { principal: "bob", scopes: ["read"] }];
    for (const auth of [...auths, ...auths]) void join({ auth }).feed.start();
    expect(calls.map(({ call }) => call.peer.auth)).toEqual(auths);
  });
});

describe("subscriptions", () => {
  it("take one call for each resource, from the first subscriber to the last", async () => {
    const { join, at, calls } = remote();
    const [one, other] = [join(), join()];
    for (const { feed } of [one, other]) void feed.subscribe(a);
    void one.feed.subscribe("file:///b");
    expect(calls.map(({ call }) => call.params.notifications)).toEqual([
      { resourceSubscriptions: [a] },
      { resourceSubscriptions: ["file:///b"] },
    ]);
    at(0).call.notify(updated, { uri: a });
    at(1).call.notify(updated, { uri: "file:///b" });
    expect([one, other].map(({ heard }) => heard.length)).toEqual([2, 1]);
    expect([one.feed.subscriptions(), other.feed.subscriptions()]).toEqual([[a, "file:///b"], [a]]);
    await one.feed.unsubscribe(a);
    expect(open(calls)).toBe(2);
    await other.feed.unsubscribe(a);
    expect(open(calls)).toBe(1);
    one.feed.stop();
    expect(open(calls)).toBe(0);
    expect([one.feed.subscriptions(), other.feed.subscriptions()]).toEqual([[], []]);
  });

  it("are confirmed when the service listens, to all who wait", async () => {
    const { join, at, calls } = remote();
    const confirmed: string[] = [];
    const subscribe = (name: string) =>
      join()
        .feed.subscribe(a)
        .then((failure) => confirmed.push(`${name} ${failure?.code}`));
    void subscribe("one");
    void subscribe("two");
    await settled();
    expect(confirmed).toEqual([]);
    at(0).call.notify(ack, {});
    await settled();
    await subscribe("three");
    expect(confirmed).toEqual(["one undefined", "two undefined", "three undefined"]);
    expect(calls).toHaveLength(1);
  });

  it("C70: are idempotent, both ways", async () => {
    const { join, at, calls } = remote();
    const { feed, heard } = join();
    void feed.subscribe(a);
    void feed.subscribe(a);
    at(0).call.notify(ack, {});
    at(0).call.notify(updated, { uri: a });
    expect(heard).toHaveLength(1);
    expect(await feed.unsubscribe(a)).toBeUndefined();
    expect(await feed.unsubscribe(a)).toBeUndefined();
    expect(calls).toHaveLength(1);
    expect(open(calls)).toBe(0);
  });

  it("bring updates of what is part of the resource, too", () => {
    const { join, at } = remote();
    const { feed, heard } = join();
    void feed.subscribe(a);
    at(0).call.notify(updated, { uri: `${a}/part` });
    expect(heard).toHaveLength(1);
  });

  it("fail with the service, and leave what was there", async () => {
    const { join, at, calls } = remote();
    const [one, other] = [join(), join()];
    void one.feed.start();
    const refused = [one.feed.subscribe(a), other.feed.subscribe(a)];
    const failure = { code: "internal", message: "no more listeners" } as const;
    at(1).end({ kind: "failed", failure });
    expect(await Promise.all(refused)).toEqual([failure, failure]);
    expect(one.feed.subscriptions()).toEqual([]);
    at(0).call.notify(toolsChanged, {});
    expect(one.heard).toHaveLength(1);
    const again = one.feed.subscribe(a);
    expect(calls).toHaveLength(3);
    at(2).call.notify(ack, {});
    expect(await again).toBeUndefined();
  });

  it.each([
    [new Error("/secret"), { code: "internal", message: "internal error" }],
    [new McpError("connection-closed", "gone"), { code: "connection-closed", message: "gone" }],
  ])("mask what the service throws: %s", async (error, failure) => {
    const { join, at } = remote();
    const refused = join().feed.subscribe(a);
    at(0).end(Promise.reject(error));
    expect(await refused).toMatchObject(failure);
  });

  it("may be given up before they are confirmed, and taken again", async () => {
    const { join, at, calls } = remote();
    const { feed, heard } = join();
    void feed.subscribe(a);
    await feed.unsubscribe(a);
    const again = feed.subscribe(a);
    expect(calls.map(({ call }) => call.signal.aborted)).toEqual([true, false]);
    at(0).call.notify(updated, { uri: a });
    at(0).end({ kind: "complete", result: {} });
    await settled();
    at(1).call.notify(ack, {});
    expect(await again).toBeUndefined();
    at(1).call.notify(updated, { uri: a });
    expect(heard).toHaveLength(1);
    expect(feed.subscriptions()).toEqual([a]);
  });

  it("cost nothing where they were not announced", async () => {
    const { join, calls } = remote();
    expect(await join({ capabilities: { resources: {} } }).feed.subscribe(a)).toBeUndefined();
    expect(calls).toHaveLength(0);
  });
});

it("listens again, for all, to what the service has ended, when one of them subscribes", async () => {
  const { join, at, calls } = remote();
  const [one, other] = [join(), join()];
  void one.feed.start();
  void other.feed.start();
  at(0).call.notify(ack, {});
  at(0).end({ kind: "complete", result: {} });
  await settled();
  at(0).call.notify(toolsChanged, {});
  void one.feed.subscribe(a);
  expect(calls).toHaveLength(3);
  at(1).call.notify(toolsChanged, {});
  expect([one, other].map(({ methods }) => methods())).toEqual([[toolsChanged], [toolsChanged]]);
});

describe("a slow client", () => {
  it("hears the same news once, in order, and holds nobody back", async () => {
    const { join, at } = remote();
    const { opened, open: catchUp } = gate();
    const told: string[] = [];
    const slow = join({
      reader: {
        tell(text) {
          told.push(JSON.parse(text).params.uri ?? JSON.parse(text).method);
          return told.length === 1 ? opened : undefined;
        },
      },
    });
    const quick = join();
    for (const { feed } of [slow, quick]) {
      void feed.start();
      void feed.subscribe(a);
    }
    for (let i = 0; i < 100; i++) at(0).call.notify(toolsChanged, {});
    for (let i = 0; i < 100; i++) at(1).call.notify(updated, { uri: a, _meta: { i } });
    expect(told).toEqual([toolsChanged]);
    expect(quick.heard).toHaveLength(200);
    catchUp();
    await settled();
    expect(told).toEqual([toolsChanged, toolsChanged, a]);
    at(0).call.notify(toolsChanged, {});
    expect(told).toHaveLength(4);
  });

  it("hears nothing more when it stopped", async () => {
    const { join, at } = remote();
    const { opened, open: catchUp } = gate();
    const tell = vi.fn(() => opened);
    const { feed } = join({ reader: { tell } });
    void feed.start();
    at(0).call.notify(toolsChanged, {});
    at(0).call.notify(toolsChanged, {});
    feed.stop();
    catchUp();
    await settled();
    expect(tell).toHaveBeenCalledTimes(1);
  });
});

it("serves a real server", async () => {
  const server = createServer({
    name: "changing",
    version: "1",
    listChanged: true,
    subscribe: true,
    tools: { first: tool({ run: () => "" }) },
    resources: [resource(a, { read: () => "" })],
  });
  const shared = createSharedFeed(server);
  const heard: string[] = [];
  const reader = { tell: (text: string): undefined => void heard.push(JSON.parse(text).method) };
  const feeds = [1, 2].map(() => shared.join({ codec: codecFor("2025-11-25"), capabilities: all, reader }));
  await Promise.all(feeds.map((feed) => feed.start()));
  expect(await feeds[0]?.subscribe(a)).toBeUndefined();
  server.tools.remove("first");
  server.notify.resourceUpdated(a);
  await settled();
  expect(heard.sort()).toEqual([updated, toolsChanged, toolsChanged].sort());
});
