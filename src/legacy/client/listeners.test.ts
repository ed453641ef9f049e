import { describe, expect, it, vi } from "vitest";
import { connected } from "../../../test/support/connected.ts";
import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import { createCall } from "../../protocol/service.ts";
import type { ListenFilter } from "../../protocol/subscription.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import type { FakePeer } from "../../testing/fake-peer.ts";
import { createListeners } from "./listeners.ts";

const a = "file:///a";

describe("through a client", () => {
  const update = (server: FakePeer, uri: string) => server.notify("notifications/resources/updated", { uri });
  const subscriptions = (server: FakePeer) =>
    server.heard
      .filter(({ method }) => String(method).includes("subscribe"))
      .map(({ method, params }) => [method, params]);

  it("several watches of one resource share one subscription, given up with the last", async () => {
    const { client, server, settled } = await connected("2025-11-25");
    const [one, two] = [client.watch(a), client.watch(a)];
    server.reply(await server.expect("resources/subscribe"), {});
    await Promise.all([one.ready, two.ready]);
    update(server, a);
    for (const watch of [one, two]) {
      expect(await watch[Symbol.asyncIterator]().next()).toEqual({ done: false, value: { uri: a } });
    }
    await one[Symbol.asyncDispose]();
    await settled();
    expect(subscriptions(server)).toEqual([["resources/subscribe", { uri: a }]]);
    await two[Symbol.asyncDispose]();
    const call = await server.expect("resources/unsubscribe");
    expect(call.params).toEqual({ uri: a });
    await settled();
    expect(subscriptions(server)).toHaveLength(2);
  });

  it("a watch that the server refuses fails, and is not unsubscribed", async () => {
    const { client, server, settled } = await connected("2025-11-25");
    const watch = client.watch(a);
    server.refuse(await server.expect("resources/subscribe"), -32002, "no such resource", { uri: a });
    await expect(watch.ready).rejects.toMatchObject({ code: "resource-not-found" });
    await settled();
    expect(subscriptions(server)).toHaveLength(1);
  });

  it("a watch that nobody confirms fails in time", async () => {
    const { client, server, clock } = await connected("2025-11-25");
    const watch = client.watch(a, { timeoutMs: 1_000 });
    const failed = expect(watch.ready).rejects.toMatchObject({ code: "timeout" });
    await server.expect("resources/subscribe");
    await clock.advanceAsync(1_000);
    await failed;
  });

  it("changed lists need no request, and are told to whoever asked for them", async () => {
    const { client, server, settled } = await connected("2025-11-25");
    const before = server.heard.length;
    const [tools, all] = [client.changes({ tools: true }), client.changes()];
    await Promise.all([tools.ready, all.ready]);
    server.notify("notifications/prompts/list_changed");
    server.notify("notifications/tools/list_changed");
    await settled();
    expect(server.heard).toHaveLength(before);
    const next = async (watch: typeof tools) => (await watch[Symbol.asyncIterator]().next()).value;
    expect(await next(tools)).toEqual({ kind: "tools" });
    expect([await next(all), await next(all)]).toEqual([{ kind: "prompts" }, { kind: "tools" }]);
  });

  it("a change that nobody listens for reaches onNotification, and one that somebody does, does not", async () => {
    const onNotification = vi.fn();
    const { client, server, settled } = await connected("2025-11-25", { onNotification });
    const watch = client.changes({ tools: true });
    await watch.ready;
    server.notify("notifications/tools/list_changed");
    update(server, a);
    await settled();
    expect(onNotification.mock.calls).toEqual([[{ method: "notifications/resources/updated", params: { uri: a } }]]);
    await watch[Symbol.asyncDispose]();
    server.notify("notifications/tools/list_changed");
    await settled();
    expect(onNotification).toHaveBeenCalledTimes(2);
  });

  it("a watch fails when the server hangs up", async () => {
    const { client, server, settled } = await connected("2025-11-25");
    const changes = client.changes();
    await changes.ready;
    const reading = changes[Symbol.asyncIterator]().next();
    const failed = expect(reading).rejects.toMatchObject({ code: "connection-closed" });
    server.end();
    await settled();
    await failed;
  });
});

describe("listeners", () => {
  function setUp() {
    const requests: { method: string; params: JsonObject; answer(error?: McpError): void }[] = [];
    const listeners = createListeners({
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
      request: (method, params) =>
        new Promise((resolve, reject) => {
          requests.push({ method, params, answer: (error) => (error === undefined ? resolve({}) : reject(error)) });
        }),
    });
    const listen = (notifications: ListenFilter) => {
      const abort = new LazyAbort();
      const heard: [string, JsonObject][] = [];
      const outcome = listeners.listen(
        createCall({
          method: "subscriptions/listen",
          params: { notifications },
          peer: { revision: "2025-11-25", capabilities: {} },
          abort,
          notify: (method, params) => {
            heard.push([method, params]);
            return undefined;
          },
        }),
      );
      return { abort, heard, outcome };
    };
    const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
    return { listeners, requests, listen, settled };
  }

  const ack = (notifications: JsonObject) => ["notifications/subscriptions/acknowledged", { notifications }];
  const updated = (uri: string) => ["notifications/resources/updated", { uri }];

  it("confirm what the server announces, and nothing else", async () => {
    const { listen, settled } = setUp();
    const { heard } = listen({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: false });
    await settled();
    expect(heard).toEqual([ack({ toolsListChanged: true })]);
  });

  it("hear nothing before the confirmation, and lose nothing", async () => {
    const { listeners, requests, listen, settled } = setUp();
    const { heard } = listen({ toolsListChanged: true, resourceSubscriptions: [a] });
    expect(listeners.onNotification("notifications/tools/list_changed", {})).toBe(true);
    requests[0]?.answer();
    expect(listeners.onNotification("notifications/resources/updated", { uri: a })).toBe(true);
    expect(heard).toEqual([]);
    await settled();
    expect(heard).toEqual([
      ack({ toolsListChanged: true, resourceSubscriptions: [a] }),
      ["notifications/tools/list_changed", {}],
      updated(a),
    ]);
  });

  it("end with the call, before or after the confirmation", async () => {
    const { listeners, requests, listen, settled } = setUp();
    const { abort, heard, outcome } = listen({ resourceSubscriptions: [a] });
    abort.abort("enough");
    expect(await outcome).toEqual({ kind: "complete", result: {} });
    requests[0]?.answer();
    await settled();
    expect(heard).toEqual([]);
    expect(listeners.onNotification("notifications/resources/updated", { uri: a })).toBe(false);
    expect(requests.map(({ method }) => method)).toEqual(["resources/subscribe", "resources/unsubscribe"]);
  });

  it("end at once when the call was over before", async () => {
    const { listen, settled } = setUp();
    const over = listen({ toolsListChanged: true });
    over.abort.abort("x");
    expect(await over.outcome).toMatchObject({ kind: "complete" });
    await settled();
    expect(over.heard).toEqual([]);
  });

  it("fail with the refusal of one subscription, and give up the others", async () => {
    const { requests, listen, settled } = setUp();
    const { outcome } = listen({ resourceSubscriptions: [a, "file:///b"] });
    requests[0]?.answer();
    requests[1]?.answer(new McpError("invalid-params", "no"));
    expect(await outcome).toEqual({ kind: "failed", failure: { code: "invalid-params", message: "no" } });
    await settled();
    expect(requests.map(({ method, params }) => [method, params.uri])).toEqual([
      ["resources/subscribe", a],
      ["resources/subscribe", "file:///b"],
      ["resources/unsubscribe", a],
    ]);
  });

  it("end once, and take nothing from others", async () => {
    const { requests, listen, settled } = setUp();
    const first = listen({ resourceSubscriptions: [a, "file:///b"] });
    listen({ resourceSubscriptions: [a] });
    requests[0]?.answer();
    first.abort.abort("enough");
    requests[1]?.answer(new McpError("invalid-params", "no"));
    expect(await first.outcome).toEqual({ kind: "complete", result: {} });
    await settled();
    expect(requests.map(({ method }) => method)).toEqual(["resources/subscribe", "resources/subscribe"]);
  });

  it("fail when the connection is over", async () => {
    const { listeners, listen } = setUp();
    const failure = { code: "connection-closed", message: "gone" } as const;
    const calls = [listen({ toolsListChanged: true }), listen({ resourceSubscriptions: [a] })];
    listeners.close(failure);
    for (const { outcome } of calls) expect(await outcome).toEqual({ kind: "failed", failure });
    expect(listeners.onNotification("notifications/tools/list_changed", {})).toBe(false);
  });

  it.each([
    ["file:///dir", "file:///dir/part"],
    ["file:///dir/", "file:///dir/part"],
    ["doc://1", "doc://1#section"],
    ["doc://1", "doc://1?page=2"],
  ])("of %s hear of its part %s", async (whole, part) => {
    const { listeners, requests, listen, settled } = setUp();
    const { heard } = listen({ resourceSubscriptions: [whole] });
    requests[0]?.answer();
    await settled();
    expect(listeners.onNotification("notifications/resources/updated", { uri: part })).toBe(true);
    expect(heard.slice(1)).toEqual([updated(part)]);
  });

  it.each(["file:///direct", "file:///", "other"])("of file:///dir do not hear of %s", async (uri) => {
    const { listeners, listen } = setUp();
    listen({ resourceSubscriptions: ["file:///dir"] });
    expect(listeners.onNotification("notifications/resources/updated", { uri })).toBe(false);
  });

  it("of the whole leave the news to those of the part, where there are any", async () => {
    const { listeners, requests, listen, settled } = setUp();
    const whole = listen({ resourceSubscriptions: ["file:///dir"] });
    const part = listen({ resourceSubscriptions: ["file:///dir/part"] });
    for (const { answer } of requests) answer();
    await settled();
    listeners.onNotification("notifications/resources/updated", { uri: "file:///dir/part" });
    expect([whole.heard.length, part.heard.length]).toEqual([1, 2]);
  });

  it("leave what is no news of theirs to others", () => {
    const { listeners, listen } = setUp();
    listen({ toolsListChanged: true });
    expect(listeners.onNotification("notifications/message", {})).toBe(false);
    expect(listeners.onNotification("notifications/resources/updated", {})).toBe(false);
  });
});
