import { describe, expect, it, vi } from "vitest";
import { welcome } from "../../../test/support/connected.ts";
import type { FakeRequest } from "../../../test/support/fake-http.ts";
import { httpConnecting, httpLegacy } from "../../../test/support/http-connected.ts";
import { clientLimits } from "../../protocol/limits.ts";

const text = (said: string) => ({ content: [{ type: "text", text: said }] });
const said = (method: string, params: object = {}) => ({ jsonrpc: "2.0", method, params }) as never;
const answer = (id: unknown, result: object) => ({ jsonrpc: "2.0", id, result }) as never;

/** A session whose stream is asked for and not answered, with a call that waits for that. */
async function opening() {
  const connecting = httpConnecting({ revision: "2025-11-25" });
  const { http } = connecting;
  (await http.expect("initialize")).result(welcome("2025-11-25"), { "mcp-session-id": "a" });
  (await http.expect("notifications/initialized")).reply(202);
  const get = await http.expect("GET");
  const client = await connecting.client;
  const called = client.callTool("a");
  called.catch(() => {});
  await connecting.settled();
  expect(http.said()).not.toContain("tools/call");
  return { ...connecting, client, get };
}

describe("a session", () => {
  it("C116: has its id and its version on everything after initialize", async () => {
    const { http, client } = httpConnecting({ revision: "2025-06-18" });
    const hello = await http.expect("initialize");
    expect(hello.headers).toEqual({
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    });
    hello.result(welcome("2025-06-18"), { "mcp-session-id": "abc" });
    const session = { "mcp-session-id": "abc", "mcp-protocol-version": "2025-06-18" };
    const initialized = await http.expect("notifications/initialized");
    expect(initialized.headers).toMatchObject(session);
    initialized.reply(202);
    const get = await http.expect("GET");
    expect(get.headers).toEqual({ accept: "text/event-stream", ...session });
    get.reply(405);
    void (await client).callTool("a").catch(() => {});
    expect((await http.expect("tools/call")).headers).toMatchObject(session);
    void (await client).close();
    expect((await http.expect("DELETE")).headers).toEqual(session);
  });

  it("C116: has a version only, when the server gives no id; and is not ended", async () => {
    const { http, client } = await httpLegacy({}, {}, {});
    void client.callTool("a").catch(() => {});
    const { headers } = await http.expect("tools/call");
    expect(headers).not.toHaveProperty("mcp-session-id");
    expect(headers["mcp-protocol-version"]).toBe("2025-11-25");
    await client.close();
    expect(http.said()).not.toContain("DELETE");
  });

  it("opens with a stream as well as with a body", async () => {
    const { http, client } = httpConnecting({ revision: "2025-11-25" });
    const hello = await http.expect("initialize");
    hello.stream({ "mcp-session-id": "abc" }).say(answer(hello.id, welcome("2025-11-25")));
    (await http.expect("notifications/initialized")).reply(202);
    expect((await http.expect("GET")).headers["mcp-session-id"]).toBe("abc");
    expect((await client).revision).toBe("2025-11-25");
  });

  it("does not open with an id that cannot be sent back", async () => {
    const { http, client } = httpConnecting({ revision: "2025-11-25" });
    (await http.expect("initialize")).result(welcome("2025-11-25"), { "mcp-session-id": "a b" });
    await expect(client).rejects.toMatchObject({ code: "invalid-response" });
  });

  it.each<[what: string, answer: (request: FakeRequest) => unknown]>([
    ["opened", (request) => request.stream()],
    ["refused", (request) => request.reply(405)],
    ["broken off", (request) => request.fail(new Error("down"))],
  ])("sends no call before its stream is %s (I9)", async (_what, answer) => {
    const { http, get } = await opening();
    answer(get);
    await http.expect("tools/call");
  });

  it("sends no call that was cancelled before its stream is open (I9)", async () => {
    const { http, client, get, settled } = await opening();
    const gone = new AbortController();
    const result = client.callTool("b", {}, { signal: gone.signal });
    gone.abort();
    await expect(result).rejects.toMatchObject({ code: "cancelled" });
    get.stream();
    await settled();
    expect(http.said().filter((method) => method === "tools/call")).toHaveLength(1);
    expect(http.said()).not.toContain("notifications/cancelled");
  });

  it("sends calls half a second later when the server does not answer for its stream (I9)", async () => {
    const { http, clock } = await opening();
    await clock.advanceAsync(499);
    expect(http.said()).not.toContain("tools/call");
    await clock.advanceAsync(1);
    await http.expect("tools/call");
  });

  it("can be closed while its stream is not open (I9)", async () => {
    const { http, client, get } = await opening();
    const [end] = await Promise.all([http.expect("DELETE"), Promise.resolve(void client.close())]);
    end.reply(200);
    expect(get.aborted).toBe(true);
    expect(http.said()).not.toContain("tools/call");
  });

  it("sends nothing before the server has taken notifications/initialized", async () => {
    const { http, client, settled } = httpConnecting({ revision: "2025-11-25" });
    (await http.expect("initialize")).result(welcome("2025-11-25"));
    const initialized = await http.expect("notifications/initialized");
    const connected = await client;
    const [first, second] = [connected.callTool("a"), connected.callTool("b")];
    const gone = new AbortController();
    const third = connected.callTool("c", {}, { signal: gone.signal });
    gone.abort();
    await expect(third).rejects.toMatchObject({ code: "cancelled" });
    await settled();
    expect(http.said()).toEqual(["initialize", "notifications/initialized"]);
    initialized.reply(202);
    (await http.expect("GET")).reply(405);
    (await http.expect("tools/call")).result(text("A"));
    (await http.expect("tools/call")).result(text("B"));
    expect(await Promise.all([first, second])).toMatchObject([text("A"), text("B")]);
    expect(http.said()).toEqual(["initialize", "notifications/initialized", "GET", "tools/call", "tools/call"]);
  });

  it("C123: is ended by close, once, whatever the server says to that", async () => {
    const { http, client } = await httpLegacy();
    const closed = [client.close(), client.close()];
    (await http.expect("DELETE")).reply(405);
    await Promise.all(closed);
    expect(http.said().filter((method) => method === "DELETE")).toHaveLength(1);
  });

  it("C123: is given up by close when the server does not answer", async () => {
    const { http, client, clock } = await httpLegacy();
    const closed = client.close();
    const request = await http.expect("DELETE");
    await clock.advanceAsync(1_000);
    await closed;
    expect(request.aborted).toBe(true);
  });

  it("C123: lets go of everything when closed", async () => {
    const { http, client, settled } = await httpLegacy();
    const stream = (await http.expect("GET")).stream();
    const results = [client.callTool("a"), client.callTool("b")];
    const waiting = await http.expect("tools/call");
    const answering = (await http.expect("tools/call")).stream();
    void client.close();
    for (const result of results) await expect(result).rejects.toMatchObject({ code: "connection-closed" });
    await settled();
    expect([stream.discarded, waiting.aborted, answering.discarded]).toEqual([true, true, true]);
  });
});

describe("C117: answers of a legacy server", () => {
  it("come as a body or as a stream", async () => {
    const { http, client } = await httpLegacy();
    const results = [client.callTool("a"), client.callTool("b")];
    (await http.expect("tools/call")).result(text("A"));
    const request = await http.expect("tools/call");
    const stream = request.stream();
    stream.say(answer(request.id, text("B")), { id: "1" });
    stream.end();
    expect(await Promise.all(results)).toMatchObject([text("A"), text("B")]);
  });

  it("come with questions on the same stream, whose answers are POSTed", async () => {
    const { http, client } = await httpLegacy({ onElicit: () => ({ ok: true }) });
    (await http.expect("GET")).reply(405);
    const result = client.callTool("a");
    const request = await http.expect("tools/call");
    const stream = request.stream();
    const params = { message: "?", requestedSchema: { type: "object", properties: { ok: { type: "boolean" } } } };
    stream.say({ jsonrpc: "2.0", id: "q1", method: "elicitation/create", params });
    stream.say({ jsonrpc: "2.0", id: "p1", method: "ping" });
    const answers = [await nextAnswer(http), await nextAnswer(http)];
    expect(answers.map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        { jsonrpc: "2.0", id: "q1", result: { action: "accept", content: { ok: true } } },
        { jsonrpc: "2.0", id: "p1", result: {} },
      ]),
    );
    for (const each of answers) {
      expect(each.headers["mcp-session-id"]).toBe("s1");
      each.reply(202);
    }
    stream.say(answer(request.id, text("A")));
    expect(await result).toMatchObject(text("A"));
  });

  it("come with questions on the stream of the server", async () => {
    const { http, client } = await httpLegacy({ roots: [{ uri: "file:///a" }] });
    const stream = (await http.expect("GET")).stream();
    stream.say({ jsonrpc: "2.0", id: 0, method: "roots/list" });
    expect((await nextAnswer(http)).message).toMatchObject({ id: 0, result: { roots: [{ uri: "file:///a" }] } });
    void client.close();
  });

  it("come with progress and log messages of their call, and with changes for everybody", async () => {
    const onLog = vi.fn();
    const { http, client } = await httpLegacy();
    (await http.expect("GET")).reply(405);
    const watch = client.changes({ tools: true });
    await watch.ready;
    const onProgress = vi.fn();
    const result = client.callTool("a", {}, { onProgress, onLog });
    const request = await http.expect("tools/call");
    const stream = request.stream();
    stream.say(said("notifications/progress", { progressToken: request.id, progress: 1 }));
    stream.say(said("notifications/message", { level: "info", data: "x" }));
    stream.say(said("notifications/tools/list_changed"));
    stream.say(answer(request.id, text("A")));
    await result;
    expect(onProgress).toHaveBeenCalledOnce();
    expect(onLog).toHaveBeenCalledOnce();
    expect(await watch[Symbol.asyncIterator]().next()).toMatchObject({ value: { kind: "tools" } });
  });

  it("count on whichever stream they come", async () => {
    const { http, client, settled } = await httpLegacy();
    const own = (await http.expect("GET")).stream();
    const result = client.callTool("a");
    const request = await http.expect("tools/call");
    const stream = request.stream();
    own.say(answer(request.id, text("A")));
    expect(await result).toMatchObject(text("A"));
    stream.end();
    await settled();
    expect(http.said().filter((method) => method === "GET")).toHaveLength(1);
  });

  it("are not waited for when the call is cancelled: the server is told, then the call is let go of", async () => {
    const { http, client, settled } = await httpLegacy();
    const abort = new AbortController();
    const result = client.callTool("a", {}, { signal: abort.signal });
    const request = await http.expect("tools/call");
    const stream = request.stream();
    abort.abort("enough");
    await expect(result).rejects.toMatchObject({ code: "cancelled" });
    const cancelled = await http.expect("notifications/cancelled");
    expect(cancelled.message.params).toEqual({ requestId: request.id, reason: "enough" });
    expect(stream.discarded).toBe(false);
    cancelled.reply(202);
    await settled();
    expect(stream.discarded).toBe(true);
  });
});

describe("what a legacy server is told", () => {
  it("and does not take, is a warning", async () => {
    const { http, client, warn, settled } = await httpLegacy({ roots: [] });
    client.setRoots([{ uri: "file:///b" }]);
    (await http.expect("notifications/roots/list_changed")).reply(500);
    await settled();
    const message = "the server did not take notifications/roots/list_changed: 500 Internal Server Error";
    expect(warn.mock.calls).toEqual([[{ kind: "not-honoured", message }]]);
  });

  it("and does not answer, is given up after a while", async () => {
    const { http, client, warn, clock } = await httpLegacy({ roots: [], connectTimeoutMs: 5_000 });
    client.setRoots([{ uri: "file:///b" }]);
    const request = await http.expect("notifications/roots/list_changed");
    await clock.advanceAsync(5_000);
    expect(request.aborted).toBe(true);
    expect(warn).toHaveBeenCalledOnce();
  });
});

describe("C119: the stream of the server", () => {
  it("is done without, silently, when the server says 405", async () => {
    const { http, warn, clock } = await httpLegacy();
    (await http.expect("GET")).reply(405);
    await clock.advanceAsync(60_000);
    expect(warn).not.toHaveBeenCalled();
    expect(http.said().filter((method) => method === "GET")).toHaveLength(1);
  });

  it.each([400, 403, 404, 501])("is done without, with a warning, when the server says %i", async (status) => {
    const { http, warn, clock } = await httpLegacy();
    (await http.expect("GET")).reply(status);
    await clock.advanceAsync(60_000);
    expect(warn).toHaveBeenCalledOnce();
    expect(http.said()).toEqual(["initialize", "notifications/initialized", "GET"]);
  });

  it("is open, or known to be none, before anybody is told that changes are heard", async () => {
    const { client, get, settled } = await opening();
    const watch = client.changes({ tools: true });
    let ready = false;
    void watch.ready.then(() => {
      ready = true;
    });
    await settled();
    expect(ready).toBe(false);
    get.stream();
    await watch.ready;
    void client.close();
  });

  it("is not waited for longer than half a second by whoever wants to hear of changes", async () => {
    const { client, clock } = await opening();
    const watch = client.changes({ tools: true });
    await clock.advanceAsync(500);
    await watch.ready;
    void client.close();
  });

  it("leaves out an event that is too large, and goes on", async () => {
    const { http, client, warn } = await httpLegacy({}, { limits: { ...clientLimits, maxMessageBytes: 100_000 } });
    const changes = client.changes({ tools: true });
    const stream = (await http.expect("GET")).stream();
    stream.raw(`data: ${"x".repeat(200_000)}\n\n`);
    stream.say(said("notifications/tools/list_changed"));
    expect(await changes[Symbol.asyncIterator]().next()).toMatchObject({ value: { kind: "tools" } });
    expect(warn).toHaveBeenCalledOnce();
  });
});

async function nextAnswer(http: Awaited<ReturnType<typeof httpLegacy>>["http"]) {
  for (;;) {
    const request = await http.expect("POST");
    if (request.message.method === undefined) return request;
  }
}
