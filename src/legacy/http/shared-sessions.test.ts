import { describe, expect, it, vi } from "vitest";
import { callOf, messagesOf, serveFake } from "../../../test/support/fake-endpoint.ts";
import { type FakeNode, serveFakeNodes } from "../../../test/support/fake-nodes.ts";
import { createFakeReply, type FakeReply, fakeHead } from "../../../test/support/fake-reply.ts";
import { createHttpService } from "../../../test/support/http-service.ts";
import { eventually } from "../../../test/support/patience.ts";
import { hello, notification, request } from "../../../test/support/served.ts";
import { readBlocks } from "../../../test/support/sse-text.ts";
import type { JsonObject } from "../../json/json.ts";
import { AuthenticatedHttp } from "../../protocol/authenticator.ts";
import type { Service } from "../../protocol/service.ts";
import { createServer, tool } from "../../server/index.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { StoreError } from "../../store/store.ts";
import { createManualClock } from "../../testing/clock.ts";
import type { HttpOptions } from "../../transport/http/options.ts";

const TTL = 120_000;
type Session = { readonly "mcp-session-id": string };

const serve = (options: HttpOptions = {}) => {
  const served = serveFakeNodes(options);
  const [a, b, c] = served.nodes;
  const send = async (node: FakeNode, message: unknown, session: Session): Promise<FakeReply> => {
    const reply = node.post(message, session);
    await reply.begun;
    if (reply.sink !== undefined) await eventually(() => expect(reply.sink?.state).toBe("ended"));
    await served.settled();
    return reply;
  };
  return { ...served, a, b, c, send };
};

const ids = (reply: FakeReply) =>
  readBlocks(reply.sink?.text ?? "").flatMap(({ id }) => (id === undefined ? [] : [id]));
const methods = (reply: FakeReply) => messagesOf(reply).map(({ method }) => method);
const away = new StoreError("unavailable", "the store is away");

describe("a session", () => {
  it("goes on in any process, from its first request on", async () => {
    const { a, b, c, send } = serve();
    const opened = a.post(request(0, "initialize", hello("2025-11-25")));
    await opened.begun;
    const session = { "mcp-session-id": opened.sent?.headers["mcp-session-id"] ?? "" };
    expect(messagesOf(await send(b, request(1, "ping"), session))).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }]);
    expect(messagesOf(await send(c, request(2, "tools/list"), session))).toMatchObject([{ error: { code: -32600 } }]);
    expect((await send(b, notification("notifications/initialized"), session)).sent?.status).toBe(202);
    for (const [id, node] of [a, b, c].entries()) {
      const reply = await send(node, callOf(id, "echo", { text: "here" }), session);
      expect(messagesOf(reply)).toMatchObject([{ id, result: { content: [{ text: "here" }] } }]);
    }
  });

  it("outlives the process that opened it", async () => {
    const { a, b, send } = serve();
    const session = await a.open();
    await a.endpoint.close();
    expect((await send(b, request(1, "tools/list"), session)).sent?.status).toBe(200);
  });

  it("C101: is not given an id before it is kept", async () => {
    const { a } = serve();
    await a.open();
    a.store.fault = away;
    const opened = a.post(request(0, "initialize", hello("2025-11-25")));
    await opened.begun;
    expect(opened.sent).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    expect(opened.sent?.headers).not.toHaveProperty("mcp-session-id");
  });

  it("C101: is not kept when what the service says is no JSON", async () => {
    const clock = createManualClock();
    const store = memoryStore({ clock });
    const { server } = createHttpService();
    const service = (async (call: Parameters<Service>[0]) => {
      const outcome = await server(call);
      if (outcome.kind !== "complete" || call.method !== "server/discover") return outcome;
      return { ...outcome, result: { ...outcome.result, instructions: 1n } };
    }) as unknown as Service;
    const { post, endpoint } = serveFake(service, { clock, store });
    const put = vi.spyOn(store.values, "put");
    const reply = post(request(0, "initialize", hello("2025-11-25")));
    await reply.begun;
    expect(reply.sent?.headers).not.toHaveProperty("mcp-session-id");
    expect(messagesOf(reply)).toMatchObject([{ id: 0, error: { code: -32603 } }]);
    expect(put).not.toHaveBeenCalled();
    await endpoint.close();
  });

  it("keeps its log level everywhere, from the answer on", async () => {
    const { a, b, send } = serve();
    const session = await a.open();
    await send(b, request(1, "ping"), session);
    await send(a, request(2, "logging/setLevel", { level: "error" }), session);
    expect(methods(await send(b, callOf(3, "count", { n: 2 }), session))).toEqual([undefined]);
    await send(b, request(4, "logging/setLevel", { level: "info" }), session);
    expect(methods(await send(a, callOf(5, "count", { n: 1 }), session))).toEqual(["notifications/message", undefined]);
  });

  it("does not answer a change of the log level that was not kept", async () => {
    const { a, send } = serve();
    const session = await a.open();
    const reply = a.post(request(1, "logging/setLevel", { level: "error" }), session);
    await Promise.resolve().then(() => {});
    vi.spyOn(a.store.values, "put").mockRejectedValue(away);
    await reply.begun;
    expect(reply.sent?.status).toBe(503);
    vi.restoreAllMocks();
    expect(methods(await send(a, callOf(2, "count", { n: 1 }), session))).toEqual(["notifications/message", undefined]);
  });

  it("C105: ends everywhere, with its calls and its streams", async () => {
    const { a, b, c, send, settled } = serve();
    const session = await a.open();
    const call = a.post(callOf(1, "hold"), session);
    await a.holding(1);
    const news = b.get(session);
    await settled();
    const ended = c.request("DELETE", "", session);
    await settled();
    expect(ended.sent?.status).toBe(204);
    expect(messagesOf(call)).toMatchObject([{ id: 1, error: { code: -32603 } }]);
    expect(a.held[0]?.aborted).toBe(true);
    expect(news.sink?.state).toBe("ended");
    for (const node of [a, b, c]) expect((await send(node, request(2, "ping"), session)).sent?.status).toBe(404);
    const again = c.request("DELETE", "", session);
    await settled();
    expect(again.sent?.status).toBe(404);
  });
});

describe("C102: requests of a session", () => {
  it.each(["POST", "GET", "DELETE"])("%s needs its id", async (method) => {
    const { a, settled } = serve();
    const body = method === "POST" ? JSON.stringify(request(1, "ping")) : "";
    const replies = [{}, { "mcp-session-id": "x".repeat(43) }, { "mcp-session-id": "x".repeat(5_000) }].map((headers) =>
      a.request(method, body, headers),
    );
    await settled();
    expect(replies.map(({ sent }) => sent?.status)).toEqual([400, 404, 404]);
  });

  it("are refused with 503 while the store is away, never with 404", async () => {
    const { a, settled } = serve();
    const session = await a.open();
    a.store.fault = away;
    const replies = [a.post(request(1, "ping"), session), a.get(session), a.request("DELETE", "", session)];
    await settled();
    for (const { sent } of replies) expect(sent).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    a.store.fault = undefined;
    const reply = a.post(request(2, "ping"), session);
    await settled();
    expect(reply.sent?.status).toBe(200);
  });

  it("are refused with 503 when the store could not be opened", async () => {
    const { a, settled } = serve({ store: Promise.reject(away) });
    const reply = a.post(request(0, "initialize", hello("2025-11-25")));
    await settled();
    expect(reply.sent?.status).toBe(503);
  });

  it("find nothing when the store has lost its data, and the session can be opened anew", async () => {
    const { a, b, store, settled, send } = serve();
    const session = await a.open();
    const news = b.get(session);
    await settled();
    await store.values.delete(`session:${session["mcp-session-id"]}`);
    expect((await send(b, request(1, "ping"), session)).sent?.status).toBe(404);
    expect(news.sink?.state).toBe("ended");
    expect((await send(b, request(1, "ping"), await a.open())).sent?.status).toBe(200);
  });

  it("C106: keep it alive, as calls and streams do; nothing else does", async () => {
    const { a, b, clock, send } = serve({ keepAliveMs: 0, sessionTtlMs: TTL });
    const [used, held, read, idle] = [await a.open(), await a.open(), await a.open(), await a.open()];
    a.post(callOf(1, "hold"), held);
    await a.holding(1);
    b.get(read);
    for (let quarter = 0; quarter < 8; quarter++) {
      await clock.advanceAsync(TTL / 4);
      expect((await send(b, request(quarter, "ping"), used)).sent?.status).toBe(200);
    }
    const statuses = await Promise.all([held, read, idle].map((session) => send(b, request(1, "ping"), session)));
    expect(statuses.map(({ sent }) => sent?.status)).toEqual([200, 200, 404]);
  });

  it("are forgotten soon when the client never says that it is ready", async () => {
    const { a, clock, send } = serve();
    const opened = a.post(request(0, "initialize", hello("2025-11-25")));
    await opened.begun;
    const session = { "mcp-session-id": opened.sent?.headers["mcp-session-id"] ?? "" };
    await clock.advanceAsync(59_000);
    expect((await send(a, request(1, "ping"), session)).sent?.status).toBe(200);
    await clock.advanceAsync(61_000);
    expect(a.endpoint.status().held.sessions).toBe(0);
    expect((await send(a, request(1, "ping"), session)).sent?.status).toBe(404);
  });

  it("are answered in one array to clients of 2025-03-26", async () => {
    const { a, b, send } = serve();
    const session = await a.open("2025-03-26");
    const batch = [callOf(1, "echo", { text: "x" }), request(2, "logging/setLevel", { level: "error" })];
    const answers = messagesOf(await send(b, batch, session));
    expect(answers.map(({ id }) => id).toSorted()).toEqual([1, 2]);
    expect(methods(await send(a, callOf(3, "count", { n: 2 }), session))).toEqual([undefined]);
    expect((await send(b, batch, await a.open("2025-11-25"))).sent?.status).toBe(400);
  });

  it("C112: one session too many is refused with 429", async () => {
    const { a, settled } = serve({ budgets: { principal: { maxSessions: 1 } } });
    await a.open();
    const reply = a.post(request(0, "initialize", hello("2025-11-25")));
    await settled();
    expect(reply.sent?.status).toBe(429);
  });

  it("one session too many of one caller is refused, whichever processes have the others (S9, H9)", async () => {
    const { a, b, settled } = serve({ budgets: { principal: { maxSessions: 2 } } });
    await a.open();
    await b.open();
    for (const node of [a, b]) {
      const reply = node.post(request(7, "initialize", hello("2025-11-25")));
      await settled();
      expect(reply.sent?.status).toBe(429);
      expect(messagesOf(reply)).toMatchObject([{ id: 7, error: { data: { limit: "maxSessions", max: 2 } } }]);
    }
    expect(a.endpoint.status().held.sessions).toBe(1);
  });

  it("subscriptions of all sessions of a caller count, whichever processes took them (S10)", async () => {
    const { a, b, send, settled } = serve({ budgets: { principal: { maxSubscriptions: 2 } } });
    const [one, two] = [await a.open(), await b.open()];
    const call = async (node: FakeNode, method: string, uri: string, session: Session) =>
      messagesOf(await send(node, request(1, method, { uri }), session))[0]?.error;
    expect(await call(a, "resources/subscribe", "test://1", one)).toBeUndefined();
    expect(await call(b, "resources/subscribe", "test://1", two)).toBeUndefined();
    const refused = { data: { limit: "maxSubscriptions", max: 2, scope: "principal" } };
    expect(await call(a, "resources/subscribe", "test://2", two)).toMatchObject(refused);
    b.get(one);
    await settled();
    expect([a, b].map(({ endpoint }) => endpoint.status().held.subscriptions)).toEqual([0, 1]);
    expect(b.endpoint.status().held.heldBytes).toBeGreaterThan(1_024);
    expect(await call(b, "resources/unsubscribe", "test://1", one)).toBeUndefined();
    await settled();
    expect(b.endpoint.status().held.subscriptions).toBe(0);
    expect(await call(a, "resources/subscribe", "test://2", two)).toBeUndefined();
  });

  it("a process that hears of too much for its clients refuses more (S10)", async () => {
    const { a, send, settled } = serve({ budgets: { process: { maxSubscriptions: 1 } } });
    const session = await a.open();
    a.get(session);
    const subscribe = async (uri: string) =>
      messagesOf(await send(a, request(1, "resources/subscribe", { uri }), session))[0]?.error;
    expect(await subscribe("test://1")).toBeUndefined();
    await settled();
    expect(await subscribe("test://2")).toMatchObject({ data: { limit: "maxSubscriptions", scope: "process" } });
    expect(await subscribe("test://1")).toBeUndefined();
  });

  it("one subscription too many of a session is refused, whichever processes took the others (S10)", async () => {
    const { a, b, send } = serve({ budgets: { connection: { maxSubscriptions: 2 } } });
    const session = await a.open();
    const subscribe = async (node: FakeNode, uri: string) =>
      messagesOf(await send(node, request(1, "resources/subscribe", { uri }), session))[0]?.error;
    expect([await subscribe(a, "test://1"), await subscribe(b, "test://2")]).toEqual([undefined, undefined]);
    expect(await subscribe(a, "test://3")).toMatchObject({ data: { limit: "maxSubscriptions", scope: "connection" } });
    expect(await subscribe(b, "test://1")).toBeUndefined();
  });
});

describe("what concerns another process", () => {
  const ask = async (node: FakeNode, session: Session) => {
    const call = node.post(callOf(1, "ask", { text: "who" }), session);
    await eventually(() => expect(messagesOf(call)).toHaveLength(1));
    return { call, question: messagesOf(call)[0] as JsonObject };
  };
  const answer = (id: unknown) => ({ jsonrpc: "2.0", id, result: { action: "accept", content: { reply: "me" } } });

  it("an answer reaches the process that asked", async () => {
    const { a, b, send, settled } = serve();
    const session = await a.open("2025-11-25", { elicitation: {} });
    const { call, question } = await ask(a, session);
    expect((await send(b, answer(question.id), session)).sent?.status).toBe(202);
    await settled();
    expect(messagesOf(call).at(-1)).toMatchObject({ id: 1, result: { content: [{ text: "who: me" }] } });
  });

  it("C107: an answer in another session reaches nobody", async () => {
    const { a, b, send } = serve();
    const [session, other] = [await a.open("2025-11-25", { elicitation: {} }), await a.open()];
    const { call, question } = await ask(a, session);
    for (const node of [a, b]) expect((await send(node, answer(question.id), other)).sent?.status).toBe(202);
    expect(messagesOf(call)).toHaveLength(1);
  });

  it.each([1, "x.y.1", `${"x".repeat(16)}.${"y".repeat(16)}.1`])("an answer to %j reaches nobody", async (id) => {
    const { a, send } = serve();
    expect((await send(a, answer(id), await a.open())).sent?.status).toBe(202);
  });

  it("no two questions of a session have the same id, wherever they are asked", async () => {
    const { a, b, clock, send } = serve();
    const session = await a.open("2025-11-25", { elicitation: {} });
    const seen = new Set<unknown>();
    for (const node of [a, b, a, b]) {
      const { question } = await ask(node, session);
      seen.add(question.id);
      await send(node, answer(question.id), session);
      await clock.advanceAsync(20_000);
    }
    expect(seen.size).toBe(4);
  });

  it("edge 12: a call is cancelled wherever it runs", async () => {
    const { a, b, send, settled } = serve();
    const session = await a.open();
    const call = a.post(callOf(7, "hold"), session);
    const other = a.post(callOf(8, "hold"), session);
    await a.holding(2);
    await send(b, notification("notifications/cancelled", { requestId: 7 }), session);
    await settled();
    expect(a.held.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect(call.sent).toMatchObject({ status: 200, body: "" });
    expect(other.sent).toBeUndefined();
  });
});

describe("whose a session is", () => {
  it("an event of one session gives nothing in another", async () => {
    const { a, b, settled, send } = serve();
    const [mine, other] = [await a.open(), await a.open()];
    const call = await send(a, callOf(1, "count", { n: 2 }), mine);
    const stolen = b.get({ ...other, "last-event-id": ids(call)[0] ?? "" });
    await settled();
    expect(methods(stolen)).toEqual(["notifications/replay_truncated"]);
  });

  it("nobody finds the session of another, and hears no difference to one that is not there", async () => {
    const { a, b, settled } = serve();
    const as = (principal: string | undefined, headers: Record<string, string>, method = "POST") => {
      const head = fakeHead(headers, method);
      const reply = createFakeReply();
      const known = principal === undefined ? head : new AuthenticatedHttp(head, { principal }, new Set());
      const message = "mcp-session-id" in headers ? request(1, "ping") : request(0, "initialize", hello("2025-11-25"));
      (principal === "ann" ? a : b).endpoint.handle(known, method === "POST" ? JSON.stringify(message) : "", reply);
      return reply;
    };
    const opened = as("ann", {});
    await opened.begun;
    const session = { "mcp-session-id": opened.sent?.headers["mcp-session-id"] ?? "" };
    const none = { "mcp-session-id": "x".repeat(43) };
    for (const method of ["POST", "GET", "DELETE"]) {
      const [stolen, missing, nobody] = [
        as("bob", session, method),
        as("bob", none, method),
        as(undefined, session, method),
      ];
      await settled();
      expect(stolen.sent?.status).toBe(404);
      expect(stolen.sent).toEqual(missing.sent);
      expect(nobody.sent).toEqual(missing.sent);
    }
    const own = as("ann", session);
    await settled();
    expect(own.sent?.status).toBe(200);
  });
});

it("is what a server with a store gets, and what it announces reaches the clients of others", async () => {
  const clock = createManualClock();
  const store = memoryStore({ clock });
  const create = () => {
    const tools = { echo: tool({ run: () => "here" }) };
    const server = createServer({ name: "shared", version: "1", listChanged: true, tools, store, clock });
    return { server, ...serveFake(server, { clock }) };
  };
  const [one, other] = [create(), create()];
  const session = await one.open();
  const news = other.get(session);
  const reply = other.post(callOf(1, "echo"), session);
  await reply.begun;
  expect(messagesOf(reply)).toMatchObject([{ id: 1, result: { content: [{ text: "here" }] } }]);
  one.server.listChanged("tools");
  await eventually(() => expect(methods(news)).toEqual(["notifications/tools/list_changed"]));
  expect(messagesOf(news)[0]?.params).toEqual({});
  expect(ids(news).at(-1)).toMatch(/^n-1-0-[0-9a-f]{8}$/);
  await Promise.all([one.endpoint.close(), other.endpoint.close()]);
});

it("has the same to say over streams only", async () => {
  const { a, b, send, settled } = serve({ respondWith: "sse" });
  const session = await a.open();
  const reply = await send(b, callOf(1, "echo", { text: "x" }), session);
  expect(reply.sent?.headers["content-type"]).toBe("text/event-stream");
  expect(messagesOf(reply)).toMatchObject([{ id: 1, result: { content: [{ text: "x" }] } }]);
  const [prime = ""] = readBlocks(reply.sent?.body ?? "").map(({ id }) => id ?? "");
  const again = a.get({ ...session, "last-event-id": prime });
  await settled();
  expect(messagesOf(again)).toEqual(messagesOf(reply));
});

it("answers what is open before it is closed, also when the store is slow", async () => {
  const { a, store, clock } = serve();
  const session = await a.open();
  const call = a.post(callOf(1, "hold"), session);
  const asked = a.post(callOf(2, "count", { n: 1 }), session);
  await a.holding(1);
  const { append } = store.streams;
  vi.spyOn(a.store.streams, "append").mockImplementation(async (...args) => {
    await new Promise<void>((resolve) => clock.after(100, resolve));
    return append(...args);
  });
  const closed = a.endpoint.close();
  a.release();
  let over = false;
  void closed.then(() => {
    over = true;
  });
  await eventually(async () => {
    await clock.advanceAsync(50);
    expect(over).toBe(true);
  });
  expect(messagesOf(call)).toMatchObject([{ id: 1, result: {} }]);
  expect(methods(asked)).toEqual(["notifications/message", undefined]);
});

it("leaves no timer when it is closed", async () => {
  const { nodes, clock, store } = serve({ keepAliveMs: 0 });
  const [a] = nodes;
  const session = await a.open();
  a.get(session);
  await clock.advanceAsync(100);
  for (const node of nodes) await node.endpoint.close();
  await store.close();
  expect(clock.pending).toBe(0);
});
