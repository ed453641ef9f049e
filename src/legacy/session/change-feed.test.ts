import { describe, expect, it, vi } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import { eventually } from "../../../test/support/patience.ts";
import { gate, hello, type Served, serve, serveLegacy } from "../../../test/support/served.ts";
import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Call, Outcome, Service } from "../../protocol/service.ts";
import { createServer, resource, tool } from "../../server/index.ts";
import type { FakePeer } from "../../testing/fake-peer.ts";
import { createFeed } from "./change-feed.ts";

const a = "file:///a";

function changing() {
  return createServer({
    name: "changing",
    version: "1",
    listChanged: true,
    subscribe: true,
    tools: { first: tool({ run: () => "" }) },
    resources: [resource(a, { read: () => "" })],
    prompts: {},
  });
}

const updated = (uri: string) => ({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri } });
const listChanged = (kind: string) => ({ jsonrpc: "2.0", method: `notifications/${kind}/list_changed`, params: {} });
const news = ({ heard }: FakePeer) => heard.filter((message) => "method" in message);

describe("changed lists", () => {
  it("C76: are told to clients that are ready, and to no others", async () => {
    const server = changing();
    const fresh = serve(server);
    const greeted = serve(server);
    await greeted.client.request("initialize", hello("2025-11-25"));
    const ready = await serveLegacy(server);
    server.listChanged("tools");
    await ready.settled();
    expect(news(ready.client)).toEqual([listChanged("tools")]);
    expect(news(greeted.client)).toEqual([]);
    expect(news(fresh.client)).toEqual([]);
  });

  it("C76: are told once for all changes of one turn", async () => {
    const server = changing();
    const { client, settled } = await serveLegacy(server);
    server.tools.add("second", tool({ run: () => "" }));
    server.tools.add("third", tool({ run: () => "" }));
    server.tools.remove("first");
    await settled();
    expect(news(client)).toEqual([listChanged("tools")]);
  });

  it("C76: are told once also after several subscriptions", async () => {
    const server = changing();
    const { client, settled } = await serveLegacy(server);
    for (const uri of [a, "file:///b", "file:///c"]) await client.request("resources/subscribe", { uri });
    server.listChanged("prompts");
    await settled();
    expect(news(client)).toEqual([listChanged("prompts")]);
  });

  it("C76: are not told of what the handshake did not announce, not even when it is there later", async () => {
    const server = createServer({ name: "s", version: "1", listChanged: true, subscribe: true, resources: [] });
    const { client, settled } = await serveLegacy(server);
    server.tools.add("late", tool({ run: () => "" }));
    await client.request("resources/subscribe", { uri: a });
    server.listChanged("tools");
    server.listChanged("resources");
    await settled();
    expect(news(client)).toEqual([listChanged("resources")]);
  });

  it("are not told any more when the session is over", async () => {
    const server = changing();
    const { client, serving, settled } = await serveLegacy(server, { drainMs: 1_000 });
    client.say({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "first" } });
    client.end();
    await serving.ended;
    server.listChanged("tools");
    await settled();
    expect(news(client)).toEqual([]);
  });

  it.each<[how: string, end: (served: Served) => unknown]>([
    ["hangs up", ({ client }) => client.end()],
    ["is closed", ({ serving }) => serving.close()],
    ["is drained", ({ serving }) => serving.drain()],
  ])("cost a client that %s nothing more: its listener is gone", async (_how, end) => {
    const listening: AbortSignal[] = [];
    const server = changing();
    const served = await serveLegacy((call) => {
      if (call.method === "subscriptions/listen") listening.push(call.signal);
      return server(call);
    });
    await served.client.request("resources/subscribe", { uri: a });
    expect(listening.map(({ aborted }) => aborted)).toEqual([true, false]);
    end(served);
    await served.serving.ended;
    expect(listening.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it("cost a server that announces nothing no listener", async () => {
    const methods: string[] = [];
    const silent = createServer({ name: "silent", version: "1", tools: { t: tool({ run: () => "" }) } });
    const { client } = await serveLegacy((call) => {
      methods.push(call.method);
      return silent(call);
    });
    await client.request("tools/list");
    // The server is asked what it is at the start, and again for the handshake.
    expect(methods).toEqual(["server/discover", "server/discover", "tools/list"]);
  });
});

describe("subscriptions", () => {
  it.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const)(
    "C70: bring updates of any URI on %s, until it is unsubscribed",
    async (revision) => {
      const server = changing();
      const { client, settled } = await serveLegacy(server, { revision });
      const unknown = "weather://nowhere";
      expect(await client.request("resources/subscribe", { uri: unknown })).toMatchObject({ result: {} });
      server.resourceUpdated(unknown);
      await settled();
      expect(news(client)).toEqual([updated(unknown)]);
      expect(await client.request("resources/unsubscribe", { uri: unknown })).toMatchObject({ result: {} });
      server.resourceUpdated(unknown);
      await settled();
      expect(news(client)).toHaveLength(1);
    },
  );

  it("C70: are idempotent, both ways", async () => {
    const server = changing();
    const { client, settled } = await serveLegacy(server);
    for (let i = 0; i < 3; i++)
      expect(await client.request("resources/subscribe", { uri: a })).toHaveProperty("result");
    server.resourceUpdated(a);
    await settled();
    expect(news(client)).toEqual([updated(a)]);
    for (let i = 0; i < 2; i++) {
      expect(await client.request("resources/unsubscribe", { uri: a })).toHaveProperty("result");
    }
    server.resourceUpdated(a);
    await settled();
    expect(news(client)).toHaveLength(1);
  });

  it("C70: belong to one session and die with it", async () => {
    const server = changing();
    const [one, other] = [await serveLegacy(server), await serveLegacy(server)];
    await one.client.request("resources/subscribe", { uri: a });
    server.resourceUpdated(a);
    await one.settled();
    expect(news(one.client)).toHaveLength(1);
    expect(news(other.client)).toEqual([]);
    await one.serving.close();
    server.resourceUpdated(a);
    await one.settled();
    expect(news(one.client)).toHaveLength(1);
  });

  it("C47: an update without a subscriber is sent to nobody", async () => {
    const server = changing();
    const { client, settled } = await serveLegacy(server);
    await client.request("resources/subscribe", { uri: a });
    expect(() => server.resourceUpdated("file:///other")).not.toThrow();
    await settled();
    expect(news(client)).toEqual([]);
  });

  it.each(["resources/subscribe", "resources/unsubscribe"])(
    "%s is -32601 where it was not announced",
    async (method) => {
      const { client } = await serveLegacy(createServer({ name: "s", version: "1", resources: [] }));
      expect(await client.request(method, { uri: a })).toMatchObject({ error: { code: -32601 } });
    },
  );

  it.each([undefined, null, 3, {}])("refuse the URI %j with -32602", async (uri) => {
    const { client } = await serveLegacy(changing());
    const params = { uri } as JsonObject;
    expect(await client.request("resources/subscribe", params)).toMatchObject({ error: { code: -32602 } });
    expect(await client.request("resources/unsubscribe", params)).toMatchObject({ error: { code: -32602 } });
  });
});

describe("a feed from a service that is far away", () => {
  const ack = "notifications/subscriptions/acknowledged";

  /** Listening calls as they arrive, each to be confirmed and ended by the test. */
  function remote() {
    const calls: { call: Call<"subscriptions/listen">; end(outcome: Outcome | Promise<never>): void }[] = [];
    const service = ((call: Call<"subscriptions/listen">) => {
      const { opened, open } = gate<Outcome | Promise<never>>();
      calls.push({ call, end: open });
      return opened;
    }) as Service;
    const sent: [string, JsonObject][] = [];
    const feed = createFeed({
      logLevel: () => "info",
      service,
      codec: codecFor("2025-11-25"),
      peer: { revision: "2025-11-25", capabilities: {} },
      share: { take: () => undefined, give() {} },
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
      send(method, params) {
        sent.push([method, params]);
        return undefined;
      },
    });
    const at = (index: number) => {
      const entry = calls[index];
      if (entry === undefined) throw new Error(`only ${calls.length} calls`);
      return entry;
    };
    return { feed, at, calls, sent };
  }

  it("is subscribed only when the service says so, and nothing falls between two listeners", async () => {
    const { feed, at, sent } = remote();
    void feed.start();
    at(0).call.notify(ack, {});
    let subscribed = false;
    const subscribing = feed.subscribe(a).then(() => {
      subscribed = true;
    });
    expect(at(1).call.params.notifications).toEqual({ toolsListChanged: true, resourceSubscriptions: [a] });
    at(0).call.notify("notifications/tools/list_changed", {});
    await Promise.resolve();
    expect(subscribed).toBe(false);
    at(1).call.notify(ack, {});
    await subscribing;
    at(0).call.notify("notifications/tools/list_changed", {});
    at(1).call.notify("notifications/resources/updated", { uri: a });
    expect(at(0).call.signal.aborted).toBe(true);
    expect(sent).toEqual([
      ["notifications/tools/list_changed", {}],
      ["notifications/resources/updated", { uri: a }],
    ]);
  });

  it("listens anew only when something is new", async () => {
    const { feed, at, calls } = remote();
    void feed.subscribe(a);
    at(0).call.notify(ack, {});
    await feed.subscribe(a);
    await feed.unsubscribe("file:///b");
    expect(calls).toHaveLength(1);
  });

  it("stays as it was when the service refuses, and says why", async () => {
    const { feed, at, sent } = remote();
    void feed.start();
    at(0).call.notify(ack, {});
    const refused = feed.subscribe(a);
    const failure = { code: "internal", message: "no more listeners" } as const;
    at(1).end({ kind: "failed", failure });
    expect(await refused).toEqual(failure);
    at(0).call.notify("notifications/tools/list_changed", {});
    expect(sent).toHaveLength(1);
    void feed.unsubscribe("file:///b");
    void feed.subscribe("file:///b");
    expect(at(2).call.params.notifications.resourceSubscriptions).toEqual(["file:///b"]);
  });

  it("keeps a subscription that it cannot give up", async () => {
    const { feed, at } = remote();
    const subscribed = feed.subscribe(a);
    at(0).call.notify(ack, {});
    await subscribed;
    const refused = feed.unsubscribe(a);
    at(1).end(Promise.reject(new McpError("connection-closed", "gone")));
    expect(await refused).toMatchObject({ code: "connection-closed" });
    void feed.subscribe("file:///b");
    expect(at(2).call.params.notifications.resourceSubscriptions).toEqual([a, "file:///b"]);
  });

  it("masks what the service throws", async () => {
    const { feed, at } = remote();
    const started = feed.start();
    at(0).end(Promise.reject(new Error("/secret")));
    expect(await started).toEqual({ code: "internal", message: "internal error" });
  });

  it("ends all listeners when it stops, confirmed or not", async () => {
    const { feed, at, sent } = remote();
    void feed.start();
    at(0).call.notify(ack, {});
    void feed.subscribe(a);
    feed.stop();
    expect([at(0), at(1)].map(({ call }) => call.signal.aborted)).toEqual([true, true]);
    at(1).call.notify("notifications/resources/updated", { uri: a });
    expect(sent).toEqual([]);
  });

  it("tells a slow client the same news once", async () => {
    const { opened, open } = gate();
    const send = vi.fn((): Promise<void> | undefined => (send.mock.calls.length === 1 ? opened : undefined));
    const listening: Call[] = [];
    const feed = createFeed({
      logLevel: () => "info",
      service: ((call: Call) => {
        listening.push(call);
        return new Promise(() => {});
      }) as Service,
      codec: codecFor("2025-11-25"),
      peer: { revision: "2025-11-25", capabilities: {} },
      share: { take: () => undefined, give() {} },
      capabilities: { tools: { listChanged: true }, prompts: { listChanged: true } },
      send,
    });
    void feed.start();
    for (let i = 0; i < 1_000; i++) listening[0]?.notify("notifications/tools/list_changed", {});
    listening[0]?.notify("notifications/prompts/list_changed", {});
    expect(send).toHaveBeenCalledTimes(1);
    open();
    await eventually(() => expect(send).toHaveBeenCalledTimes(3));
    expect(send.mock.calls.map(([method]: unknown[]) => method)).toEqual([
      "notifications/tools/list_changed",
      "notifications/tools/list_changed",
      "notifications/prompts/list_changed",
    ]);
  });
});
