import { describe, expect, it, vi } from "vitest";
import { answerOpening, connected, discovered, opening, welcome } from "../../../test/support/connected.ts";
import { gate, notification, request } from "../../../test/support/served.ts";
import { connectBy } from "../../connect/connect.ts";
import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import { type Revision, revisions } from "../../protocol/revision.ts";
import { createManualClock } from "../../testing/clock.ts";
import { createFakePeer, type FakePeer } from "../../testing/fake-peer.ts";
import { openChannel } from "../../transport/open-channel.ts";

const legacy = revisions.filter((revision) => revision !== "2026-07-28");
const form: JsonObject = { message: "Sure?", requestedSchema: { type: "object", properties: {} } };
const sampling: JsonObject = { messages: [{ role: "user", content: { type: "text", text: "hi" } }], maxTokens: 9 };

/** What the client answers to a question of the server. */
async function answerTo(server: FakePeer, method: string, params: JsonObject = {}): Promise<JsonObject> {
  return server.request(method, params);
}

describe("calls of a legacy client", () => {
  it.each(legacy)("carry nothing modern on %s, and their results are complete as they are", async (revision) => {
    const { client, server } = await connected(revision);
    const result = client.callTool("t", { a: 1 });
    const call = await server.expect("tools/call");
    expect(call.params).toEqual({ name: "t", arguments: { a: 1 } });
    server.reply(call, { content: [{ type: "text", text: "x" }] });
    expect(await result).toEqual({ content: [{ type: "text", text: "x" }] });
  });

  it("C11: are answered in any order", async () => {
    const { client, server } = await connected("2025-11-25");
    const results = ["a", "b", "c"].map((name) => client.callTool(name));
    const calls = [await server.next(), await server.next(), await server.next()];
    for (const call of calls.reverse()) server.reply(call, { content: [], _meta: { ...(call.params as object) } });
    expect((await Promise.all(results)).map(({ _meta }) => _meta)).toEqual([
      { name: "a", arguments: {} },
      { name: "b", arguments: {} },
      { name: "c", arguments: {} },
    ]);
  });

  it("C17: ask for progress by a token of their own, and keep other members of _meta", async () => {
    const { client, server } = await connected("2025-11-25");
    const onProgress = vi.fn();
    const meta = { progressToken: "mine", trace: "t" };
    const result = client.callTool("t", {}, { onProgress, meta });
    const call = await server.expect("tools/call");
    expect(call.params).toMatchObject({ _meta: { progressToken: call.id, trace: "t" } });
    server.notify("notifications/progress", { progressToken: call.id ?? null, progress: 1, total: 2, message: "half" });
    server.reply(call, { content: [] });
    await result;
    expect(onProgress).toHaveBeenCalledExactlyOnceWith({ progress: 1, total: 2, message: "half" });
  });

  it("C18: hear of their own progress only, and of none once they are over", async () => {
    const { client, server, settled } = await connected("2025-11-25");
    const heard = [vi.fn(), vi.fn()];
    const results = heard.map((onProgress) => client.callTool("t", {}, { onProgress }));
    const [first = {}, second = {}] = [await server.next(), await server.next()];
    const tell = (token: unknown, progress: number) =>
      server.notify("notifications/progress", { progressToken: token as string, progress });
    tell(first.id, 1);
    tell(String(second.id), 2);
    server.reply(first, { content: [] });
    await results[0];
    tell(first.id, 3);
    tell(second.id, 4);
    server.reply(second, { content: [] });
    await results[1];
    await settled();
    expect(heard.map(({ mock }) => mock.calls)).toEqual([[[{ progress: 1 }]], [[{ progress: 4 }]]]);
  });

  it("C19: progress of no call reaches onNotification, token and all", async () => {
    const onNotification = vi.fn();
    const { server, settled } = await connected("2025-11-25", { onNotification });
    server.notify("notifications/progress", { progressToken: 99, progress: 1 });
    await settled();
    expect(onNotification).toHaveBeenCalledExactlyOnceWith({
      method: "notifications/progress",
      params: { progressToken: 99, progress: 1 },
    });
  });
});

describe("calls that end early", () => {
  it.each<[reason: unknown, params: JsonObject]>([
    [undefined, {}],
    ["not needed", { reason: "not needed" }],
    [new Error("private"), {}],
  ])("C3, C6: a cancel for %o sends exactly one cancellation", async (reason, params) => {
    const { client, server, settled } = await connected("2025-11-25");
    const abort = new AbortController();
    const result = client.callTool("t", {}, { signal: abort.signal });
    const { id } = await server.expect("tools/call");
    abort.abort(reason);
    await expect(result).rejects.toMatchObject({ code: "cancelled" });
    abort.abort("again");
    await settled();
    expect(server.heard.slice(-1)).toEqual([
      notification("notifications/cancelled", { requestId: id ?? null, ...params }),
    ]);
    expect(server.heard.filter(({ method }) => method === "notifications/cancelled")).toHaveLength(1);
  });

  it("C4: a late reply is dropped and is never taken for another's", async () => {
    const { client, server, settled } = await connected("2025-11-25");
    const abort = new AbortController();
    const cancelled = client.callTool("t", {}, { signal: abort.signal });
    const first = await server.expect("tools/call");
    abort.abort();
    await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
    const result = client.callTool("t");
    const second = await server.expect("tools/call");
    expect(second.id).not.toBe(first.id);
    server.reply(first, { content: [{ type: "text", text: "late" }] });
    await settled();
    server.reply(second, { content: [{ type: "text", text: "right" }] });
    expect(await result).toEqual({ content: [{ type: "text", text: "right" }] });
  });

  it("C5: a cancel after the answer writes nothing", async () => {
    const { client, server, settled } = await connected("2025-11-25");
    const abort = new AbortController();
    const result = client.callTool("t", {}, { signal: abort.signal });
    server.reply(await server.expect("tools/call"), { content: [] });
    await result;
    const before = server.heard.length;
    abort.abort();
    await settled();
    expect(server.heard).toHaveLength(before);
  });

  it("C8: a timeout fails the call, and tells the server once", async () => {
    const { client, server, clock } = await connected("2025-11-25");
    const result = client.callTool("t", {}, { timeoutMs: 500 });
    const failed = expect(result).rejects.toMatchObject({ code: "timeout" });
    const { id } = await server.expect("tools/call");
    await clock.advanceAsync(500);
    await failed;
    await clock.advanceAsync(5_000);
    expect(server.heard.filter(({ method }) => method === "notifications/cancelled")).toEqual([
      notification("notifications/cancelled", { requestId: id ?? null, reason: "timeout" }),
    ]);
  });

  it("C10: every call fails when the server hangs up, and says so", async () => {
    const { client, server, settled } = await connected("2025-11-25");
    const results = [client.callTool("a"), client.listTools()];
    const failed = results.map((result) => expect(result).rejects.toMatchObject({ code: "connection-closed" }));
    server.end();
    await settled();
    await Promise.all(failed);
    expect(await client.closed).toMatchObject({ code: "connection-closed" });
    await expect(client.ping()).rejects.toMatchObject({ code: "connection-closed" });
  });
});

describe("what a server asks", () => {
  it("C27: ping is answered with {}", async () => {
    const { server } = await connected("2025-11-25");
    expect(await answerTo(server, "ping")).toMatchObject({ result: {} });
  });

  it.each<[method: string, params: JsonObject]>([
    ["elicitation/create", form],
    ["sampling/createMessage", sampling],
    ["roots/list", {}],
    ["tools/list", {}],
    ["made/up", {}],
  ])("C51: %s is -32601 unless the client opted in", async (method, params) => {
    const { server } = await connected("2025-11-25");
    expect(await answerTo(server, method, params)).toMatchObject({ error: { code: -32601 } });
  });

  it("C51: is -32601 also when it was declared but there is no handler", async () => {
    const { server } = await connected("2025-11-25", { capabilities: { sampling: {} } });
    expect(await answerTo(server, "sampling/createMessage", sampling)).toMatchObject({ error: { code: -32601 } });
  });

  it("C50: is -32602 in a mode that was not declared", async () => {
    const { server } = await connected("2025-11-25", { onElicit: () => ({}) });
    const page = { mode: "url", message: "m", url: "https://x.example/", elicitationId: "e" };
    expect(await answerTo(server, "elicitation/create", page)).toMatchObject({ error: { code: -32602 } });
    expect(await answerTo(server, "elicitation/create", form)).toMatchObject({ result: { action: "accept" } });
  });

  it("C53: an empty list of roots is an answer", async () => {
    const { server } = await connected("2025-11-25", { roots: [] });
    expect(await answerTo(server, "roots/list")).toMatchObject({ result: { roots: [] } });
  });

  it("is refused with -32602 when it is malformed", async () => {
    const { server } = await connected("2025-11-25", { onElicit: () => ({}) });
    expect(await answerTo(server, "elicitation/create", { message: 3 })).toMatchObject({ error: { code: -32602 } });
  });

  it("C42: a handler that throws gives a masked error, and the connection lives", async () => {
    const onElicit = () => {
      throw new Error("/secret");
    };
    const { server } = await connected("2025-11-25", { onElicit });
    const answer = await answerTo(server, "elicitation/create", form);
    expect(answer).toMatchObject({ error: { code: -32603 } });
    expect(JSON.stringify(answer)).not.toContain("secret");
    expect(await answerTo(server, "ping")).toMatchObject({ result: {} });
  });

  it("is masked also when a connection is used without a client", async () => {
    const clock = createManualClock();
    const server = createFakePeer();
    const answer = () => Promise.reject(new TypeError("/secret"));
    const opened = openChannel(server.channel, opening(clock, { revision: "2025-11-25", answer }));
    await answerOpening(server, "2025-11-25");
    await opened;
    expect(await server.request("roots/list")).toMatchObject({ error: { code: -32603, message: "internal error" } });
  });

  it("may be refused by the user, with a code of its own", async () => {
    const onSample = () => Promise.reject(new McpError("rejected", "the user said no"));
    const { server } = await connected("2025-11-25", { onSample });
    expect(await answerTo(server, "sampling/createMessage", sampling)).toMatchObject({
      error: { code: -1, message: "the user said no" },
    });
  });

  it("C80: is answered beside the reading of other messages; its handler may use the same client", async () => {
    const thinking = gate();
    const { client, server } = await connected("2025-11-25", {
      async onElicit() {
        await client.listPrompts();
        await thinking.opened;
        return { action: "decline" };
      },
    });
    const answer = answerTo(server, "elicitation/create", form);
    server.reply(await server.expect("prompts/list"), { prompts: [] });
    const tools = client.listTools();
    server.reply(await server.expect("tools/list"), { tools: [] });
    expect(await tools).toEqual([]);
    expect(await answerTo(server, "ping")).toMatchObject({ result: {} });
    thinking.open();
    expect(await answer).toMatchObject({ result: { action: "decline" } });
  });

  it.each<[method: string, params: JsonObject]>([
    ["elicitation/create", form],
    ["elicitation/create", { mode: "url", message: "m", url: "https://x.example/", elicitationId: "e" }],
    ["sampling/createMessage", sampling],
    ["roots/list", {}],
    ["com.example/look", {}],
  ])("C44: %s %j is aborted when the server cancels it, and then not answered (C44)", async (method, params) => {
    const seen = gate<AbortSignal>();
    const hang = <T>({ signal }: { readonly signal: AbortSignal }): Promise<T> => {
      seen.open(signal);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
    };
    const { server, settled } = await connected("2025-11-25", {
      onElicit: (_form, context) => hang(context),
      onElicitUrl: (_link, context) => hang(context),
      onSample: (_params, context) => hang(context),
      roots: hang,
      onRequest: (_method, _params, context) => hang(context),
    });
    server.say(request(7, method, params));
    const signal = await seen.opened;
    server.notify("notifications/cancelled", { requestId: 7, reason: "never mind" });
    await settled();
    expect(signal.aborted).toBe(true);
    expect(server.heard.filter(({ id }) => id === 7)).toEqual([]);
  });

  it.each(legacy)("may be what the protocol does not define, in %s (C44)", async (revision) => {
    const onRequest = vi.fn((method: string, params: JsonObject) => ({ method, ...params }));
    const { server } = await connected(revision, { onRequest });
    expect(await answerTo(server, "com.example/look", { at: 1 })).toMatchObject({
      result: { method: "com.example/look", at: 1 },
    });
    expect(onRequest).toHaveBeenCalledWith("com.example/look", { at: 1 }, { signal: expect.any(AbortSignal) });
  });

  it("is no request of its own since 2026-07-28: it is not answered, and onWarning hears of it (C44)", async () => {
    const onRequest = vi.fn();
    const onWarning = vi.fn();
    const { server, settled } = await connected("2026-07-28", { onRequest, onWarning });
    server.say(request(7, "com.example/look", {}));
    await settled();
    expect(onRequest).not.toHaveBeenCalled();
    expect(server.heard.filter(({ id }) => id === 7)).toEqual([]);
    const message = expect.stringContaining("com.example/look");
    expect(onWarning).toHaveBeenCalledWith({ kind: "not-honoured", message });
  });

  it.each(["tools/list", "tasks/get", "logging/setLevel", "initialize", "sampling/createMessage", "roots/list"])(
    "does not reach onRequest when the protocol defines it: %s (C44)",
    async (method) => {
      const onRequest = vi.fn(() => ({}));
      const { server } = await connected("2025-11-25", { onRequest });
      const params = method === "sampling/createMessage" ? sampling : {};
      expect(await answerTo(server, method, params)).toMatchObject({ error: { code: -32601 } });
      expect(onRequest).not.toHaveBeenCalled();
    },
  );

  it("is refused by what onRequest throws, and masked when that is no McpError or no object is returned (C44)", async () => {
    const onRequest = (method: string): JsonObject => {
      if (method === "x/refused") throw new McpError("invalid-params", "at is missing");
      if (method === "x/broken") throw new Error("/secret");
      return 5 as unknown as JsonObject;
    };
    const { server } = await connected("2025-11-25", { onRequest });
    const refused = { error: { code: -32602, message: "at is missing" } };
    expect(await answerTo(server, "x/refused")).toMatchObject(refused);
    for (const method of ["x/broken", "x/number"]) {
      const answer = await answerTo(server, method);
      expect(answer).toMatchObject({ error: { code: -32603 } });
      expect(JSON.stringify(answer)).not.toContain("secret");
    }
  });

  it("is refused when a message of sampling has a role that the protocol does not know (F132)", async () => {
    const onSample = vi.fn();
    const { server } = await connected("2025-11-25", { onSample });
    const messages = [
      { role: "user", content: { type: "text", text: "hi" } },
      { role: "system", content: { type: "text", text: "obey" } },
    ];
    expect(await answerTo(server, "sampling/createMessage", { messages, maxTokens: 9 })).toMatchObject({
      error: { code: -32602, message: "params.messages[1].role must be user or assistant" },
    });
    expect(onSample).not.toHaveBeenCalled();
  });

  it("C84: a page that the user is done with is told once; unknown ids are ignored", async () => {
    const done: string[] = [];
    const onNotification = vi.fn();
    const { server, settled } = await connected("2025-11-25", {
      onNotification,
      onElicitUrl: ({ completed }) => {
        void completed?.then(() => done.push("done"));
        return { action: "accept" };
      },
    });
    const page = { mode: "url", message: "m", url: "https://x.example/", elicitationId: "e1" };
    expect(await answerTo(server, "elicitation/create", page)).toMatchObject({ result: { action: "accept" } });
    for (const elicitationId of ["other", "e1", "e1"]) {
      server.notify("notifications/elicitation/complete", { elicitationId });
    }
    await settled();
    expect(done).toEqual(["done"]);
    expect(onNotification).not.toHaveBeenCalled();
  });

  it("does not reach the handlers before the handshake is done", async () => {
    const clock = createManualClock();
    const server = createFakePeer();
    const onElicit = vi.fn();
    const connecting = connectBy((given) => openChannel(server.channel, given), { clock, onElicit });
    server.refuse(await server.expect("server/discover"), -32601, "no");
    const greeting = await server.expect("initialize");
    expect(await answerTo(server, "elicitation/create", form)).toMatchObject({ error: { code: -32601 } });
    expect(await answerTo(server, "ping")).toMatchObject({ result: {} });
    server.reply(greeting, welcome("2025-11-25"));
    await connecting;
    expect(onElicit).not.toHaveBeenCalled();
  });
});

describe("the connection itself", () => {
  it("pings", async () => {
    const { client, server } = await connected("2025-11-25");
    const ping = client.ping();
    server.reply(await server.expect("ping"), {});
    await expect(ping).resolves.toBeUndefined();
  });

  it("sets the log level of the session", async () => {
    const { client, server } = await connected("2025-11-25");
    const set = client.setLogLevel("error");
    const call = await server.expect("logging/setLevel");
    expect(call.params).toEqual({ level: "error" });
    server.reply(call, {});
    await expect(set).resolves.toBeUndefined();
  });

  it("fails with what the server says", async () => {
    const { client, server } = await connected("2025-11-25");
    const set = client.setLogLevel("error");
    server.refuse(await server.expect("logging/setLevel"), -32602, "no such level");
    await expect(set).rejects.toMatchObject({ code: "invalid-params", message: "no such level" });
  });

  it("C54: tells the server of new roots, which the next question sees", async () => {
    const { client, server } = await connected("2025-11-25", { roots: [] });
    client.setRoots([{ uri: "file:///new" }]);
    expect(await server.next()).toEqual(notification("notifications/roots/list_changed"));
    expect(await answerTo(server, "roots/list")).toMatchObject({ result: { roots: [{ uri: "file:///new" }] } });
  });

  it("hears log messages of no call through onLog, and everything else through onNotification", async () => {
    const [onLog, onNotification] = [vi.fn(), vi.fn()];
    const { server, settled } = await connected("2025-11-25", { onLog, onNotification });
    server.notify("notifications/message", { level: "info", logger: "l", data: { a: 1 } });
    server.notify("notifications/tools/list_changed");
    server.notify("notifications/made/up", { x: 1 });
    await settled();
    expect(onLog).toHaveBeenCalledExactlyOnceWith({ level: "info", logger: "l", data: { a: 1 } });
    expect(onNotification.mock.calls).toEqual([
      [{ method: "notifications/tools/list_changed", params: {} }],
      [{ method: "notifications/made/up", params: { x: 1 } }],
    ]);
  });

  it.each<Revision>(["2025-11-25", "2026-07-28"])("discovers %s by what it said", async (revision) => {
    const { client, server } = await connected(revision);
    const discovering = client.discover();
    if (revision === "2026-07-28") server.reply(await server.expect("server/discover"), discovered());
    expect((await discovering).capabilities).toEqual(client.server.capabilities);
    expect(server.heard).toHaveLength(2);
  });
});

describe("a server that has forgotten its client", () => {
  /** A client, and the means to tell the server again what it knew. */
  async function forgotten() {
    const clock = createManualClock();
    const server = createFakePeer();
    let restore = (): Promise<void> => Promise.resolve();
    const onSession = (given: () => Promise<void>) => {
      restore = given;
    };
    const connecting = connectBy((given) => openChannel(server.channel, given, { onSession }), {
      clock,
      revision: "2025-11-25",
    });
    await answerOpening(server, "2025-11-25");
    return { client: await connecting, server, restore: () => restore() };
  }

  it("is told nothing when it was told nothing", async () => {
    const { server, restore } = await forgotten();
    await restore();
    expect(server.heard.map(({ method }) => method)).toEqual(["initialize", "notifications/initialized"]);
  });

  it("is told the last log level and what is watched", async () => {
    const { client, server, restore } = await forgotten();
    for (const level of ["error", "debug"] as const) {
      const set = client.setLogLevel(level);
      server.reply(await server.expect("logging/setLevel"), {});
      await set;
    }
    const watch = client.watch("file:///a");
    server.reply(await server.expect("resources/subscribe"), {});
    await watch.ready;
    const restored = restore();
    const told = [await server.next(), await server.next()];
    expect(told.map(({ method, params }) => [method, params])).toEqual([
      ["logging/setLevel", { level: "debug" }],
      ["resources/subscribe", { uri: "file:///a" }],
    ]);
    for (const each of told) server.reply(each, {});
    await restored;
  });

  it("may refuse", async () => {
    const { client, server, restore } = await forgotten();
    const watch = client.watch("file:///a");
    server.reply(await server.expect("resources/subscribe"), {});
    await watch.ready;
    const restored = restore();
    server.refuse(await server.expect("resources/subscribe"), -32602, "gone");
    await expect(restored).rejects.toMatchObject({ message: "gone" });
  });
});
