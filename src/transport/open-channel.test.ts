import { describe, expect, it, vi } from "vitest";
import { answerOpening, connected, discovered, opening, welcome } from "../../test/support/connected.ts";
import { notification, request } from "../../test/support/served.ts";
import type { Message } from "../jsonrpc/message.ts";
import type { Opening } from "../protocol/connection.ts";
import { metaKeys } from "../protocol/meta.ts";
import { createCall } from "../protocol/service.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { createManualClock } from "../testing/clock.ts";
import { createFakePeer } from "../testing/fake-peer.ts";
import { openChannel } from "./open-channel.ts";

function open(changes: Partial<Opening> = {}) {
  const clock = createManualClock();
  const server = createFakePeer();
  const options = opening(clock, changes);
  const connecting = openChannel(server.channel, options);
  connecting.catch(() => {});
  return { clock, server, options, connecting, settled: () => clock.advanceAsync(0) };
}

describe("connecting", () => {
  it("can be cancelled, with the channel closed and nothing more written", async () => {
    const abort = new AbortController();
    const { server, connecting } = open({ signal: abort.signal });
    await server.expect("server/discover");
    abort.abort(new Error("changed my mind"));
    await expect(connecting).rejects.toMatchObject({ code: "cancelled", message: "connecting was cancelled" });
    await expect(server.next()).rejects.toThrow("the channel was closed");
    expect(server.heard).toHaveLength(1);
  });

  it("C9: can be cancelled during the handshake, which is not cancelled on the wire", async () => {
    const abort = new AbortController();
    const { server, connecting } = open({ signal: abort.signal, revision: "2025-11-25" });
    await server.expect("initialize");
    abort.abort();
    await expect(connecting).rejects.toMatchObject({ code: "cancelled" });
    expect(server.heard).toHaveLength(1);
  });

  it("fails at once when it was cancelled before", async () => {
    const { server, connecting } = open({ signal: AbortSignal.abort() });
    await expect(connecting).rejects.toMatchObject({ code: "cancelled" });
    expect(server.heard).toEqual([]);
  });

  it("is not undone by a signal that comes later", async () => {
    const abort = new AbortController();
    const { server, connecting } = open({ signal: abort.signal, revision: "2026-07-28" });
    await answerOpening(server, "2026-07-28");
    const connection = await connecting;
    abort.abort();
    const ping = createCall({
      method: "tools/list",
      params: {},
      peer: connection.peer,
      abort: new LazyAbort(),
      notify: () => undefined,
    });
    const listed = connection.service(ping);
    server.reply(await server.expect("tools/list"), { tools: [] });
    expect(await listed).toMatchObject({ kind: "complete" });
  });

  it.each<[when: string, revision: Opening["revision"]]>([
    ["before it has said what it is", "2026-07-28"],
    ["during the handshake", "2025-11-25"],
    ["while it is being found out", undefined],
  ])("fails when the server hangs up %s", async (_when, revision) => {
    const { server, connecting } = open(revision === undefined ? {} : { revision });
    await server.next();
    server.end();
    await expect(connecting).rejects.toMatchObject({ code: "connection-closed" });
  });

  it("fails with the error of a channel that breaks", async () => {
    const { server, connecting } = open();
    await server.next();
    server.fail(new Error("the process died"));
    await expect(connecting).rejects.toMatchObject({
      code: "connection-closed",
      message: "the connection is closed: the process died",
    });
  });

  it("C12: is not disturbed by what a chatty server says first, and does not answer that", async () => {
    const { server, options, connecting } = open();
    server.say("Welcome to my server!", notification("notifications/message", { level: "info", data: "hi" }));
    server.reply({ id: 77 }, {});
    await answerOpening(server, "2026-07-28");
    await connecting;
    expect(server.heard).toHaveLength(1);
    expect(options.notified).toHaveBeenCalledExactlyOnceWith("notifications/message", { level: "info", data: "hi" });
  });
});

describe("a connection", () => {
  it("goes on reading while the server does not", async () => {
    const server = createFakePeer();
    const clock = createManualClock();
    const send = (message: Message) => {
      server.channel.send(message);
      return new Promise<void>(() => {});
    };
    const connecting = openChannel({ ...server.channel, send }, opening(clock, { revision: "2025-11-25" }));
    await answerOpening(server, "2025-11-25");
    const { service, peer } = await connecting;
    const source = { peer, abort: new LazyAbort(), notify: () => undefined };
    const listed = service(createCall({ ...source, method: "tools/list", params: {} }));
    const call = await server.expect("tools/list");
    for (let id = 0; id < 2_000; id++) server.say("rubbish", request(id, "ping"), { jsonrpc: "2.0", id, method: 3 });
    server.reply(call, { tools: [] });
    expect(await listed).toMatchObject({ kind: "complete" });
  });

  it("takes batches from a server of 2025-03-26, and from no other", async () => {
    for (const [revision, taken] of [
      ["2025-03-26", true],
      ["2025-11-25", false],
      ["2026-07-28", false],
    ] as const) {
      const { client, server, settled } = await connected(revision, { timeoutMs: 1_000 });
      const results = [client.callTool("a"), client.callTool("b")].map((result) => result.catch(() => "lost"));
      const calls = [await server.next(), await server.next()];
      server.say([
        ...calls.map(({ id = null }) => ({ jsonrpc: "2.0", id, result: { content: [] } })),
        notification("notifications/message", { level: "info", data: "x" }),
      ]);
      await settled();
      await client.close();
      expect(await Promise.all(results)).toEqual(taken ? [{ content: [] }, { content: [] }] : ["lost", "lost"]);
      expect(server.heard.filter((message) => "error" in message)).toEqual([]);
    }
  });
});

describe("the end of a connection", () => {
  it.each(["2025-11-25", "2026-07-28"] as const)("has no reason when we close it, on %s", async (revision) => {
    const { server, connecting } = open({ revision });
    await answerOpening(server, revision);
    const connection = await connecting;
    await Promise.all([connection.close(), connection.close()]);
    expect(await connection.ended).toBeUndefined();
  });

  it("C10: has one when the server hangs up", async () => {
    const { server, connecting } = open({ revision: "2025-11-25" });
    await answerOpening(server, "2025-11-25");
    const connection = await connecting;
    server.end();
    expect(await connection.ended).toEqual({ code: "connection-closed", message: "the connection is closed" });
  });

  it("has one when the channel breaks, and closing it then changes nothing", async () => {
    const { server, connecting } = open({ revision: "2025-11-25" });
    await answerOpening(server, "2025-11-25");
    const connection = await connecting;
    server.fail(new Error("cut"));
    expect(await connection.ended).toMatchObject({ message: "the connection is closed: cut" });
    await connection.close();
    expect(await connection.ended).toMatchObject({ code: "connection-closed" });
  });

  it.each(["2025-11-25", "2026-07-28"] as const)("C10: fails calls and listeners of %s", async (revision) => {
    const { server, connecting } = open({ revision });
    await answerOpening(server, revision);
    const { service, peer } = await connecting;
    const source = { peer, abort: new LazyAbort(), notify: () => undefined };
    const outcomes = [
      service(createCall({ ...source, method: "tools/list", params: {} })),
      service(
        createCall({
          ...source,
          method: "subscriptions/listen",
          params: { notifications: { toolsListChanged: true } },
        }),
      ),
    ];
    server.end();
    for (const outcome of outcomes) {
      expect(await outcome).toMatchObject({ kind: "failed", failure: { code: "connection-closed" } });
    }
  });
});

describe("a modern connection", () => {
  it.each(["ping", "roots/list", "elicitation/create", "sampling/createMessage"])(
    "writes no response to a request of the server, not even to %s, and warns (B2)",
    async (method) => {
      const onElicit = vi.fn();
      const onWarning = vi.fn();
      const { server, settled } = await connected("2026-07-28", { onElicit, onSample: onElicit, roots: [], onWarning });
      const heard = server.heard.length;
      const params = { message: "m", requestedSchema: { type: "object", properties: {} }, messages: [], maxTokens: 1 };
      server.say({ jsonrpc: "2.0", id: "theirs", method, params });
      await settled();
      expect(server.heard).toHaveLength(heard);
      expect(onElicit).not.toHaveBeenCalled();
      expect(onWarning).toHaveBeenCalledExactlyOnceWith({
        kind: "not-honoured",
        message: `the server sent a request, ${method}, which 2026-07-28 does not have; it was not answered`,
      });
    },
  );

  it("C18: hands progress to the call it belongs to", async () => {
    const { client, server } = await connected("2026-07-28");
    const heard = [vi.fn(), vi.fn()];
    const results = heard.map((onProgress) => client.callTool("t", {}, { onProgress }));
    const calls = [await server.next(), await server.next()];
    for (const [index, call] of calls.reverse().entries()) {
      server.notify("notifications/progress", { progressToken: call.id ?? null, progress: index + 1 });
      server.reply(call, { resultType: "complete", content: [] });
    }
    await Promise.all(results);
    expect(heard.map(({ mock }) => mock.calls)).toEqual([[[{ progress: 2 }]], [[{ progress: 1 }]]]);
  });

  it("C3: cancels by exactly one notification", async () => {
    const { client, server, settled } = await connected("2026-07-28");
    const abort = new AbortController();
    const result = client.callTool("t", {}, { signal: abort.signal });
    const { id } = await server.expect("tools/call");
    abort.abort("enough");
    await expect(result).rejects.toMatchObject({ code: "cancelled" });
    await settled();
    expect(server.heard.slice(-1)).toEqual([
      notification("notifications/cancelled", { requestId: id ?? null, reason: "enough" }),
    ]);
  });

  it("hears log messages, which name no call, through onLog", async () => {
    const onLog = vi.fn();
    const { server, settled } = await connected("2026-07-28", { onLog });
    server.notify("notifications/message", { level: "error", data: "x" });
    await settled();
    expect(onLog).toHaveBeenCalledExactlyOnceWith({ level: "error", data: "x" });
  });

  it("takes a result that does not say how it ended as complete, and one of an unknown kind as an error", async () => {
    const { client, server } = await connected("2026-07-28");
    const plain = client.callTool("t");
    server.reply(await server.expect("tools/call"), { content: [] });
    expect(await plain).toEqual({ content: [] });
    const odd = client.callTool("t");
    server.reply(await server.expect("tools/call"), { resultType: "riddle", content: [] });
    await expect(odd).rejects.toMatchObject({ code: "invalid-response" });
  });

  it("makes a call that was asked something again under another id, with the very state", async () => {
    const { client, server } = await connected("2026-07-28", { roots: [{ uri: "file:///r" }] });
    const result = client.callTool("t", { a: 1 });
    const first = await server.expect("tools/call");
    server.reply(first, {
      resultType: "input_required",
      inputRequests: { k: { method: "roots/list", params: {} } },
      requestState: "opaque==",
    });
    const second = await server.expect("tools/call");
    expect(second.id).not.toBe(first.id);
    expect(second.params).toEqual({
      ...(first.params as object),
      inputResponses: { k: { roots: [{ uri: "file:///r" }] } },
      requestState: "opaque==",
    });
    server.reply(second, { resultType: "complete", content: [] });
    expect(await result).toEqual({ content: [] });
  });
});

describe("listening on a modern connection", () => {
  const about = (id: unknown, params: object = {}) => ({
    ...params,
    _meta: { [metaKeys.subscriptionId]: id as number },
  });
  const ack = (id: unknown, notifications: object) => about(id, { notifications });
  const ackMethod = "notifications/subscriptions/acknowledged";

  it("hears what belongs to its subscription, and nothing else", async () => {
    const onNotification = vi.fn();
    const { client, server, settled } = await connected("2026-07-28", { onNotification });
    const [tools, prompts] = [client.changes({ tools: true }), client.changes({ prompts: true })];
    const [first = {}, second = {}] = [await server.next(), await server.next()];
    expect(first).toMatchObject({
      method: "subscriptions/listen",
      params: { notifications: { toolsListChanged: true } },
    });
    server.notify(ackMethod, ack(first.id, { toolsListChanged: true }));
    server.notify(ackMethod, ack(second.id, { promptsListChanged: true }));
    await Promise.all([tools.ready, prompts.ready]);
    server.notify("notifications/tools/list_changed", about(first.id));
    server.notify("notifications/prompts/list_changed", about(second.id));
    server.notify("notifications/tools/list_changed", about(String(first.id)));
    server.notify("notifications/tools/list_changed");
    await settled();
    expect(await tools[Symbol.asyncIterator]().next()).toEqual({ done: false, value: { kind: "tools" } });
    expect(await prompts[Symbol.asyncIterator]().next()).toEqual({ done: false, value: { kind: "prompts" } });
    expect(onNotification).toHaveBeenCalledTimes(2);
  });

  it.each<[how: string, end: (server: ReturnType<typeof createFakePeer>, id: number) => void]>([
    ["a result", (server, id) => server.reply({ id }, { resultType: "complete", ...about(id) })],
    ["a cancellation", (server, id) => server.notify("notifications/cancelled", { requestId: id })],
    [
      "a cancellation that names it",
      (server, id) => server.notify("notifications/cancelled", about(id, { requestId: id })),
    ],
    [
      "a result and a cancellation",
      (server, id) =>
        server.say({ jsonrpc: "2.0", id, result: {} }, notification("notifications/cancelled", { requestId: id })),
    ],
    [
      "a cancellation and a result",
      (server, id) =>
        server.say(notification("notifications/cancelled", { requestId: id }), { jsonrpc: "2.0", id, result: {} }),
    ],
  ])("ends when the server ends it by %s, and says nothing to that", async (_how, end) => {
    const { client, server, settled } = await connected("2026-07-28");
    const changes = client.changes({ tools: true });
    const { id } = await server.expect("subscriptions/listen");
    server.notify(ackMethod, ack(id, { toolsListChanged: true }));
    await changes.ready;
    const before = server.heard.length;
    const reading = changes[Symbol.asyncIterator]().next();
    end(server, id as number);
    expect(await reading).toEqual({ done: true, value: undefined });
    await settled();
    expect(server.heard).toHaveLength(before);
  });

  it("is cancelled on the wire when the reader leaves", async () => {
    const { client, server } = await connected("2026-07-28");
    const changes = client.changes({ tools: true });
    const { id } = await server.expect("subscriptions/listen");
    await changes[Symbol.asyncDispose]();
    expect(await server.next()).toEqual(notification("notifications/cancelled", { requestId: id ?? null }));
  });

  it("C43: a cancellation of a call by the server has no effect", async () => {
    const { client, server, settled } = await connected("2026-07-28");
    const result = client.callTool("t");
    const call = await server.expect("tools/call");
    server.notify("notifications/cancelled", { requestId: call.id ?? null });
    await settled();
    server.reply(call, { resultType: "complete", content: [] });
    expect(await result).toEqual({ content: [] });
  });
});

describe("a connection whose era is not known yet", () => {
  it("does not take what the server says for a request of its own", async () => {
    const { server, connecting } = open();
    const probe = await server.expect("server/discover");
    server.say(request(1, "roots/list"), request(2, "ping"));
    server.refuse(probe, -32601, "what?");
    expect(await server.next()).toMatchObject({ id: 1, error: { code: -32601 } });
    expect(await server.next()).toMatchObject({ id: 2, result: {} });
    server.reply(await server.expect("initialize"), welcome("2025-11-25"));
    expect(await connecting).toMatchObject({ revision: "2025-11-25" });
  });

  it("writes no response if the era turns out to be modern (B2)", async () => {
    const { server, connecting } = open();
    const probe = await server.expect("server/discover");
    server.say(request(1, "roots/list"), request(2, "ping"));
    server.reply(probe, discovered());
    expect(await connecting).toMatchObject({ revision: "2026-07-28" });
    expect(server.heard).toHaveLength(1);
  });
});
