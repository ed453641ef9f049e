import { describe, expect, it } from "vitest";
import { welcome } from "../../../test/support/connected.ts";
import type { FakeHttp } from "../../../test/support/fake-http.ts";
import { httpLegacy } from "../../../test/support/http-connected.ts";
import { eventually } from "../../../test/support/patience.ts";

const text = (said: string) => ({ content: [{ type: "text", text: said }] });
const session = (id: string) => ({ "mcp-session-id": id });

/** Does the server's part of opening a second session. */
async function reopen(http: FakeHttp, id = "s2") {
  const hello = await http.expect("initialize");
  hello.result(welcome("2025-11-25"), session(id));
  const initialized = await http.expect("notifications/initialized");
  initialized.reply(202);
  const get = await http.expect("GET");
  return { hello, initialized, get };
}

describe("C120: a session that the server has lost", () => {
  it("is opened again with what it was opened with, without its id, and the request is sent once more", async () => {
    const { http, client } = await httpLegacy();
    const [before] = http.requests;
    const result = client.callTool("a", { x: 1 });
    const lost = await http.expect("tools/call");
    lost.error(-32001, "session not found", { status: 404, id: null });
    const { hello, initialized, get } = await reopen(http);
    get.reply(405);
    expect(hello.message.params).toEqual(before?.message.params);
    expect(hello.headers).toEqual(before?.headers);
    expect(initialized.headers).toMatchObject(session("s2"));
    const again = await http.expect("tools/call");
    expect(again.headers).toMatchObject(session("s2"));
    expect(again.message).toEqual(lost.message);
    again.result(text("A"));
    expect(await result).toMatchObject(text("A"));
    expect(http.said()).toEqual([
      "initialize",
      "notifications/initialized",
      "GET",
      "tools/call",
      "initialize",
      "notifications/initialized",
      "GET",
      "tools/call",
    ]);
  });

  it("gets no call before the stream of the new one is open (I9)", async () => {
    const { http, client, settled } = await httpLegacy();
    client.callTool("a").catch(() => {});
    (await http.expect("tools/call")).reply(404);
    const { get } = await reopen(http);
    client.callTool("b").catch(() => {});
    await settled();
    expect(http.said().slice(-2)).toEqual(["notifications/initialized", "GET"]);
    get.stream();
    await settled();
    expect(http.said().slice(-2)).toEqual(["tools/call", "tools/call"]);
  });

  it("surfaces when the new one is lost at once", async () => {
    const { http, client } = await httpLegacy();
    const result = client.callTool("a");
    result.catch(() => {});
    (await http.expect("tools/call")).reply(404);
    (await reopen(http)).get.reply(405);
    (await http.expect("tools/call")).reply(404);
    await expect(result).rejects.toMatchObject({ code: "http-error", data: { status: 404 } });
    expect(http.said().filter((method) => method === "initialize")).toHaveLength(2);
  });

  it("is opened once for all who have lost it; who comes meanwhile waits", async () => {
    const { http, client, settled } = await httpLegacy();
    const results = [client.callTool("a"), client.callTool("b")];
    (await http.expect("tools/call")).reply(404);
    const late = await http.expect("tools/call");
    const hello = await http.expect("initialize");
    late.reply(404);
    results.push(client.callTool("c"));
    await settled();
    expect(http.said().filter((method) => method === "tools/call")).toHaveLength(2);
    hello.result(welcome("2025-11-25"), session("s2"));
    (await http.expect("notifications/initialized")).reply(202);
    (await http.expect("GET")).reply(405);
    for (let i = 0; i < 3; i++) {
      const request = await http.expect("tools/call");
      expect(request.headers).toMatchObject(session("s2"));
      request.result(text((request.message.params as { name: string }).name));
    }
    expect(await Promise.all(results)).toMatchObject([text("a"), text("b"), text("c")]);
    expect(http.said().filter((method) => method === "initialize")).toHaveLength(2);
  });

  it("is opened again for later losses too", async () => {
    const { http, client } = await httpLegacy();
    for (const id of ["s2", "s3"]) {
      const result = client.callTool("a");
      (await http.expect("tools/call")).reply(404);
      (await reopen(http, id)).get.reply(405);
      const again = await http.expect("tools/call");
      expect(again.headers).toMatchObject(session(id));
      again.result(text("A"));
      await result;
    }
  });

  it("knows the log level and the subscriptions again, and has a stream again", async () => {
    const { http, client, settled } = await httpLegacy();
    (await http.expect("GET")).stream();
    const level = client.setLogLevel("error");
    (await http.expect("logging/setLevel")).result({});
    await level;
    const watch = client.watch("file:///a");
    (await http.expect("resources/subscribe")).result({});
    await watch.ready;
    const gone = client.watch("file:///b");
    (await http.expect("resources/subscribe")).result({});
    await gone.ready;
    await gone[Symbol.asyncDispose]();
    (await http.expect("resources/unsubscribe")).result({});
    await settled();

    client.callTool("a").catch(() => {});
    (await http.expect("tools/call")).reply(404);
    const stream = (await reopen(http)).get.stream();
    const restored = [await http.expect("POST"), await http.expect("POST"), await http.expect("POST")];
    expect(restored.map(({ message }) => [message.method, message.params])).toEqual(
      expect.arrayContaining([
        ["logging/setLevel", { level: "error" }],
        ["resources/subscribe", { uri: "file:///a" }],
        ["tools/call", { name: "a", arguments: {} }],
      ]),
    );
    for (const request of restored) expect(request.headers).toMatchObject(session("s2"));
    stream.say({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: "file:///a" } });
    expect(await watch[Symbol.asyncIterator]().next()).toMatchObject({ value: { uri: "file:///a" } });
  });

  it("is a warning when the server does not take what it knew before", async () => {
    const { http, client, warn, settled } = await httpLegacy();
    const level = client.setLogLevel("error");
    (await http.expect("logging/setLevel")).result({});
    await level;
    client.callTool("a").catch(() => {});
    (await http.expect("tools/call")).reply(404);
    (await reopen(http)).get.reply(405);
    (await http.expect("logging/setLevel")).error(-32603, "no");
    await settled();
    expect(warn).toHaveBeenCalledWith(expect.objectContaining({ kind: "not-honoured" }));
  });

  it("fails its requests when no other can be opened, and says both", async () => {
    const { http, client } = await httpLegacy();
    const result = client.callTool("a");
    result.catch(() => {});
    (await http.expect("tools/call")).reply(404);
    (await http.expect("initialize")).reply(500);
    await expect(result).rejects.toMatchObject({
      code: "http-error",
      message: expect.stringMatching(/lost the session, and no other could be opened: .*500/),
      data: { status: 500 },
    });
  });

  it("is not opened again in another revision", async () => {
    const { http, client } = await httpLegacy();
    const result = client.callTool("a");
    result.catch(() => {});
    (await http.expect("tools/call")).reply(404);
    (await http.expect("initialize")).result(welcome("2025-03-26"), session("s2"));
    await expect(result).rejects.toMatchObject({ code: "unsupported-revision" });
  });

  it("is noticed by its stream too, and waits for nobody to call", async () => {
    const { http, clock } = await httpLegacy();
    (await http.expect("GET")).stream().end();
    await clock.advanceAsync(250);
    (await http.expect("GET")).reply(404);
    expect((await reopen(http)).get.headers).toMatchObject(session("s2"));
  });

  it("is noticed by a notification, which is sent once more", async () => {
    const { http, client } = await httpLegacy({ roots: [] });
    client.setRoots([{ uri: "file:///a" }]);
    (await http.expect("notifications/roots/list_changed")).reply(404);
    (await reopen(http)).get.reply(405);
    const again = await http.expect("notifications/roots/list_changed");
    expect(again.headers).toMatchObject(session("s2"));
  });

  it("is not what a server without sessions means by 404", async () => {
    const { http, client } = await httpLegacy({}, {}, {});
    const result = client.callTool("a");
    result.catch(() => {});
    (await http.expect("tools/call")).reply(404);
    await expect(result).rejects.toMatchObject({ code: "http-error", data: { status: 404 } });
    expect(http.said().filter((method) => method === "initialize")).toHaveLength(1);
  });

  it("is not what a server means that does not know the method", async () => {
    const { http, client } = await httpLegacy();
    const result = client.request("made/up");
    result.catch(() => {});
    (await http.expect("made/up")).error(-32601, "what?", { status: 404 });
    await expect(result).rejects.toMatchObject({ code: "method-not-found" });
    expect(http.said().filter((method) => method === "initialize")).toHaveLength(1);
  });

  it("is not waited for by a client that is closed", async () => {
    const { http, client } = await httpLegacy();
    const result = client.callTool("a");
    result.catch(() => {});
    (await http.expect("tools/call")).reply(404);
    const hello = await http.expect("initialize");
    void client.close();
    await expect(result).rejects.toMatchObject({ code: "connection-closed" });
    await eventually(() => expect(hello.aborted).toBe(true));
  });

  it("opens no stream for a client that was closed meanwhile", async () => {
    const { http, client, settled } = await httpLegacy();
    (await http.expect("GET")).stream();
    client.callTool("a").catch(() => {});
    (await http.expect("tools/call")).reply(404);
    (await http.expect("initialize")).result(welcome("2025-11-25"), session("s2"));
    await http.expect("notifications/initialized");
    void client.close();
    expect((await http.expect("DELETE")).headers).toMatchObject(session("s2"));
    await settled();
    expect(http.said().filter((method) => method === "GET")).toHaveLength(1);
  });
});
