import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Server } from "node:http";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { JsonObject } from "../../src/json/json.ts";
import { metaKeys } from "../../src/protocol/meta.ts";
import { revisions } from "../../src/protocol/revision.ts";
import { createManualClock, type ManualClock } from "../../src/testing/clock.ts";
import { type HttpServeHandle, type ServeHttpOptions, serveHttp } from "../../src/transport/node/serve-http.ts";
import { callOf, modernCall, modernRequest } from "../support/fake-endpoint.ts";
import { createHttpService, type HttpService } from "../support/http-service.ts";
import { patiently } from "../support/patience.ts";
import {
  createRawClient,
  openRawSession,
  type RawAnswer,
  type RawClient,
  type RawHeaders,
  type RawSession,
} from "../support/raw-http.ts";
import { gate, hello, notification, request } from "../support/served.ts";

// Our server over real sockets, and clients that send every byte themselves.
// Each contract of the HTTP transport has a test of its name.

const MiB = 1_048_576;
const page = "https://app.example";

const extra: HttpServeHandle[] = [];
let serving: HttpServeHandle;
let client: RawClient;
let service: HttpService;

beforeAll(async () => {
  service = createHttpService();
  serving = await serveHttp(service.server, { port: 0, allowedOrigins: [page] });
  client = createRawClient(serving.port);
});
afterEach(async () => {
  await Promise.all(extra.splice(0).map((one) => one.close()));
});
afterAll(() => serving.close());

/** Another server, for one test. */
async function another(options: ServeHttpOptions) {
  const own = createHttpService();
  const one = await serveHttp(own.server, { port: 0, ...options });
  extra.push(one);
  return { ...own, serving: one, client: createRawClient(one.port) };
}

const refused = (message: string, code = -32600): JsonObject => ({ jsonrpc: "2.0", error: { code, message } });

function expectRefusal(answer: RawAnswer, status: number, body: JsonObject): void {
  expect([answer.status, answer.messages]).toEqual([status, [body]]);
  expect(answer.headers["content-type"]).toBe("application/json");
}

function expectLimit(answer: RawAnswer, status: number, reached: JsonObject): void {
  const data = { reason: "limit-reached", ...reached, retryAfterMs: 1_000 };
  expect([answer.status, answer.headers["retry-after"]]).toEqual([status, "1"]);
  expect(answer.messages).toMatchObject([{ error: { code: -32603, data } }]);
}

const ping = request(1, "ping");
const echo = modernCall(1, "echo", { text: "x" });
const sendEcho = (headers: RawHeaders = {}): Promise<RawAnswer> =>
  client.request({ body: echo.body, headers: { ...echo.headers, ...headers } });

describe("C95: where it listens", () => {
  it("is this machine only, unless it is said", async () => {
    const { serving: one } = await another({});
    expect(one.url).toBe(`http://127.0.0.1:${one.port}/mcp`);
  });

  it.each(["0.0.0.0", "::", "192.0.2.1", "example.com"])("is not %s without the names clients use", async (host) => {
    await expect(serveHttp(service.server, { port: 0, host })).rejects.toMatchObject({ code: "invalid-definition" });
  });

  it("may be every address when the names are given", async () => {
    const { client: other } = await another({ host: "0.0.0.0", allowedHosts: ["mcp.example"] });
    const send = (host: string) => other.request({ body: echo.body, headers: { ...echo.headers, host } });
    expect((await send("mcp.example")).status).toBe(200);
    expect((await send("127.0.0.1")).status).toBe(403);
  });

  it.each([99_999, -1, 1.5])("is not port %d", async (port) => {
    await expect(serveHttp(service.server, { port })).rejects.toMatchObject({
      code: "invalid-definition",
      message: `port must be a number from 0 to 65535, not ${port}; 0 takes a free one`,
    });
  });

  it("is not where something else listens", async () => {
    await expect(serveHttp(service.server, { port: serving.port })).rejects.toMatchObject({
      code: "connection-closed",
      message: `cannot listen on 127.0.0.1:${serving.port}: something else listens there; end it, or choose another port`,
    });
  });
});

describe("C96: the origin", () => {
  const bad = [
    "http://evil.example",
    "http://localhost.evil.example",
    "null",
    "https://app.example.evil.example",
    "http://app.example",
    "https://app.example:444",
  ];

  it.each(bad)("%s is refused, whatever it wants", async (origin) => {
    const body = refused(`origin "${origin}" is not allowed; list it in allowedOrigins`);
    for (const method of ["POST", "GET", "DELETE", "OPTIONS", "PUT"]) {
      const answer = await client.request({ method, headers: { origin } });
      expectRefusal(answer, 403, body);
      expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
    }
    expectRefusal(await client.request({ path: "/other", headers: { origin } }), 403, body);
  });

  it("edge 21: may be absent, the server's own, or listed", async () => {
    for (const origin of [undefined, `http://127.0.0.1:${serving.port}`, page]) {
      expect((await sendEcho({ origin })).status).toBe(200);
    }
  });

  it("of two is refused", async () => {
    expect((await sendEcho({ origin: [page, "http://evil.example"] })).status).toBe(403);
  });
});

describe("C97: CORS", () => {
  it("echoes an origin that is listed, on answers, refusals and streams, and never says *", async () => {
    const session = await openRawSession(client);
    const answers = [
      await sendEcho({ origin: page }),
      await client.request({ body: "{oops", headers: { origin: page } }),
      await client.request({ method: "PUT", headers: { origin: page } }),
      await client.request({ body: callOf(1, "count", { n: 1 }), headers: { ...session.headers, origin: page } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 405, 200]);
    for (const { headers } of answers) {
      expect(headers["access-control-allow-origin"]).toBe(page);
      expect(headers.vary).toBe("origin");
    }
  });

  it("says nothing to who is no page", async () => {
    const { headers } = await sendEcho();
    expect(headers).not.toHaveProperty("access-control-allow-origin");
    expect(headers.vary).toBe("origin");
  });

  it("answers a preflight with what may be sent", async () => {
    const { status, headers, body } = await client.request({
      method: "OPTIONS",
      headers: {
        origin: page,
        "access-control-request-method": "POST",
        "access-control-request-headers": "mcp-param-x",
      },
    });
    expect([status, body, headers["access-control-allow-origin"]]).toEqual([204, "", page]);
    expect(headers["access-control-allow-headers"]).toMatch(/authorization.*mcp-session-id.*mcp-param-x/);
    expect(headers).not.toHaveProperty("access-control-allow-credentials");
  });
});

describe("C98: the host", () => {
  it.each(["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "169.254.169.254"])(
    "%s is refused",
    async (host) => {
      expectRefusal(await sendEcho({ host }), 403, refused(`host "${host}" is not allowed; list it in allowedHosts`));
    },
  );

  it("must be stated once: nobody else may go by another one", async () => {
    const { socket, until } = await client.socket();
    socket.write("POST /mcp HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\ncontent-length: 0\r\n\r\n");
    expect(await until((text) => text.endsWith("}"))).toContain("HTTP/1.1 403");
    socket.destroy();
  });

  it.each(["localhost", "127.0.0.1:9", "[::1]:3000", "LOCALHOST:1"])("%s is this machine", async (host) => {
    expect((await sendEcho({ host })).status).toBe(200);
  });
});

describe("C99: a POST", () => {
  it("of a notification or an answer is accepted with 202 and nothing", async () => {
    const session = await openRawSession(client);
    for (const message of [notification("notifications/x"), { jsonrpc: "2.0", id: 5, result: {} }]) {
      const { status, body, headers } = await session.post(message);
      expect([status, body, headers["content-length"]]).toEqual([202, "", "0"]);
    }
  });

  it("of a request is answered by one JSON body", async () => {
    const { status, headers, messages } = await sendEcho();
    expect([status, headers["content-type"]]).toEqual([200, "application/json"]);
    expect(messages).toMatchObject([{ id: 1, result: { content: [{ text: "x" }] } }]);
  });

  it("of a request that has more to say is answered by a stream", async () => {
    const { body, headers } = modernCall(1, "count", { n: 3 }, { [metaKeys.logLevel]: "info" });
    const answer = await client.request({ body, headers });
    expect(answer.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    expect(answer.messages.map(({ method, id }) => method ?? id)).toEqual([
      ...Array(3).fill("notifications/message"),
      1,
    ]);
  });
});

describe("C100: a malformed body", () => {
  const invalid = Buffer.concat([
    Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'),
    Buffer.of(0xff, 0xfe),
    Buffer.from('"}'),
  ]);

  it.each<readonly [string, unknown, JsonObject]>([
    ["garbage", "{oops", refused("parse error: not valid JSON", -32700)],
    ["nothing", "", refused("parse error: not valid JSON", -32700)],
    ["bytes that are no UTF-8", invalid, refused("the body is not valid UTF-8")],
    ["a byte order mark", `\uFEFF${JSON.stringify(ping)}`, refused("parse error: not valid JSON", -32700)],
    ["no message", { jsonrpc: "2.0", id: 4 }, { ...refused('"method" must be a string'), id: 4 }],
    [
      "65 levels",
      `${"[".repeat(65)}${"]".repeat(65)}`,
      refused("parse error: nested deeper than 64 levels (maxJsonDepth)", -32700),
    ],
    [
      "too many values",
      `[${"0,".repeat(262_143)}0]`,
      refused("parse error: more than 262144 values (maxJsonNodes)", -32700),
    ],
  ])("%s is refused once, and the next request works", async (_, body, expected) => {
    const session = await openRawSession(client);
    expectRefusal(await client.request({ body, headers: session.headers }), 400, expected);
    expect((await session.post(ping)).messages).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }]);
  });

  it("is refused once also over one connection", async () => {
    const { socket, until } = await client.socket();
    const send = (body: string) =>
      socket.write(
        `POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n${Object.entries(
          echo.headers,
        )
          .map(([name, value]) => `${name}: ${value}\r\n`)
          .join("")}\r\n${body}`,
      );
    send("{oops");
    await until((text) => text.includes("-32700"));
    send(JSON.stringify(echo.body));
    const text = await until((all) => all.includes('"text":"x"'));
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 400", "HTTP/1.1 200"]);
    socket.destroy();
  });
});

describe("C101: the id of a session", () => {
  it("comes with the result of initialize, and nowhere else", async () => {
    const opened = await client.request({ body: request(0, "initialize", hello("2025-11-25")) });
    expect(opened.headers["mcp-session-id"]).toMatch(/^[\x21-\x7e]{43}$/);
    const failed = await client.request({ body: request(0, "initialize", {}) });
    expect(failed.messages).toMatchObject([{ error: { code: -32602 } }]);
    expect(failed.headers).not.toHaveProperty("mcp-session-id");
    expect((await sendEcho()).headers).not.toHaveProperty("mcp-session-id");
  });
});

describe("C102: a session", () => {
  const missing = refused("header mcp-session-id is missing; open a session with initialize");
  const unknown = refused("there is no such session; open another one with initialize");

  it.each(["POST", "GET", "DELETE"])("must be named by %s, and must be there", async (method) => {
    const body = method === "POST" ? ping : undefined;
    expectRefusal(await client.request({ method, body }), 400, missing);
    expectRefusal(await client.request({ method, body, headers: { "mcp-session-id": "no" } }), 404, unknown);
  });

  it("is not opened under an id that the client chose", async () => {
    const body = request(0, "initialize", hello("2025-11-25"));
    expectRefusal(await client.request({ body, headers: { "mcp-session-id": "mine" } }), 404, unknown);
  });
});

describe("C103: a version that is not supported", () => {
  it("is refused by name, whatever is asked", async () => {
    const session = await openRawSession(client);
    const error = {
      code: -32022,
      message: `unsupported protocol version; use ${revisions.join(", ")}`,
      data: { supported: [...revisions], requested: "2024-01-01" },
    };
    const headers = { ...session.headers, "mcp-protocol-version": "2024-01-01" };
    expectRefusal(await client.request({ body: ping, headers }), 400, { jsonrpc: "2.0", id: 1, error });
    expectRefusal(await client.request({ method: "GET", headers }), 400, { jsonrpc: "2.0", error });
    expectRefusal(await client.request({ method: "DELETE", headers }), 400, { jsonrpc: "2.0", error });
    expect((await session.post(ping)).status).toBe(200);
  });

  it("is that of the session when none is stated", async () => {
    const session = await openRawSession(client, { revision: "2025-03-26" });
    const headers = { ...session.headers, "mcp-protocol-version": undefined };
    expect((await client.request({ body: [ping], headers })).messages).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }]);
  });
});

describe("C104: types", () => {
  const types = "application/json and text/event-stream";

  it.each<readonly [string, RawHeaders, number, string]>([
    ["POST", { accept: "application/json" }, 406, `accept "application/json" must list ${types}`],
    ["POST", { accept: "text/html" }, 406, `accept "text/html" must list ${types}`],
    ["GET", { accept: "application/json" }, 406, 'accept "application/json" must list text/event-stream'],
    [
      "POST",
      { "content-type": "text/plain" },
      415,
      'content-type "text/plain" is not supported; send application/json in utf-8',
    ],
    [
      "POST",
      { "content-type": undefined },
      415,
      "content-type (none) is not supported; send application/json in utf-8",
    ],
    [
      "POST",
      { "content-type": "text/plain; a=application/json" },
      415,
      'content-type "text/plain; a=application/json" is not supported; send application/json in utf-8',
    ],
    ["POST", { "content-encoding": "gzip" }, 415, 'content-encoding "gzip" is not supported; send the body as it is'],
  ])("%s with %o is refused with %d", async (method, headers, status, message) => {
    expectRefusal(
      await client.request({ method, headers, body: method === "POST" ? "{}" : undefined }),
      status,
      refused(message),
    );
  });

  it.each(["*/*", undefined])("POST may accept %s", async (accept) => {
    expect((await sendEcho({ accept })).status).toBe(200);
  });

  it("GET without Accept opens a stream, as everything is accepted then", async () => {
    const session = await openRawSession(client);
    const stream = await client.stream({ method: "GET", headers: { ...session.headers, accept: undefined } });
    expect([stream.status, stream.headers["content-type"]]).toEqual([200, "text/event-stream"]);
    stream.destroy();
  });
});

describe("C105: DELETE", () => {
  it("ends the session with 204, its calls, questions and streams; then it is gone", async () => {
    const session = await openRawSession(client, { capabilities: { elicitation: {} } });
    const news = await session.get();
    const call = await session.call(callOf(1, "ask", { text: "who" }));
    await call.messages.count(1);
    const { status, body } = await session.end();
    expect([status, body]).toEqual([204, ""]);
    expect([await news.over, await call.over]).toEqual(["ended", "ended"]);
    expect(call.messages.items.at(-1)).toMatchObject({ id: 1, error: { code: -32603 } });
    expect((await session.end()).status).toBe(404);
    expect((await session.post(ping)).status).toBe(404);
    expect((await session.get()).status).toBe(404);
  });
});

describe("C106: an idle session", () => {
  const sessionTtlMs = 20;

  /** The status of a request after more than that time. */
  const statusAfterIt = async (session: RawSession, clock: ManualClock): Promise<number> => {
    clock.advance(2 * sessionTtlMs);
    return (await session.post(ping)).status;
  };

  it("expires", async () => {
    const clock = createManualClock();
    const { client: other } = await another({ sessionTtlMs, clock });
    const session = await openRawSession(other);
    clock.advance(sessionTtlMs - 1);
    expect((await session.post(ping)).status).toBe(200);
    expect(await statusAfterIt(session, clock)).toBe(404);
  });

  it("does not while its stream is open", async () => {
    const clock = createManualClock();
    const { client: other } = await another({ sessionTtlMs, clock });
    const [kept, idle] = [await openRawSession(other), await openRawSession(other)];
    const stream = await kept.get();
    expect(await statusAfterIt(idle, clock)).toBe(404);
    expect(await statusAfterIt(kept, clock)).toBe(200);
    stream.destroy();
    // The server hears of it when it does.
    await vi.waitFor(async () => expect(await statusAfterIt(kept, clock)).toBe(404), patiently);
  });
});

it("C107: what one session has set, another does not see", async () => {
  const [quiet, loud] = [await openRawSession(client), await openRawSession(client)];
  await quiet.post(request(1, "logging/setLevel", { level: "emergency" }));
  await loud.post(request(1, "resources/subscribe", { uri: "test://watched" }));
  const streams = [await quiet.get(), await loud.get()] as const;
  const answers = [await quiet.post(callOf(2, "count", { n: 1 })), await loud.post(callOf(2, "count", { n: 1 }))];
  expect(answers.map(({ messages }) => messages.length)).toEqual([1, 2]);
  service.server.resourceUpdated("test://watched");
  await streams[1].messages.find(({ method }) => method === "notifications/resources/updated");
  await quiet.post(ping);
  expect(streams[0].messages.items).toEqual([]);
  for (const stream of streams) stream.destroy();
});

describe("C112: too much", () => {
  const spaces = (bytes: number) => Buffer.alloc(bytes, 0x20);
  const head = (headers: string) =>
    `POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\ncontent-type: application/json\r\n${headers}\r\n\r\n`;

  it("a body of 5 MiB is refused with 413, also by its announced length, and the client can read that", async () => {
    const answer = await client.request({ body: spaces(5 * MiB) });
    expectRefusal(answer, 413, refused(`content-length "${5 * MiB}" is too large; send at most ${4 * MiB} bytes`));
  });

  it("a body of 5 MiB in chunks is refused with 413, and the client can read that", async () => {
    const headers = { "transfer-encoding": "chunked" };
    const answer = await client.request({ body: spaces(5 * MiB), headers });
    expectRefusal(answer, 413, refused(`the body is too large; send at most ${4 * MiB} bytes`));
  });

  it("the connection can be used again after 413", async () => {
    const { socket, until } = await client.socket();
    socket.write(head(`content-length: ${5 * MiB}`));
    socket.write(spaces(5 * MiB));
    await until((text) => text.includes("HTTP/1.1 413"));
    const body = JSON.stringify(echo.body);
    const lines = Object.entries(echo.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(head(`${lines.join("")}content-length: ${body.length}`) + body);
    await until((text) => text.includes("HTTP/1.1 200"));
    socket.destroy();
  });

  it("a body of 4 MiB is read", async () => {
    const text = JSON.stringify(echo.body);
    const body = Buffer.concat([Buffer.from(text), spaces(4 * MiB - text.length)]);
    expect((await client.request({ body, headers: echo.headers })).status).toBe(200);
    const more = Buffer.concat([body, spaces(1)]);
    expect((await client.request({ body: more, headers: echo.headers })).status).toBe(413);
  });

  it.each([
    ["abc", 400],
    ["-1", 400],
    ["1, 2", 400],
  ])("a length of %s is refused", async (length, status) => {
    const text = await client.bytes(head(`content-length: ${length}\r\nconnection: close`));
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  it("headers of more than 16 KiB are refused with 431 (V24)", async () => {
    const text = await client.bytes(head(`x-large: ${"x".repeat(16_384)}`));
    expect(text).toBe("HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n");
  });

  it("a body that does not come is refused with 408; the times are short (V24)", async () => {
    const { client: other } = await another({});
    const seen = gate<Server>();
    const watch = (message: unknown): void => seen.open((message as { server: Server }).server);
    subscribe("http.server.request.start", watch);
    const { socket, closed } = await other.socket();
    socket.write(`${head("content-length: 100")}{`);
    const server = await seen.opened;
    unsubscribe("http.server.request.start", watch);
    expect(server).toMatchObject({
      headersTimeout: 15_000,
      requestTimeout: 60_000,
      keepAliveTimeout: 30_000,
      maxHeadersCount: 100,
    });
    // The connection is looked at every five seconds.
    Object.assign(server, { requestTimeout: 1, headersTimeout: 1 });
    expect(await closed).toBe("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n");
  });

  it("a session too many is refused with 429", async () => {
    const { client: other } = await another({ budgets: { principal: { maxSessions: 1 } } });
    const session = await openRawSession(other);
    const answer = await other.request({ body: request(0, "initialize", hello("2025-11-25")) });
    expectLimit(answer, 429, { limit: "maxSessions", max: 1, scope: "principal" });
    await session.end();
    await openRawSession(other);
  });

  it("a stream too many is refused with 429", async () => {
    const { client: other } = await another({ budgets: { connection: { maxStreams: 1 } } });
    const session = await openRawSession(other);
    const stream = await session.get();
    const answer = await other.request({ method: "GET", headers: session.headers });
    expectLimit(answer, 429, { limit: "maxStreams", max: 1, scope: "connection" });
    stream.destroy();
  });

  it("a call too many is refused with 429, and when to come again", async () => {
    const {
      client: other,
      holding,
      release,
    } = await another({ budgets: { principal: { maxRunningCalls: 1, maxQueuedCalls: 1 } } });
    const hold = modernCall(1, "hold");
    const running = other.request(hold);
    await holding(1);
    // One of them waits, whichever comes first, and the other is answered before it.
    const late = [other.request(hold), other.request(hold)];
    const refusal = await Promise.race(late);
    expectLimit(refusal, 429, { limit: "maxQueuedCalls", max: 1, scope: "principal" });
    release();
    const statuses = (await Promise.all([running, ...late])).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 200, 429]);
  });

  it("a subscription too many is refused with 503", async () => {
    const { client: other } = await another({ budgets: { process: { maxStreams: 1 } } });
    const listen = modernRequest("s", "subscriptions/listen", { notifications: {} });
    const stream = await other.stream(listen);
    expectLimit(await other.request(listen), 503, { limit: "maxStreams", max: 1, scope: "process" });
    stream.destroy();
    await vi.waitFor(async () => {
      const next = await other.stream(listen);
      next.destroy();
      expect(next.status).toBe(200);
    }, patiently);
  });

  it.each(["PUT", "PATCH", "HEAD", "TRACE"])("%s is refused with 405, and what may be used", async (method) => {
    const allow = "GET, POST, DELETE, OPTIONS";
    const answer = await client.request({ method });
    expect([answer.status, answer.headers.allow]).toEqual([405, allow]);
    const body = [refused(`method "${method}" is not served; use one of ${allow}`)];
    expect(answer.messages).toEqual(method === "HEAD" ? [] : body);
  });

  it("another path is refused with 404", async () => {
    expectRefusal(
      await client.request({ path: "/other?a=b" }),
      404,
      refused('nothing is served at "/other"; use /mcp'),
    );
  });
});

describe("C113: a request that is cancelled", () => {
  it("ends with 200 and nothing, or its stream without an answer", async () => {
    const { client: other, holding } = await another({});
    const session = await openRawSession(other, { capabilities: { elicitation: {} } });
    const plain = session.post(callOf(1, "hold"));
    await holding(1);
    const stream = await session.call(callOf(2, "ask", { text: "who" }));
    await stream.messages.count(1);
    for (const requestId of [1, 2]) await session.post(notification("notifications/cancelled", { requestId }));
    const { status, body } = await plain;
    expect([status, body]).toEqual([200, ""]);
    expect(await stream.over).toBe("ended");
    expect(stream.messages.items.filter(({ id }) => id === 2)).toEqual([]);
  });
});

it("C114: a server that hangs up says when to come back, and the call goes on", async () => {
  const { client: other, holding, release } = await another({});
  const session = await openRawSession(other);
  const call = await session.call(callOf(1, "poll"));
  expect(await call.over).toBe("ended");
  expect(call.blocks.items).toEqual([{ id: expect.stringMatching(/^[\w-]{16}-0$/), retry: 1_000 }, { retry: 10 }]);
  await holding(1);
  const resumed = await session.get(call.lastId);
  release();
  expect(await resumed.over).toBe("ended");
  expect(resumed.messages.items).toMatchObject([{ id: 1, result: { content: [{ text: "polled" }] } }]);
});

it("C115: a handler sees the request that brought its call", async () => {
  const session = await openRawSession(client);
  const facts = await Promise.all(
    ["one", "two"].map(async (fact) => {
      const headers = { ...session.headers, "x-fact": fact };
      const { messages } = await client.request({ path: "/mcp?q=1", headers, body: callOf(fact, "facts") });
      return messages;
    }),
  );
  expect(facts).toMatchObject(
    ["one", "two"].map((fact) => [{ id: fact, result: { content: [{ text: `POST /mcp?q=1 ${fact} 127.0.0.1` }] } }]),
  );
});

describe("modern requests and their headers", () => {
  const mismatch = (message: string): JsonObject => ({ jsonrpc: "2.0", id: 1, error: { code: -32020, message } });

  it.each<readonly [string, RawHeaders, string]>([
    ["without the version", { "mcp-protocol-version": undefined }, "the MCP-Protocol-Version header is missing"],
    ["without the method", { "mcp-method": undefined }, "the Mcp-Method header is missing"],
    ["without the name", { "mcp-name": undefined }, "the Mcp-Name header is missing"],
    [
      "with another version",
      { "mcp-protocol-version": "2025-11-25" },
      'the MCP-Protocol-Version header is "2025-11-25", the body says "2026-07-28"',
    ],
    [
      "with another method",
      { "mcp-method": "tools/list" },
      'the Mcp-Method header is "tools/list", the body says "tools/call"',
    ],
    ["with another name", { "mcp-name": "boom" }, 'the Mcp-Name header is "boom", the body says "echo"'],
    [
      "with the name twice",
      { "mcp-name": ["echo", "boom"] },
      'the Mcp-Name header is "echo, boom", the body says "echo"',
    ],
    [
      "edge 14: with bad base64",
      { "mcp-name": "=?base64?!!?=" },
      'the Mcp-Name header is "=?base64?!!?=", the body says "echo"',
    ],
    [
      "edge 14: with a marker in capitals",
      { "mcp-name": "=?BASE64?ZWNobw==?=" },
      'the Mcp-Name header is "=?BASE64?ZWNobw==?=", the body says "echo"',
    ],
  ])("%s are refused with 400 and -32020", async (_, headers, message) => {
    expectRefusal(await sendEcho(headers), 400, mismatch(message));
  });

  it("edge 14: may have a name in base64", async () => {
    expect((await sendEcho({ "mcp-name": "=?base64?ZWNobw==?=" })).status).toBe(200);
  });

  it("edges 1, 2, 4, 11: keep the status of their error", async () => {
    const send = async (method: string, meta: JsonObject | undefined, version = "2026-07-28") => {
      const { body, headers } = modernRequest(1, method, {}, meta ?? {});
      const bare = meta === undefined ? { ...body, params: {} } : body;
      const { status, messages } = await client.request({
        body: bare,
        headers: { ...headers, "mcp-protocol-version": version },
      });
      return [status, (messages[0]?.error as JsonObject | undefined)?.code, messages[0]?.id];
    };
    expect(await send("tools/list", undefined)).toEqual([400, -32602, 1]);
    expect(await send("tools/list", { [metaKeys.protocolVersion]: "2099-01-01" }, "2099-01-01")).toEqual([
      400, -32022, 1,
    ]);
    expect(await send("no/such", {})).toEqual([404, -32601, 1]);
    expect(await send("initialize", {})).toEqual([404, -32601, 1]);
    expect(await send("tools/list", {})).toEqual([200, undefined, 1]);
  });

  it("edge 18: are refused in a batch", async () => {
    const answer = await client.request({ body: [echo.body], headers: echo.headers });
    expectRefusal(answer, 400, refused("batches are not supported; send one message a request"));
  });
});

describe("edge 18: batches of sessions", () => {
  const batch = [callOf(1, "echo", { text: "x" }), notification("notifications/x"), request("2", "ping")];
  let sessions: ReadonlyMap<string, RawSession>;
  beforeAll(async () => {
    const opened = revisions
      .slice(0, -1)
      .map(async (revision) => [revision, await openRawSession(client, { revision })] as const);
    sessions = new Map(await Promise.all(opened));
  });

  it.each(revisions.slice(0, -1))("%s", async (revision) => {
    const answer = await sessions.get(revision)?.post(batch);
    if (revision !== "2025-03-26") {
      return expectRefusal(answer as RawAnswer, 400, refused("batches are not supported; send one message a request"));
    }
    expect(answer?.status).toBe(200);
    expect(JSON.parse(answer?.body ?? "")).toHaveLength(2);
    expect(answer?.messages).toEqual(
      expect.arrayContaining([expect.objectContaining({ id: 1 }), { jsonrpc: "2.0", id: "2", result: {} }]),
    );
  });

  it("do not open with initialize", async () => {
    const first = request(0, "initialize", hello("2025-03-26"));
    const answer = await sessions.get("2025-03-26")?.post([first, ...batch]);
    expectRefusal(answer as RawAnswer, 400, refused("initialize must not be part of a batch"));
    expect((await client.request({ body: [first] })).status).toBe(400);
  });
});

describe("edges 32 and 33: subscriptions", () => {
  it("are acknowledged first, under the id as it was sent, with what is honoured, and carry nothing else", async () => {
    const { client: other, server } = await another({});
    const asked = { toolsListChanged: true, promptsListChanged: true };
    const streams = await Promise.all(
      [1, "1"].map((id) => other.stream(modernRequest(id, "subscriptions/listen", { notifications: asked }))),
    );
    await Promise.all(streams.map(({ messages }) => messages.count(1)));
    await other.request(modernCall(9, "count", { n: 2 }, { [metaKeys.logLevel]: "info" }));
    server.resourceUpdated("test://watched");
    server.tools.remove("bump");
    for (const [index, id] of [1, "1"].entries()) {
      const messages = await streams[index]?.messages.count(2);
      expect(messages).toMatchObject([
        { method: "notifications/subscriptions/acknowledged", params: { notifications: { toolsListChanged: true } } },
        { method: "notifications/tools/list_changed" },
      ]);
      for (const { params } of messages ?? [])
        expect(params).toMatchObject({ _meta: { [metaKeys.subscriptionId]: id } });
    }
    for (const stream of streams) stream.destroy();
  });
});

it("nothing that was sent, and nothing that a handler threw, is printed or told", async () => {
  const printed = vi.spyOn(console, "error").mockImplementation(() => {});
  const secret = "token-that-nobody-may-see";
  const session = await openRawSession(client);
  const headers = { ...session.headers, authorization: `Bearer ${secret}` };
  const answers = [
    await client.request({ body: `{"${secret}`, headers }),
    await client.request({ body: callOf(1, "boom", { secret }), headers }),
    await client.request({ body: callOf(2, "no-such", { secret }), headers }),
    await client.request({ body: { jsonrpc: "2.0", id: 3, method: "x", params: secret }, headers }),
    await client.request({ method: "GET", headers: { ...headers, "mcp-session-id": "unknown" } }),
  ];
  for (const { body } of answers) expect(body).not.toMatch(/token-that|secret-of-the-handler|\.ts:\d/);
  expect(JSON.stringify(printed.mock.calls)).not.toContain(secret);
  expect(printed).not.toHaveBeenCalled();
  printed.mockRestore();
});
