import { describe, expect, it, vi } from "vitest";
import { callOf, type FakeEndpoint, messagesOf, serveFake } from "../../../test/support/fake-endpoint.ts";
import { createFakeReply, type FakeReply, fakeHead } from "../../../test/support/fake-reply.ts";
import { createHttpService } from "../../../test/support/http-service.ts";
import { eventually } from "../../../test/support/patience.ts";
import { gate, hello, notification, request } from "../../../test/support/served.ts";
import { readBlocks } from "../../../test/support/sse-text.ts";
import type { JsonObject } from "../../json/json.ts";
import { AuthenticatedHttp } from "../../protocol/authenticator.ts";
import type { Service } from "../../protocol/service.ts";
import type { HttpOptions } from "../../transport/http/options.ts";

const TTL = 1_800_000;

const serve = (options: HttpOptions = {}) => {
  const service = createHttpService();
  return { ...service, ...serveFake(service.server, options) };
};

const refused = (message: string) => ({ jsonrpc: "2.0", error: { code: -32600, message } });
const noSession = refused("there is no such session; open another one with initialize");
const initialize = (id = 0, revision = "2025-11-25") => request(id, "initialize", hello(revision));
const isThere = ({ post }: FakeEndpoint, session: Readonly<Record<string, string>>): boolean =>
  post(request(99, "ping"), session).sent?.status === 200;

describe("opening a session", () => {
  it("C101: gives an id that nobody can guess, with the result of initialize only", async () => {
    const { open, post } = serve();
    const ids = await Promise.all(Array.from({ length: 50 }, async () => (await open())["mcp-session-id"]));
    expect(new Set(ids).size).toBe(50);
    for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{43}$/);

    const refusal = post(request(0, "initialize", {}));
    await refusal.begun;
    expect(refusal.sent?.headers).not.toHaveProperty("mcp-session-id");
    expect(messagesOf(refusal)).toMatchObject([{ id: 0, error: { code: -32602 } }]);
    const call = post(request(1, "ping"), { "mcp-session-id": ids[0] ?? "" });
    expect(call.sent?.headers).not.toHaveProperty("mcp-session-id");
  });

  it("C102: does not take an id that the client has chosen", () => {
    const reply = serve().post(initialize(), { "mcp-session-id": "mine" });
    expect(reply.sent?.status).toBe(404);
    expect(messagesOf(reply)).toEqual([noSession]);
  });

  it("is done once", async () => {
    const { open, post } = serve();
    const reply = post(initialize(5), await open());
    expect(messagesOf(reply)).toMatchObject([{ id: 5, error: { code: -32600, message: "already initialized" } }]);
  });

  it.each([
    ["2024-11-05", "2024-11-05"],
    ["2025-03-26", "2025-03-26"],
    ["2025-06-18", "2025-06-18"],
    ["2025-11-25", "2025-11-25"],
    ["2026-07-28", "2025-11-25"],
    ["1999-01-01", "2025-11-25"],
  ])("edge 24: offers to a client of %s the revision %s", async (asked, offered) => {
    const reply = serve().post(initialize(0, asked));
    await reply.begun;
    expect(messagesOf(reply)).toMatchObject([{ result: { protocolVersion: offered } }]);
  });

  it("fails with the service, and leaves nothing behind", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    let works = false;
    const { server } = createHttpService();
    const service: Service = (call) => {
      if (!works && call.method === "server/discover") throw new Error("secret");
      return server(call);
    };
    const { post, open } = serveFake(service, { budgets: { process: { maxSessions: 1 } } });
    const reply = post(initialize());
    await reply.begun;
    expect(reply.sent?.headers).not.toHaveProperty("mcp-session-id");
    expect(messagesOf(reply)).toEqual([{ jsonrpc: "2.0", id: 0, error: { code: -32603, message: "internal error" } }]);
    works = true;
    await open();
    error.mockRestore();
  });

  it("C101: fails when what the service says is no JSON, and leaves nothing behind", async () => {
    const { server } = createHttpService();
    let works = false;
    const service = (async (call: Parameters<Service>[0]) => {
      const outcome = await server(call);
      if (works || outcome.kind !== "complete" || call.method !== "server/discover") return outcome;
      return { ...outcome, result: { ...outcome.result, instructions: 1n } };
    }) as unknown as Service;
    const { post, open } = serveFake(service, { budgets: { process: { maxSessions: 1 } } });
    const reply = post(initialize());
    await reply.begun;
    expect(reply.sent?.headers).not.toHaveProperty("mcp-session-id");
    expect(messagesOf(reply)).toMatchObject([{ id: 0, error: { code: -32603 } }]);
    works = true;
    await open();
  });

  it("C101: gives the id also when the service is slow to say what it is", async () => {
    const { server } = createHttpService();
    const ready = gate();
    const service = (async (call: Parameters<Service>[0]) => {
      if (call.method === "server/discover") await ready.opened;
      return server(call);
    }) as Service;
    const { post, clock } = serveFake(service);
    const reply = post(initialize());
    await clock.advanceAsync(60_000);
    ready.open();
    await reply.begun;
    expect((reply.sent?.headers ?? reply.head)?.["mcp-session-id"]).toMatch(/^.{43}$/);
  });
});

describe("C102: requests of a session", () => {
  it.each(["POST", "GET", "DELETE"])("%s needs its id", (method) => {
    const { request: send } = serve();
    const body = method === "POST" ? JSON.stringify(request(1, "ping")) : "";
    const without = send(method, body);
    expect(without.sent?.status).toBe(400);
    expect(messagesOf(without)).toEqual([refused("header mcp-session-id is missing; open a session with initialize")]);
    const wrong = send(method, body, { "mcp-session-id": "wrong" });
    expect(wrong.sent?.status).toBe(404);
    expect(messagesOf(wrong)).toEqual([noSession]);
  });

  it.each<readonly [string, unknown]>([
    ["a notification", notification("notifications/cancelled", { requestId: 7 })],
    ["an answer", { jsonrpc: "2.0", id: 7, result: {} }],
    ["an error", { jsonrpc: "2.0", id: 7, error: { code: 1, message: "no" } }],
  ])("C99: %s is accepted with 202 and nothing", async (_, message) => {
    const { post, open } = serve();
    expect(post(message, await open()).sent).toEqual({ status: 202, headers: {}, body: "" });
  });

  it("before initialized are refused, but for ping", async () => {
    const { post } = serve();
    const opened = post(initialize());
    await opened.begun;
    const session = { "mcp-session-id": opened.sent?.headers["mcp-session-id"] ?? "" };
    expect(messagesOf(post(request(1, "ping"), session))).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }]);
    expect(messagesOf(post(request(2, "tools/list"), session))).toMatchObject([{ id: 2, error: { code: -32600 } }]);
  });
});

describe("edge 18: batches", () => {
  const batch = [
    callOf(1, "echo", { text: "one" }),
    notification("notifications/x"),
    { jsonrpc: "2.0", id: 77, result: {} },
    callOf(2, "echo", { text: "two" }),
    { jsonrpc: "2.0", id: 3 },
  ];

  it("are answered in one array to clients of 2025-03-26", async () => {
    const { post, open } = serve();
    const reply = post(batch, await open("2025-03-26"));
    await reply.begun;
    expect(reply.sent?.status).toBe(200);
    expect([...messagesOf(reply)].sort((a, b) => Number(a.id) - Number(b.id))).toMatchObject([
      { id: 1, result: { content: [{ text: "one" }] } },
      { id: 2, result: { content: [{ text: "two" }] } },
      { id: 3, error: { code: -32600 } },
    ]);
  });

  it("are accepted when there is nothing to answer", async () => {
    const { post, open } = serve();
    expect(post(batch.slice(1, 3), await open("2025-03-26")).sent).toEqual({ status: 202, headers: {}, body: "" });
  });

  it.each(["2024-11-05", "2025-06-18", "2025-11-25"])("are refused to clients of %s", async (revision) => {
    const { post, open } = serve();
    const reply = post(batch, await open(revision));
    expect(reply.sent?.status).toBe(400);
    expect(messagesOf(reply)).toEqual([refused("batches are not supported; send one message a request")]);
  });

  it("are refused with initialize in them", async () => {
    const { post, open } = serve();
    const reply = post([initialize(5), ...batch], await open("2025-03-26"));
    expect(reply.sent?.status).toBe(400);
    expect(messagesOf(reply)).toEqual([refused("initialize must not be part of a batch")]);
  });

  it("open no session", () => {
    expect(serve().post([initialize()]).sent?.status).toBe(400);
  });
});

describe("C105: DELETE", () => {
  it("ends the session, its calls and its streams", async () => {
    const { post, get, open, request: send, holding, held } = serve();
    const session = await open();
    const call = post(callOf(1, "hold"), session);
    const stream = get(session);
    await holding(1);
    expect(send("DELETE", "", session).sent).toEqual({ status: 204, headers: {}, body: "" });
    await call.begun;
    expect(messagesOf(call)).toMatchObject([{ id: 1, error: { code: -32603 } }]);
    expect(held[0]?.aborted).toBe(true);
    expect(stream.sink?.state).toBe("ended");
    expect(send("DELETE", "", session).sent?.status).toBe(404);
    expect(post(request(1, "ping"), session).sent?.status).toBe(404);
  });

  it("takes back what the client was asked", async () => {
    const { post, open, request: send } = serve();
    const session = await open("2025-11-25", { elicitation: {} });
    const call = post(callOf(1, "ask", { text: "who" }), session);
    await call.begun;
    send("DELETE", "", session);
    expect(messagesOf(call).at(-1)).toMatchObject({ id: 1, error: { code: -32603 } });
    expect(call.sink?.state).toBe("ended");
  });
});

describe("C106: idle sessions", () => {
  it("end after half an hour, and every request gives them another", async () => {
    const served = serve();
    const { open, clock, post, settled } = served;
    const [busy, idle] = [await open(), await open()];
    for (let quarter = 0; quarter < 8; quarter++) {
      await clock.advanceAsync(TTL / 4);
      if (quarter < 4) expect(isThere(served, busy)).toBe(true);
      else post(notification("notifications/x"), busy);
    }
    await settled();
    expect(post(notification("notifications/x"), idle).sent?.status).toBe(404);
    expect(isThere(served, busy)).toBe(true);
    await clock.advanceAsync(1.25 * TTL);
    expect(isThere(served, busy)).toBe(false);
  });

  it("do not end before their time", async () => {
    const served = serve({ sessionTtlMs: 1_000 });
    const session = await served.open();
    await served.clock.advanceAsync(999);
    expect(isThere(served, session)).toBe(true);
  });

  it.each<
    readonly [string, (http: ReturnType<typeof serve>, session: { "mcp-session-id": string }) => { leave(): void }]
  >([
    [
      "a call runs",
      ({ post, release }, session) => {
        post(callOf(1, "hold"), session);
        return { leave: release };
      },
    ],
    ["a stream is open", ({ get }, session) => get(session)],
  ])("do not end while %s", async (_, begin) => {
    const served = serve({ keepAliveMs: 0 });
    const session = await served.open();
    const { leave } = begin(served, session);
    await served.clock.advanceAsync(5 * TTL);
    expect(isThere(served, session)).toBe(true);
    leave();
    await served.settled();
    await served.clock.advanceAsync(1.5 * TTL);
    expect(isThere(served, session)).toBe(false);
  });

  it("leave no timer when all are gone", async () => {
    const { open, clock, request: send } = serve({ keepAliveMs: 0 });
    send("DELETE", "", await open());
    await clock.advanceAsync(TTL);
    expect(clock.pending).toBe(0);
  });

  it("never end when that is off", async () => {
    const served = serve({ sessionTtlMs: 0, keepAliveMs: 0 });
    const session = await served.open();
    await served.clock.advanceAsync(100 * TTL);
    expect(isThere(served, session)).toBe(true);
  });
});

const limitReached = (limit: string, max: number, scope = "principal") => ({
  reason: "limit-reached",
  limit,
  max,
  scope,
  retryAfterMs: 1_000,
});

describe("bounds", () => {
  it("C112: one session too many is refused with 429, until one ends", async () => {
    const { open, post, request: send } = serve({ budgets: { principal: { maxSessions: 2 } } });
    const [session] = [await open(), await open()];
    const reply = post(initialize());
    expect(reply.sent).toMatchObject({ status: 429, headers: { "retry-after": "1" } });
    expect(messagesOf(reply)).toMatchObject([{ id: 0, error: { code: -32603, data: limitReached("maxSessions", 2) } }]);
    send("DELETE", "", session);
    await open();
    expect(post(initialize()).sent?.status).toBe(429);
  });

  it("C112: there is room again when the time of sessions is over, however many there were", async () => {
    const { open, post, clock } = serve({
      budgets: { principal: { maxSessions: 10_000 } },
      keepAliveMs: 0,
      sessionTtlMs: 60_000,
    });
    for (let n = 0; n < 10_000; n++) {
      const reply = post(initialize());
      await reply.begun;
    }
    expect(post(initialize()).sent?.status).toBe(429);
    clock.advance(59_999);
    expect(post(initialize()).sent?.status).toBe(429);
    await clock.advanceAsync(15_001);
    await open();
  });

  it("sessions count with all that is kept of their clients, until they end (S9)", async () => {
    const { post, request: send, endpoint, settled } = serve({ budgets: { principal: { maxHeldBytes: 5_000_000 } } });
    const clientInfo = { name: "x".repeat(1_000_000), version: "1" };
    const large = () => post(request(0, "initialize", { ...hello("2025-11-25"), clientInfo }));
    const replies = [large(), large(), large()];
    await Promise.all(replies.map(({ begun }) => begun));
    await settled();
    expect(replies.map(({ sent }) => sent?.status)).toEqual([200, 200, 429]);
    expect(messagesOf(replies[2] as FakeReply)).toMatchObject([
      { id: 0, error: { data: limitReached("maxHeldBytes", 5_000_000) } },
    ]);
    expect(endpoint.status().held).toMatchObject({ sessions: 2 });
    expect(endpoint.status().held.heldBytes).toBeGreaterThan(4_000_000);
    for (const reply of replies.slice(0, 2))
      send("DELETE", "", { "mcp-session-id": reply.sent?.headers["mcp-session-id"] ?? "" });
    expect(endpoint.status().held).toMatchObject({ sessions: 0, heldBytes: 0 });
  });

  it("a session ends a minute after it was opened unless its client says that it is ready (S9)", async () => {
    const { open, post, clock, endpoint } = serve({ keepAliveMs: 0 });
    const silent = post(initialize());
    await silent.begun;
    const session = { "mcp-session-id": silent.sent?.headers["mcp-session-id"] ?? "" };
    const ready = await open();
    await clock.advanceAsync(59_999);
    expect([post(request(1, "ping"), session).sent?.status, endpoint.status().held.sessions]).toEqual([200, 2]);
    await clock.advanceAsync(1);
    expect(endpoint.status().held.sessions).toBe(1);
    expect([post(request(2, "ping"), session).sent?.status, post(request(2, "ping"), ready).sent?.status]).toEqual([
      404, 200,
    ]);
  });

  it("sessions that are about to open count", async () => {
    const { post } = serve({ budgets: { process: { maxSessions: 2 } } });
    const replies = [post(initialize()), post(initialize()), post(initialize())];
    await Promise.all(replies.map(({ begun }) => begun));
    expect(replies.map(({ sent }) => sent?.status)).toEqual([200, 200, 503]);
  });

  it("one stream too many is refused with 429, until one ends", async () => {
    const { open, get } = serve({ budgets: { connection: { maxStreams: 2 } } });
    const session = await open();
    const first = get(session);
    get(session);
    const reply = get(session);
    expect(reply.sent).toMatchObject({ status: 429, headers: { "retry-after": "1" } });
    const data = limitReached("maxStreams", 2, "connection");
    expect(messagesOf(reply)).toMatchObject([{ error: { code: -32603, data } }]);
    first.leave();
    expect(get(session).sink).toBeDefined();
  });

  it("one request too many is refused under its id", async () => {
    const { open, post, holding } = serve({ budgets: { connection: { maxOpenRequests: 1 } } });
    const session = await open();
    post(callOf(1, "hold"), session);
    await holding(1);
    expect(messagesOf(post(callOf(2, "echo", { text: "x" }), session))).toMatchObject([
      { id: 2, error: { code: -32603, data: limitReached("maxOpenRequests", 1, "connection") } },
    ]);
  });
});

it("nobody finds the session of another, and hears no difference to one that is not there", async () => {
  const { endpoint } = serve();
  const as = (principal: string | undefined, headers: Record<string, string>, method = "POST") => {
    const head = fakeHead(headers, method);
    const reply = createFakeReply();
    const known = principal === undefined ? head : new AuthenticatedHttp(head, { principal }, new Set());
    const message = "mcp-session-id" in headers ? request(1, "ping") : initialize();
    endpoint.handle(known, method === "POST" ? JSON.stringify(message) : "", reply);
    return reply;
  };
  const opened = as("ann", {});
  await opened.begun;
  const session = { "mcp-session-id": opened.sent?.headers["mcp-session-id"] ?? "" };
  const none = { "mcp-session-id": "x".repeat(43) };
  for (const method of ["POST", "GET", "DELETE"]) {
    expect(as("bob", session, method).sent?.status).toBe(404);
    expect(as("bob", session, method).sent).toEqual(as("bob", none, method).sent);
    expect(as(undefined, session, method).sent).toEqual(as("bob", none, method).sent);
  }
  expect(as("ann", session).sent?.status).toBe(200);
});

describe("C107: sessions do not share", () => {
  it("ids of requests, or events", async () => {
    const { open, post, get } = serve();
    const [one, other] = [await open(), await open()];
    const calls = [post(callOf(1, "count", { n: 1 }), one), post(callOf(1, "count", { n: 2 }), other)] as const;
    await eventually(() => expect(calls.map(({ sink }) => sink?.state)).toEqual(["ended", "ended"]));
    expect(messagesOf(calls[0]).length).toBe(2);
    expect(messagesOf(calls[1]).length).toBe(3);
    const third = await open();
    const stolen = get({ ...third, "last-event-id": "1-0" });
    expect(messagesOf(stolen)).toMatchObject([{ method: "notifications/replay_truncated" }]);
  });

  it("calls: neither a cancellation nor an equal id reaches one of another session (V4)", async () => {
    const { open, post, holding, held, release, settled } = serve();
    const [ann, bob] = [await open(), await open()];
    const call = post(callOf(7, "hold"), ann);
    await holding(1);
    post(notification("notifications/cancelled", { requestId: 7 }), bob);
    await settled();
    expect(held.map(({ aborted }) => aborted)).toEqual([false]);
    const other = post(callOf(7, "echo", { text: "x" }), bob);
    await eventually(() => expect(messagesOf(other)).toMatchObject([{ id: 7, result: { content: [{ text: "x" }] } }]));
    release();
    await eventually(() => expect(messagesOf(call)).toMatchObject([{ id: 7, result: expect.anything() }]));
  });

  it("events: the Last-Event-ID of one session finds nothing in another (V6)", async () => {
    const { open, post, get, settled } = serve();
    const [ann, bob] = [await open(), await open()];
    const call = post(callOf(1, "count", { n: 2 }), ann);
    await eventually(() => expect(call.sink?.state).toBe("ended"));
    const [id = ""] = readBlocks(call.sink?.text ?? "").flatMap((block) => block.id ?? []);
    const replies = [ann, bob].map((session) => get({ ...session, "last-event-id": id }));
    await Promise.all(replies.map(({ begun }) => begun));
    await settled();
    const [own, stolen] = replies.map(messagesOf);
    expect(own?.at(-1)).toMatchObject({ id: 1, result: expect.anything() });
    expect(stolen).toMatchObject([{ method: "notifications/replay_truncated" }]);
  });

  it("log levels and subscriptions", async () => {
    const { open, post, get, server, settled } = serve();
    const [quiet, loud] = [await open(), await open()];
    post(request(1, "logging/setLevel", { level: "error" }), quiet);
    post(request(2, "resources/subscribe", { uri: "test://watched" }), loud);
    await settled();
    const streams = [get(quiet), get(loud)] as const;
    const calls = [post(callOf(3, "count", { n: 1 }), quiet), post(callOf(3, "count", { n: 1 }), loud)] as const;
    await settled();
    server.resourceUpdated("test://watched");
    await settled();
    expect(messagesOf(calls[0]).map(({ method }) => method)).toEqual([undefined]);
    expect(messagesOf(calls[1]).map(({ method }) => method)).toEqual(["notifications/message", undefined]);
    expect(messagesOf(streams[0])).toEqual([]);
    expect(messagesOf(streams[1])).toMatchObject([{ method: "notifications/resources/updated" }]);
  });
});

describe("the streams of a session", () => {
  it.each([
    ["2025-11-25", [{ id: expect.stringMatching(/^n-0-0-[0-9a-f]{8}$/), retry: 1_000 }]],
    ["2025-06-18", []],
  ])("open for a client of %s with what it understands", async (revision, blocks) => {
    const { open, get } = serve();
    const { sink, head } = get(await open(revision));
    expect(head).toMatchObject({ "content-type": "text/event-stream" });
    expect(readBlocks(sink?.text ?? "")).toEqual(blocks);
  });

  it("C105: a client that was gone before its stream could open does not keep its session", async () => {
    const served = serve({ keepAliveMs: 0 });
    const session = await served.open();
    const reply = createFakeReply();
    reply.leave();
    served.endpoint.handle(fakeHead(session, "GET"), "", reply);
    await served.clock.advanceAsync(2 * TTL);
    expect(isThere(served, session)).toBe(false);
  });

  it("edge 25: carry no answers, unless one is resumed", async () => {
    const { open, get, post, settled } = serve();
    const session = await open();
    const news = get(session);
    const call = post(callOf(1, "count", { n: 3 }), session);
    await settled();
    expect(messagesOf(news)).toEqual([]);
    const ids = readBlocks(call.sink?.text ?? "").map(({ id }) => id ?? "");
    const resumed = get({ ...session, "last-event-id": ids[2] ?? "" });
    expect(messagesOf(resumed)).toEqual(messagesOf(call).slice(2));
    expect(messagesOf(resumed).at(-1)).toMatchObject({ id: 1, result: {} });
    expect(resumed.sink?.state).toBe("ended");
  });

  it("edge 12: the end of a connection ends no call; notifications/cancelled does", async () => {
    const { open, post, holding, held, settled } = serve();
    const session = await open();
    const call = post(callOf(1, "hold"), session);
    const other = post(callOf(2, "hold"), session);
    await holding(2);
    call.leave();
    await settled();
    expect(held.map(({ aborted }) => aborted)).toEqual([false, false]);
    post(notification("notifications/cancelled", { requestId: 2 }), session);
    await settled();
    expect(held.map(({ aborted }) => aborted)).toEqual([false, true]);
    expect(other.sent).toMatchObject({ status: 200, body: "" });
  });
});

it("10,000 cancels against answers: no answer twice, and nothing is left", async () => {
  const { open, post, settled, endpoint } = serve();
  const session = await open();
  const replies = [];
  for (let id = 0; id < 10_000; id++) {
    replies.push(post(callOf(id, "echo", { text: "x" }), session));
    if (id % 3 === 0) await Promise.resolve();
    post(notification("notifications/cancelled", { requestId: id }), session);
    if (id % 100 === 0) await settled();
  }
  await settled();
  const answers = replies.map(messagesOf);
  expect(answers.every((messages, id) => messages.length === 0 || messages[0]?.id === id)).toBe(true);
  expect(answers.every((messages) => messages.length <= 1)).toBe(true);
  expect(replies.every(({ sent }) => sent?.status === 200)).toBe(true);
  await endpoint.close();
});

it("has the same to say over streams only", async () => {
  const { open, post } = serve({ respondWith: "sse" });
  const session = await open();
  const reply = post(callOf(1, "echo", { text: "x" }), session);
  await reply.begun;
  expect(reply.sent?.headers["content-type"]).toBe("text/event-stream");
  const [message] = messagesOf(reply) as readonly [JsonObject];
  expect(message).toMatchObject({ id: 1, result: { content: [{ text: "x" }] } });
});
