import { describe, expect, it } from "vitest";
import { discovered, welcome } from "../../../../test/support/connected.ts";
import type { FakeRequest } from "../../../../test/support/fake-http.ts";
import { freshUrl, httpConnecting } from "../../../../test/support/http-connected.ts";

const json = { "content-type": "application/json" };

describe("a server at a URL that is asked what it is", () => {
  it("and answers, is modern", async () => {
    const { http, client } = httpConnecting();
    const probe = await http.expect("server/discover");
    expect(probe.headers).toMatchObject({ "mcp-protocol-version": "2026-07-28", "mcp-method": "server/discover" });
    probe.result(discovered());
    expect((await client).revision).toBe("2026-07-28");
    expect(http.said()).toEqual(["server/discover"]);
  });

  it("and speaks older revisions only, is greeted", async () => {
    const { http, client } = httpConnecting();
    (await http.expect("server/discover")).result(discovered(["2025-06-18"]));
    const hello = await http.expect("initialize");
    expect(hello.message.params).toMatchObject({ protocolVersion: "2025-06-18" });
    hello.result(welcome("2025-06-18"));
    expect((await client).revision).toBe("2025-06-18");
  });

  it("and answers 400 with -32022, stays modern", async () => {
    const { http, client } = httpConnecting();
    const data = { supported: ["2026-07-28"], requested: "2026-07-28" };
    (await http.expect("server/discover")).error(-32022, "?", { status: 400, data });
    (await http.expect("server/discover")).result(discovered());
    expect((await client).revision).toBe("2026-07-28");
    expect(http.said()).toEqual(["server/discover", "server/discover"]);
  });

  it.each([-32020, -32021])("and answers 400 with %i, fails with that", async (code) => {
    const { http, client } = httpConnecting();
    (await http.expect("server/discover")).error(code, "?", { status: 400 });
    await expect(client).rejects.toMatchObject({ message: expect.stringContaining(": ?; tried server/discover") });
    expect(http.said()).toEqual(["server/discover"]);
  });

  it.each<[what: string, answer: (request: FakeRequest) => void]>([
    ["400 and nothing", (request) => request.reply(400)],
    ["400 and a page", (request) => request.reply(400, { "content-type": "text/html" }, "<html>")],
    ["400 and -32000", (request) => request.error(-32000, "no session", { status: 400, id: null })],
    ["404", (request) => request.reply(404)],
    ["404 and -32601", (request) => request.error(-32601, "?", { status: 404 })],
    ["405", (request) => request.reply(405)],
    ["406", (request) => request.reply(406)],
    ["415", (request) => request.reply(415)],
    ["422", (request) => request.reply(422, json, "{}")],
    ["200 and -32601", (request) => request.error(-32601)],
    ["200 and -32601 on a stream", (request) => request.stream().say(methodNotFound(request))],
    ["202", (request) => request.reply(202)],
  ])("and answers %s, is greeted", async (_what, answer) => {
    const { http, client } = httpConnecting();
    answer(await http.expect("server/discover"));
    const hello = await http.expect("initialize");
    expect(hello.message.params).toMatchObject({ protocolVersion: "2025-11-25" });
    expect(hello.headers).not.toHaveProperty("mcp-protocol-version");
    hello.result(welcome("2025-11-25"));
    expect((await client).revision).toBe("2025-11-25");
  });

  it.each([401, 403, 408, 429, 502, 503])("and answers %i, has not said what it is", async (status) => {
    const { http, client } = httpConnecting();
    (await http.expect("server/discover")).reply(status);
    const codes: Readonly<Record<number, string>> = { 401: "unauthorized", 429: "limit-reached" };
    await expect(client).rejects.toMatchObject({ code: codes[status] ?? "http-error", data: { status } });
    expect(http.said()).toEqual(["server/discover"]);
  });

  it.each<[what: string, answer: (request: FakeRequest) => void]>([
    ["500", (request) => request.reply(500)],
    ["501", (request) => request.reply(501)],
    ["500 and -32603", (request) => request.error(-32603, "down", { status: 500 })],
  ])("and fails on that with %s, is greeted, and nothing is learned of it", async (_what, fail) => {
    const url = freshUrl();
    for (let n = 1; n <= 2; n++) {
      const { http, client } = httpConnecting({}, { url });
      fail(await http.expect("server/discover"));
      (await http.expect("initialize")).result(welcome("2025-11-25"));
      expect((await client).revision).toBe("2025-11-25");
      expect(http.said().slice(0, 2)).toEqual(["server/discover", "initialize"]);
    }
  });

  it("and fails on both, fails with what it said last", async () => {
    const { http, client } = httpConnecting();
    (await http.expect("server/discover")).error(-32603, "down", { status: 500 });
    (await http.expect("initialize")).error(-32603, "still down", { status: 500 });
    await expect(client).rejects.toMatchObject({ code: "internal", message: expect.stringContaining("still down") });
    expect(http.said()).toEqual(["server/discover", "initialize"]);
  });

  it("and is not there, has not said what it is", async () => {
    const { http, client } = httpConnecting();
    (await http.expect("server/discover")).fail(new Error("down"));
    await expect(client).rejects.toMatchObject({ code: "connection-closed" });
    expect(http.said()).toEqual(["server/discover"]);
  });

  it("and stays silent, is greeted too, and legacy if it takes that", async () => {
    const { http, client, clock } = httpConnecting();
    await http.expect("server/discover");
    await clock.advanceAsync(3_000);
    (await http.expect("initialize")).result(welcome("2025-11-25"), { "mcp-session-id": "a" });
    const initialized = await http.expect("notifications/initialized");
    expect(initialized.headers).toMatchObject({ "mcp-session-id": "a" });
    expect((await client).revision).toBe("2025-11-25");
  });

  it("and answers late, is modern if it does not know initialize: calls say so", async () => {
    const { http, client, clock } = httpConnecting();
    const probe = await http.expect("server/discover");
    await clock.advanceAsync(3_000);
    (await http.expect("initialize")).error(-32601, "no", { status: 404 });
    await clock.advanceAsync(10_000);
    probe.result(discovered());
    expect((await client).revision).toBe("2026-07-28");
    void (await client).callTool("a").catch(() => {});
    const { headers } = await http.expect("tools/call");
    expect(headers).toMatchObject({ "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call" });
  });

  it("and answers late, is modern at once, whatever becomes of the greeting", async () => {
    const { http, client, clock } = httpConnecting();
    const probe = await http.expect("server/discover");
    await clock.advanceAsync(3_000);
    const hello = await http.expect("initialize");
    probe.result(discovered());
    expect((await client).revision).toBe("2026-07-28");
    hello.result(welcome("2025-11-25"), { "mcp-session-id": "a" });
    const call = (await client).callTool("a");
    const { headers, result } = await http.expect("tools/call");
    expect(headers).not.toHaveProperty("mcp-session-id");
    result({ resultType: "complete", content: [] });
    await call;
    const closed = (await client).close();
    (await http.expect("DELETE")).reply(200);
    await closed;
    expect(http.said()).toEqual(["server/discover", "initialize", "tools/call", "DELETE"]);
  });

  it("and stays silent on everything, is given up in time", async () => {
    const { http, client, clock } = httpConnecting({ connectTimeoutMs: 10_000 });
    const probe = await http.expect("server/discover");
    await clock.advanceAsync(10_000);
    await expect(client).rejects.toMatchObject({ code: "timeout" });
    expect(http.said()).toEqual(["server/discover", "initialize"]);
    expect(probe.aborted).toBe(true);
  });

  it("is let go of when connecting is cancelled", async () => {
    const abort = new AbortController();
    const { http, client } = httpConnecting({ signal: abort.signal });
    const probe = await http.expect("server/discover");
    abort.abort();
    await expect(client).rejects.toMatchObject({ code: "cancelled" });
    expect(probe.aborted).toBe(true);
  });
});

describe("a server that does not take initialize either", () => {
  const toInitialize = async (status: number) => {
    const connecting = httpConnecting();
    (await connecting.http.expect("server/discover")).reply(status);
    (await connecting.http.expect("initialize")).reply(status);
    return connecting;
  };

  it.each([400, 404, 405, 406, 415, 422, 501])("but says %i, is asked for the stream of 2024-11-05", async (status) => {
    const { http, client, url } = await toInitialize(status);
    const get = await http.expect("GET");
    expect(get.url).toBe(url);
    expect(get.headers).toEqual({ accept: "text/event-stream" });
    const stream = get.stream();
    stream.raw("event: endpoint\ndata: /messages?session=1\n\n");
    const hello = await http.expect("initialize");
    expect(hello.url.href).toBe("http://127.0.0.1:3000/messages?session=1");
    hello.reply(202);
    stream.say({ jsonrpc: "2.0", id: hello.id, result: welcome("2025-03-26") });
    expect((await client).revision).toBe("2025-03-26");
  });

  it("is asked for the newest revision over HTTP+SSE, and speaks what it answers (I7)", async () => {
    for (const revision of ["2025-11-25", "2024-11-05"]) {
      const { http, client } = await toInitialize(405);
      const stream = (await http.expect("GET")).stream();
      stream.raw("event: endpoint\ndata: /messages\n\n");
      const hello = await http.expect("initialize");
      expect(hello.message.params).toMatchObject({ protocolVersion: "2025-11-25" });
      hello.reply(202);
      stream.say({ jsonrpc: "2.0", id: hello.id, result: welcome(revision) });
      expect((await client).revision).toBe(revision);
    }
  });

  it("and has no stream, fails with the first error and says what was tried (X15)", async () => {
    const { http, client } = await toInitialize(404);
    (await http.expect("GET")).reply(405);
    await expect(client).rejects.toMatchObject({
      code: "http-error",
      message:
        "cannot connect to the server: the server answered 404 Not Found; tried server/discover (0 ms), " +
        "initialize 2025-11-25 (0 ms), initialize 2025-11-25 over HTTP+SSE (0 ms: the server answered 405 Method Not Allowed)",
      data: {
        status: 404,
        attempts: [
          { opening: "server/discover", answer: "the server answered 404 Not Found", ms: 0 },
          { opening: "initialize 2025-11-25", answer: "the server answered 404 Not Found", ms: 0 },
          {
            opening: "initialize 2025-11-25 over HTTP+SSE",
            answer: "the server answered 405 Method Not Allowed",
            ms: 0,
          },
        ],
      },
    });
  });

  it.each([401, 403, 409, 500])("but says %i, fails with that", async (status) => {
    const { http, client } = httpConnecting();
    (await http.expect("server/discover")).reply(400);
    (await http.expect("initialize")).reply(status);
    await expect(client).rejects.toMatchObject({ data: { status } });
    expect(http.said()).toEqual(["server/discover", "initialize"]);
  });

  it.each([
    [400, -32022],
    [400, -32020],
    [404, -32601],
  ])("but says %i with %i, is modern: no stream is asked for", async (status, code) => {
    const { http, client } = httpConnecting();
    (await http.expect("server/discover")).reply(404);
    (await http.expect("initialize")).error(code, "no", { status });
    await expect(client).rejects.toMatchObject({ message: expect.stringContaining(": no; tried server/discover") });
    expect(http.said()).toEqual(["server/discover", "initialize"]);
  });

  it("is not asked for a stream where only Streamable HTTP is wanted", async () => {
    const { http, client } = httpConnecting({}, { transport: "streamable" });
    (await http.expect("server/discover")).reply(404);
    (await http.expect("initialize")).reply(404);
    await expect(client).rejects.toMatchObject({ data: { status: 404 } });
    expect(http.said()).toEqual(["server/discover", "initialize"]);
  });
});

describe("what a server spoke", () => {
  const connectAgain = (url: URL) => httpConnecting({}, { url });

  it("is remembered: a legacy server is not asked twice what it is", async () => {
    const url = freshUrl();
    const first = connectAgain(url);
    (await first.http.expect("server/discover")).reply(400);
    (await first.http.expect("initialize")).result(welcome("2025-11-25"));
    await first.client;
    const second = connectAgain(new URL(`${url}?other=query`));
    (await second.http.expect("initialize")).result(welcome("2025-11-25"));
    await second.client;
    expect(second.http.said()[0]).toBe("initialize");
  });

  it("is forgotten when it does not hold any more", async () => {
    const url = freshUrl();
    const first = connectAgain(url);
    (await first.http.expect("server/discover")).reply(400);
    (await first.http.expect("initialize")).result(welcome("2025-11-25"));
    await first.client;
    const second = httpConnecting({}, { url });
    (await second.http.expect("initialize")).error(-32601, "no", { status: 404 });
    (await second.http.expect("server/discover")).result(discovered());
    expect((await second.client).revision).toBe("2026-07-28");
  });

  it("is remembered of HTTP+SSE too", async () => {
    const url = freshUrl();
    const open = async ({ http, client }: ReturnType<typeof httpConnecting>) => {
      const stream = (await http.expect("GET")).stream();
      stream.raw("event: endpoint\ndata: /post\n\n");
      const hello = await http.expect("initialize");
      stream.say({ jsonrpc: "2.0", id: hello.id, result: welcome("2024-11-05") });
      return client;
    };
    const first = connectAgain(url);
    (await first.http.expect("server/discover")).reply(404);
    (await first.http.expect("initialize")).reply(404);
    await open(first);
    const second = connectAgain(url);
    await open(second);
    expect(second.http.said()).toEqual(["GET", "initialize", "notifications/initialized"]);
  });

  it("is not learned from a pinned revision", async () => {
    const url = freshUrl();
    const first = httpConnecting({ revision: "2025-11-25" }, { url });
    (await first.http.expect("initialize")).result(welcome("2025-11-25"));
    await first.client;
    const second = connectAgain(url);
    (await second.http.expect("server/discover")).result(discovered());
    expect((await second.client).revision).toBe("2026-07-28");
  });
});

function methodNotFound({ id }: FakeRequest) {
  return { jsonrpc: "2.0", id, error: { code: -32601, message: "?" } };
}
