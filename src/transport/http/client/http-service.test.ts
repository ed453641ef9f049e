import { describe, expect, it, vi } from "vitest";
import { httpModern } from "../../../../test/support/http-connected.ts";

const text = (said: string) => ({ resultType: "complete", content: [{ type: "text", text: said }] });
const said = (method: string, params: object) => ({ jsonrpc: "2.0", method, params }) as never;
const answer = (id: unknown, result: object) => ({ jsonrpc: "2.0", id, result }) as never;

describe("a request to a modern server", () => {
  it("C116, items 14, 19: is one POST that says what it is and takes both kinds of answers", async () => {
    const { client, http } = await httpModern();
    const result = client.callTool("größe", { a: 1 });
    const request = await http.expect("tools/call");
    expect(request.headers).toEqual({
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "=?base64?Z3LDtsOfZQ==?=",
    });
    expect(request.message).toMatchObject({ jsonrpc: "2.0", method: "tools/call", params: { name: "größe" } });
    request.result(text("big"));
    expect(await result).toMatchObject({ content: [{ text: "big" }] });
    expect(http.said()).toEqual(["server/discover", "tools/call"]);
  });

  it("has the name of the resource or prompt in a header", async () => {
    const { client, http } = await httpModern();
    void client.readResource("file:///a%20b").catch(() => {});
    expect((await http.expect("resources/read")).headers["mcp-name"]).toBe("file:///a%20b");
    void client.getPrompt("p").catch(() => {});
    expect((await http.expect("prompts/get")).headers["mcp-name"]).toBe("p");
    void client.listTools().catch(() => {});
    expect((await http.expect("tools/list")).headers).not.toHaveProperty("mcp-name");
  });

  it("C117: is answered by a stream, whose notifications belong to it", async () => {
    const { client, http } = await httpModern();
    const first = { onProgress: vi.fn(), onLog: vi.fn() };
    const second = { onProgress: vi.fn(), onLog: vi.fn() };
    const results = [client.callTool("a", {}, first), client.callTool("b", {}, second)];
    const one = await http.expect("tools/call");
    const two = await http.expect("tools/call");
    const [streamOne, streamTwo] = [one.stream(), two.stream()];
    streamTwo.say(said("notifications/message", { level: "info", data: "two" }));
    streamOne.say(said("notifications/progress", { progressToken: one.id, progress: 1 }));
    streamOne.say(said("notifications/message", { level: "info", data: "one" }));
    streamOne.raw(": alive\n\n");
    streamOne.say(answer(one.id, text("A")));
    streamOne.end();
    streamTwo.say(answer(two.id, text("B")));
    streamTwo.end();
    expect(await Promise.all(results)).toMatchObject([{ content: [{ text: "A" }] }, { content: [{ text: "B" }] }]);
    expect(first.onProgress.mock.calls).toEqual([[{ progress: 1 }]]);
    expect(first.onLog.mock.calls).toEqual([[{ level: "info", data: "one" }]]);
    expect(second.onLog.mock.calls).toEqual([[{ level: "info", data: "two" }]]);
    expect(second.onProgress).not.toHaveBeenCalled();
  });

  it("hears what came in one piece with the answer, before the answer", async () => {
    const { client, http } = await httpModern();
    const onProgress = vi.fn();
    const result = client.callTool("a", {}, { onProgress });
    const request = await http.expect("tools/call");
    const event = (message: object) => `data: ${JSON.stringify(message)}\n\n`;
    const progress = said("notifications/progress", { progressToken: request.id, progress: 1 });
    request.stream().raw(event(progress) + event(answer(request.id, text("A"))));
    await result;
    expect(onProgress).toHaveBeenCalledOnce();
  });

  it("is cancelled by letting go of it, and nothing is sent", async () => {
    const { client, http, settled } = await httpModern();
    const abort = new AbortController();
    const results = [
      client.callTool("a", {}, { signal: abort.signal }),
      client.callTool("b", {}, { signal: abort.signal }),
    ];
    const waiting = await http.expect("tools/call");
    const stream = (await http.expect("tools/call")).stream();
    abort.abort();
    for (const result of results) await expect(result).rejects.toMatchObject({ code: "cancelled" });
    await settled();
    expect(waiting.aborted).toBe(true);
    expect(stream.discarded).toBe(true);
    expect(http.said()).toEqual(["server/discover", "tools/call", "tools/call"]);
  });

  it("is let go of when it times out", async () => {
    const { client, http, clock } = await httpModern();
    const result = expect(client.callTool("a", {}, { timeoutMs: 100 })).rejects.toMatchObject({ code: "timeout" });
    const request = await http.expect("tools/call");
    await clock.advanceAsync(100);
    await result;
    expect(request.aborted).toBe(true);
  });

  it("gives nothing back to a server that asks on its stream", async () => {
    const { client, http, settled } = await httpModern();
    const result = client.callTool("a");
    const request = await http.expect("tools/call");
    const stream = request.stream();
    stream.say({ jsonrpc: "2.0", id: 9, method: "ping" });
    stream.say(answer(request.id, text("A")));
    await result;
    await settled();
    expect(http.said()).toEqual(["server/discover", "tools/call"]);
  });

  it("lets go of a stream that its server does not end, after a moment", async () => {
    const { client, http, clock } = await httpModern();
    const result = client.callTool("a");
    const request = await http.expect("tools/call");
    const stream = request.stream();
    stream.say(answer(request.id, text("A")));
    await result;
    await clock.advanceAsync(1_999);
    expect(stream.discarded).toBe(false);
    await clock.advanceAsync(1);
    expect(stream.discarded).toBe(true);
  });

  it("ends with the connection, which lets go of all that is under way", async () => {
    const { client, http, settled } = await httpModern();
    const results = [client.callTool("a"), client.callTool("b"), client.callTool("c")];
    const waiting = await http.expect("tools/call");
    const stream = (await http.expect("tools/call")).stream();
    (await http.expect("tools/call")).error(-32020, "missing", { status: 400 });
    const listing = await http.expect("tools/list");
    const outcomes = results.map((result) => expect(result).rejects.toMatchObject({ code: "connection-closed" }));
    await client.close();
    await Promise.all(outcomes);
    await settled();
    expect([waiting.aborted, stream.discarded, listing.aborted]).toEqual([true, true, true]);
    expect(http.said()).not.toContain("notifications/cancelled");
    await expect(client.callTool("d")).rejects.toMatchObject({ code: "connection-closed" });
    expect(http.said().filter((method) => method === "tools/call")).toHaveLength(3);
  });

  it("takes only its own response: one with the id of another call is ignored", async () => {
    const { client, http } = await httpModern();
    const results = [client.callTool("a"), client.callTool("b")];
    const [one, two] = [await http.expect("tools/call"), await http.expect("tools/call")];
    const [streamOne, streamTwo] = [one.stream(), two.stream()];
    streamOne.say(answer(two.id, text("not B")));
    streamOne.say(answer(one.id, text("A")));
    streamTwo.say(answer(two.id, text("B")));
    expect(await Promise.all(results)).toMatchObject([{ content: [{ text: "A" }] }, { content: [{ text: "B" }] }]);
  });

  it("hears nothing after its outcome", async () => {
    const { client, http, settled } = await httpModern();
    const onLog = vi.fn();
    const result = client.callTool("a", {}, { onLog });
    const request = await http.expect("tools/call");
    const stream = request.stream();
    stream.say(answer(request.id, text("A")));
    stream.say(said("notifications/message", { level: "info", data: "late" }));
    await result;
    await settled();
    expect(onLog).not.toHaveBeenCalled();
  });
});

describe("a subscription to a modern server", () => {
  const meta = (id: unknown) => ({ _meta: { "io.modelcontextprotocol/subscriptionId": id } });

  it("lives on the stream of its request, and ends with it", async () => {
    const { client, http } = await httpModern();
    const changes = client.changes({ tools: true });
    const request = await http.expect("subscriptions/listen");
    const stream = request.stream();
    const acknowledged = "notifications/subscriptions/acknowledged";
    stream.say(said(acknowledged, { notifications: { toolsListChanged: true }, ...meta(request.id) }));
    await changes.ready;
    stream.say(said("notifications/tools/list_changed", meta(request.id)));
    stream.say(answer(request.id, { resultType: "complete", ...meta(request.id) }));
    const heard = [];
    for await (const change of changes) heard.push(change);
    expect(heard).toEqual([{ kind: "tools" }]);
  });

  it("fails when its stream breaks", async () => {
    const { client, http } = await httpModern();
    const changes = client.changes({ tools: true });
    (await http.expect("subscriptions/listen")).stream().break();
    await expect(changes.ready).rejects.toMatchObject({ code: "connection-closed" });
  });

  it("is closed by letting go of its request", async () => {
    const { client, http, settled } = await httpModern();
    const changes = client.changes({ tools: true });
    const request = await http.expect("subscriptions/listen");
    const stream = request.stream();
    stream.say(
      said("notifications/subscriptions/acknowledged", {
        notifications: { toolsListChanged: true },
        ...meta(request.id),
      }),
    );
    await changes.ready;
    await changes[Symbol.asyncDispose]();
    await settled();
    expect(stream.discarded).toBe(true);
    expect(http.said()).toEqual(["server/discover", "subscriptions/listen"]);
  });

  it("is over when the server cancels it, and the stream is let go of", async () => {
    const { client, http, clock } = await httpModern();
    const changes = client.changes({ tools: true });
    const request = await http.expect("subscriptions/listen");
    const stream = request.stream();
    stream.say(
      said("notifications/subscriptions/acknowledged", {
        notifications: { toolsListChanged: true },
        ...meta(request.id),
      }),
    );
    await changes.ready;
    stream.say(said("notifications/cancelled", { requestId: request.id }));
    expect(await changes[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined });
    await clock.advanceAsync(2_000);
    expect(stream.discarded).toBe(true);
  });
});

describe("arguments that headers repeat", () => {
  const region = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } };
  const nested = {
    type: "object",
    properties: { at: { type: "object", properties: { zone: { type: "integer", "x-mcp-header": "Zone" } } } },
  };
  const bad = { type: "object", properties: { a: { type: "number", "x-mcp-header": "A" } } };
  const list = (...tools: readonly object[]) => ({ resultType: "complete", tools }) as never;

  it("items 15, 17: are learned from the list of tools", async () => {
    const { client, http } = await httpModern();
    const listed = client.listTools();
    (await http.expect("tools/list")).result(
      list({ name: "a", inputSchema: region }, { name: "b", inputSchema: nested }, { name: "c", inputSchema: {} }),
    );
    await listed;
    const call = async (name: string, args: object) => {
      client.callTool(name, args as never).catch(() => {});
      const { headers } = await http.expect("tools/call");
      return Object.fromEntries(Object.entries(headers).filter(([key]) => key.startsWith("mcp-param-")));
    };
    expect(await call("a", { region: "eu west" })).toEqual({ "mcp-param-region": "eu west" });
    expect(await call("a", { region: "a\r\nx: 1" })).toEqual({ "mcp-param-region": "=?base64?YQ0KeDogMQ==?=" });
    expect(await call("a", { region: null })).toEqual({});
    expect(await call("b", { at: { zone: 7 } })).toEqual({ "mcp-param-zone": "7" });
    expect(await call("c", { region: "x" })).toEqual({});
  });

  it("cost a tool its place in the list when they are wrong, and only that tool", async () => {
    const { client, http, warn } = await httpModern();
    const listed = client.listTools();
    (await http.expect("tools/list")).result(
      list({ name: "good", inputSchema: region }, { name: "bad", inputSchema: bad }),
    );
    expect((await listed).map(({ name }) => name)).toEqual(["good"]);
    expect(warn.mock.calls).toEqual([
      [{ kind: "tool-left-out", message: expect.stringMatching(/^tool "bad" is left out: inputSchema.*/) }],
    ]);
  });

  it("are looked up anew, on all pages, when the server misses one; then the call is made once more", async () => {
    const { client, http } = await httpModern();
    const onProgress = vi.fn();
    const result = client.callTool("a", { region: "eu" }, { onProgress });
    const first = await http.expect("tools/call");
    first.error(-32020, "the header is missing", { status: 400 });
    const page = await http.expect("tools/list");
    expect(page.headers["mcp-method"]).toBe("tools/list");
    expect(page.message.params).toEqual({ _meta: { ...metaOf(first), progressToken: undefined } });
    page.result({ ...(list({ name: "x", inputSchema: {} }) as object), nextCursor: "" } as never);
    const next = await http.expect("tools/list");
    expect(next.message.params).toMatchObject({ cursor: "" });
    next.result(list({ name: "a", inputSchema: region }));
    const again = await http.expect("tools/call");
    expect(again.headers["mcp-param-region"]).toBe("eu");
    expect(again.message.params).toEqual(first.message.params);
    expect(new Set([first.id, page.id, next.id, again.id]).size).toBe(4);
    const stream = again.stream();
    stream.say(said("notifications/progress", { progressToken: first.id, progress: 1 }));
    stream.say(answer(again.id, text("done")));
    expect(await result).toMatchObject({ content: [{ text: "done" }] });
    expect(onProgress).toHaveBeenCalledOnce();
  });

  it("are not looked up twice for one call", async () => {
    const { client, http } = await httpModern();
    const result = client.callTool("a", { region: "eu" });
    (await http.expect("tools/call")).error(-32020, "missing", { status: 400 });
    (await http.expect("tools/list")).result(list());
    (await http.expect("tools/call")).error(-32020, "still missing", { status: 400 });
    await expect(result).rejects.toMatchObject({ code: "header-mismatch", message: "still missing" });
    expect(http.said()).toEqual(["server/discover", "tools/call", "tools/list", "tools/call"]);
  });

  it("are looked up once for calls that fail together", async () => {
    const { client, http } = await httpModern();
    const results = [client.callTool("a"), client.callTool("a")];
    (await http.expect("tools/call")).error(-32020, "missing", { status: 400 });
    (await http.expect("tools/call")).error(-32020, "missing", { status: 400 });
    (await http.expect("tools/list")).result(list({ name: "a", inputSchema: region }));
    (await http.expect("tools/call")).result(text("1"));
    (await http.expect("tools/call")).result(text("2"));
    await Promise.all(results);
    expect(http.said().filter((method) => method === "tools/list")).toHaveLength(1);
  });
});

function metaOf({ message }: { readonly message: { readonly params?: unknown } }): object {
  return (message.params as { _meta: object })._meta;
}
