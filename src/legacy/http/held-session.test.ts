import { describe, expect, it, vi } from "vitest";
import { createLoneRules } from "../../../test/support/lone-session.ts";
import { gate } from "../../../test/support/served.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Auth, ServerCapabilities } from "../../protocol/peer.ts";
import type { Revision } from "../../protocol/revision.ts";
import type { Call, Outcome, Service } from "../../protocol/service.ts";
import { createServer, resource, tool } from "../../server/index.ts";
import type { Feed } from "../session/change-feed.ts";
import { HeldSession } from "./held-session.ts";
import { createSessionFeed } from "./session-changes.ts";

const a = "file:///a";
const b = "file:///b";
const ack = "notifications/subscriptions/acknowledged";
const toolsChanged = "notifications/tools/list_changed";
const updated = "notifications/resources/updated";
const all: ServerCapabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};
const lists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
/** Of a server whose lists never change. */
const subscribable: ServerCapabilities = { resources: { subscribe: true } };

interface Joined {
  readonly held: HeldSession;
  readonly feed: Feed;
  readonly heard: readonly string[];
  methods(): readonly string[];
  uris(): Promise<readonly string[]>;
}

interface Joining {
  readonly capabilities?: ServerCapabilities;
  readonly auth?: Auth | undefined;
  readonly revision?: Revision;
  tell?(text: string): Promise<void> | undefined;
}

/** Sessions that hear of the changes of one service, from now on. */
function sessionsOf(service: Service) {
  const readers = new Map<string, (text: string) => Promise<void> | undefined>();
  const { rules } = createLoneRules({ service });
  const holder = {
    rules,
    deliver: (session: string, _: number, text: string) => readers.get(session)?.(text),
  };
  let count = 0;
  return ({ capabilities = all, auth, revision = "2025-11-25", tell }: Joining = {}): Joined => {
    const heard: string[] = [];
    const id = `s${++count}`;
    readers.set(id, tell ?? ((text) => void heard.push(text)));
    const held = new HeldSession(id, auth, rules.ledger.connection("somebody"), holder);
    const kept = { peer: { revision, capabilities: {} }, capabilities, ready: true, logLevel: undefined, since: 0 };
    held.begin(kept);
    const feed = createSessionFeed({
      session: id,
      capabilities,
      rules,
      held,
      auth: () => auth,
      changed: () => held.refresh(),
    });
    return {
      held,
      feed,
      heard,
      methods: () => heard.map((text) => JSON.parse(text).method),
      uris: async () => rules.sessions.uris(id),
    };
  };
}

/** Listening calls as they arrive, each to be confirmed and ended by the test. */
function remote() {
  const calls: { call: Call<"subscriptions/listen">; end(outcome: Outcome | Promise<never>): void }[] = [];
  const service = ((call: Call<"subscriptions/listen">) => {
    const { opened, open } = gate<Outcome | Promise<never>>();
    calls.push({ call, end: open });
    return opened;
  }) as Service;
  const at = (index: number) => calls[index] ?? expect.fail(`only ${calls.length} calls`);
  return { join: sessionsOf(service), at, calls };
}

const open = (calls: ReturnType<typeof remote>["calls"]) => calls.filter(({ call }) => !call.signal.aborted).length;
const filters = (calls: ReturnType<typeof remote>["calls"]) => calls.map(({ call }) => call.params.notifications);
const settled = () => new Promise((resolve) => setImmediate(resolve));

it("does not tell clients where a change stands among all", () => {
  const { join, at } = remote();
  const { heard } = join();
  at(0).call.notify(toolsChanged, { _meta: { "plugbay/position": 3, "plugbay/lost": true, own: 1 } });
  expect(heard.map((text) => JSON.parse(text).params)).toEqual([{ _meta: { own: 1 } }]);
});

describe("changed lists", () => {
  it("take one call for all sessions, from the first to the last", () => {
    const { join, calls } = remote();
    const sessions = [join(), join(), join()];
    expect(filters(calls)).toEqual([lists]);
    sessions[0]?.held.end();
    sessions[1]?.held.end();
    expect(open(calls)).toBe(1);
    sessions[2]?.held.end();
    sessions[2]?.held.end();
    expect(open(calls)).toBe(0);
    join();
    expect(calls).toHaveLength(2);
    expect(open(calls)).toBe(1);
  });

  it("are heard from the beginning of a session to its end", () => {
    const { join, at } = remote();
    const early = join();
    at(0).call.notify(toolsChanged, {});
    const late = join();
    at(0).call.notify(toolsChanged, {});
    early.held.end();
    at(0).call.notify(toolsChanged, {});
    expect([early, late].map(({ heard }) => heard.length)).toEqual([2, 2]);
  });

  it("are the same text for all clients of a revision", () => {
    const { join, at } = remote();
    const sessions = Array.from({ length: 100 }, (_, index) =>
      join({ revision: index % 2 === 0 ? "2025-11-25" : "2025-06-18" }),
    );
    at(0).call.notify(toolsChanged, {});
    expect(new Set(sessions.flatMap(({ heard }) => heard))).toEqual(
      new Set([JSON.stringify({ jsonrpc: "2.0", method: toolsChanged, params: {} })]),
    );
    expect(sessions.every(({ heard }) => heard.length === 1)).toBe(true);
  });

  it("C76: are those that the handshake announced to each session", () => {
    const { join, at, calls } = remote();
    const sessions = [
      join({ capabilities: { prompts: { listChanged: true } } }),
      join(),
      join({ capabilities: { tools: {} } }),
    ];
    expect(filters(calls)).toEqual([{ promptsListChanged: true }, lists]);
    // Even when the service tells more than it was asked for.
    for (const { call } of calls) call.notify(toolsChanged, {});
    expect(sessions.map(({ heard }) => heard.length)).toEqual([0, 1, 0]);
    expect(at(0).call.peer).toEqual({ revision: "2026-07-28", capabilities: {} });
  });

  it("are not shared between principals, or scopes", () => {
    const { join, calls } = remote();
    const auths = [undefined, { principal: "ann" }, { principal: "bob" }, { principal: "bob", scopes: ["read"] }];
    for (const auth of [...auths, ...auths]) join({ auth });
    expect(calls.map(({ call }) => call.peer.auth)).toEqual(auths);
  });
});

describe("subscriptions", () => {
  it("take one call for each resource, from the first subscriber to the last", async () => {
    const { join, at, calls } = remote();
    const [one, other] = [join({ capabilities: subscribable }), join({ capabilities: subscribable })];
    void one.feed.subscribe(a);
    await settled();
    void other.feed.subscribe(a);
    void one.feed.subscribe(b);
    await settled();
    expect(filters(calls)).toEqual([{ resourceSubscriptions: [a] }, { resourceSubscriptions: [b] }]);
    at(0).call.notify(updated, { uri: a });
    at(1).call.notify(updated, { uri: b });
    expect([one, other].map(({ heard }) => heard.length)).toEqual([2, 1]);
    expect([await one.uris(), await other.uris()]).toEqual([[a, b], [a]]);
    await one.feed.unsubscribe(a);
    expect(open(calls)).toBe(2);
    await other.feed.unsubscribe(a);
    expect(open(calls)).toBe(1);
    one.held.end();
    expect(open(calls)).toBe(0);
  });

  it("are confirmed when the service listens, to all who wait", async () => {
    const { join, at, calls } = remote();
    const confirmed: string[] = [];
    const subscribe = (name: string) =>
      join({ capabilities: subscribable })
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
    const { feed, heard } = join({ capabilities: subscribable });
    void feed.subscribe(a);
    void feed.subscribe(a);
    await settled();
    at(0).call.notify(ack, {});
    at(0).call.notify(updated, { uri: a });
    expect(heard).toHaveLength(1);
    expect(await feed.unsubscribe(a)).toBeUndefined();
    expect(await feed.unsubscribe(a)).toBeUndefined();
    expect(calls).toHaveLength(1);
    expect(open(calls)).toBe(0);
  });

  it("bring updates of what is part of the resource, too", async () => {
    const { join, at } = remote();
    const { feed, heard } = join({ capabilities: subscribable });
    void feed.subscribe(a);
    await settled();
    at(0).call.notify(updated, { uri: `${a}/part` });
    expect(heard).toHaveLength(1);
  });

  it("fail with the service, and leave what was there", async () => {
    const { join, at, calls } = remote();
    const [one, other] = [join(), join()];
    const refused = [one.feed.subscribe(a), other.feed.subscribe(a)];
    await settled();
    const failure = { code: "internal", message: "no more listeners" } as const;
    at(1).end({ kind: "failed", failure });
    expect(await Promise.all(refused)).toEqual([failure, failure]);
    expect(await one.uris()).toEqual([]);
    at(0).call.notify(toolsChanged, {});
    expect(one.heard).toHaveLength(1);
    const again = one.feed.subscribe(a);
    await settled();
    expect(calls).toHaveLength(3);
    at(2).call.notify(ack, {});
    expect(await again).toBeUndefined();
  });

  it.each([
    [new Error("/secret"), { code: "internal", message: "internal error" }],
    [new McpError("connection-closed", "gone"), { code: "connection-closed", message: "gone" }],
  ])("mask what the service throws: %s", async (error, failure) => {
    const { join, at } = remote();
    const refused = join({ capabilities: subscribable }).feed.subscribe(a);
    await settled();
    at(0).end(Promise.reject(error));
    expect(await refused).toMatchObject(failure);
  });

  it("may be given up before they are confirmed, and taken again", async () => {
    const { join, at, calls } = remote();
    const { feed, heard, uris } = join({ capabilities: subscribable });
    void feed.subscribe(a);
    await settled();
    await feed.unsubscribe(a);
    const again = feed.subscribe(a);
    await settled();
    expect(calls.map(({ call }) => call.signal.aborted)).toEqual([true, false]);
    at(0).call.notify(updated, { uri: a });
    at(0).end({ kind: "complete", result: {} });
    await settled();
    at(1).call.notify(ack, {});
    expect(await again).toBeUndefined();
    at(1).call.notify(updated, { uri: a });
    expect(heard).toHaveLength(1);
    expect(await uris()).toEqual([a]);
  });

  it("cost nothing where they were not announced", async () => {
    const { join, calls } = remote();
    expect(await join({ capabilities: { resources: {} } }).feed.subscribe(a)).toBeUndefined();
    expect(calls).toHaveLength(0);
  });
});

it("listens again to what the service has ended when the client subscribes", async () => {
  const { join, at, calls } = remote();
  const [one, other] = [join(), join()];
  at(0).call.notify(ack, {});
  at(0).end({ kind: "complete", result: {} });
  await settled();
  at(0).call.notify(toolsChanged, {});
  void one.feed.subscribe(a);
  await settled();
  expect(filters(calls)).toEqual([lists, lists, { resourceSubscriptions: [a] }]);
  void other.feed.subscribe(a);
  await settled();
  expect(calls).toHaveLength(3);
  at(1).call.notify(toolsChanged, {});
  expect([one, other].map(({ methods }) => methods())).toEqual([[toolsChanged], [toolsChanged]]);
});

describe("a slow client", () => {
  it("hears the same once, in order, and holds nobody back", async () => {
    const { join, at } = remote();
    const { opened, open: catchUp } = gate();
    const told: string[] = [];
    const slow = join({
      tell(text) {
        told.push(JSON.parse(text).params.uri ?? JSON.parse(text).method);
        return told.length === 1 ? opened : undefined;
      },
    });
    const quick = join();
    for (const { feed } of [slow, quick]) void feed.subscribe(a);
    await settled();
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

  it("hears nothing more when its session ended", async () => {
    const { join, at } = remote();
    const { opened, open: catchUp } = gate();
    const tell = vi.fn(() => opened);
    const { held } = join({ tell });
    at(0).call.notify(toolsChanged, {});
    at(0).call.notify(toolsChanged, {});
    held.end();
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
  const join = sessionsOf(server);
  const [one, other] = [join(), join()];
  expect(await one.feed.subscribe(a)).toBeUndefined();
  server.tools.remove("first");
  server.resourceUpdated(a);
  await settled();
  expect([...one.methods(), ...other.methods()].sort()).toEqual([updated, toolsChanged, toolsChanged].sort());
});
