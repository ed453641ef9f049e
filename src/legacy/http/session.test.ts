import { describe, expect, it } from "vitest";
import { callOf, messagesOf, serveFake } from "../../../test/support/fake-endpoint.ts";
import { createFakeReply, fakeHead } from "../../../test/support/fake-reply.ts";
import { createHttpService } from "../../../test/support/http-service.ts";
import { createLoneRules } from "../../../test/support/lone-session.ts";
import { gate, hello, notification, request } from "../../../test/support/served.ts";
import type { JsonObject } from "../../json/json.ts";
import { parseMessage, type Request } from "../../jsonrpc/message.ts";
import type { Call, Service } from "../../protocol/service.ts";
import { createServer, tool } from "../../server/index.ts";
import { describeService } from "../../transport/describe-service.ts";
import { createHeartbeat } from "../../transport/http/heartbeat.ts";
import type { HttpOptions } from "../../transport/http/options.ts";
import { HeldSession } from "./held-session.ts";
import { HttpSession } from "./session.ts";

/** Long enough for a session to go to rest. */
const A_WHILE = 1_000;

const serve = (options: HttpOptions = {}) => {
  const service = createHttpService();
  const served = serveFake(service.server, options);
  return { ...service, ...served, rest: () => served.clock.advanceAsync(A_WHILE) };
};

describe("a session that was at rest", () => {
  it("keeps the log level", async () => {
    const { open, post, rest } = serve();
    const session = await open();
    post(request(1, "logging/setLevel", { level: "error" }), session);
    await rest();
    const call = post(callOf(2, "count", { n: 3 }), session);
    await call.begun;
    expect(messagesOf(call)).toMatchObject([{ id: 2, result: {} }]);
  });

  it("hears of what it subscribed to, also while at rest, until it unsubscribes", async () => {
    const { open, post, get, rest, settled, server } = serve();
    const session = await open();
    const news = get(session);
    post(request(1, "resources/subscribe", { uri: "test://watched" }), session);
    await rest();
    server.resourceUpdated("test://watched");
    server.listChanged("tools");
    await settled();
    expect(messagesOf(news).map(({ method }) => method)).toEqual([
      "notifications/resources/updated",
      "notifications/tools/list_changed",
    ]);
    post(request(2, "resources/unsubscribe", { uri: "test://watched" }), session);
    await rest();
    server.resourceUpdated("test://watched");
    await settled();
    expect(messagesOf(news)).toHaveLength(2);
  });

  it("never asks under the same id again", async () => {
    const { open, post, rest, settled } = serve();
    const session = await open("2025-11-25", { elicitation: {} });
    const ids: unknown[] = [];
    for (let id = 1; id <= 3; id++) {
      const call = post(callOf(id, "ask", { text: "who" }), session);
      await call.begun;
      const question = messagesOf(call)[0] as JsonObject;
      ids.push(question.id);
      post({ jsonrpc: "2.0", id: question.id, result: { action: "accept", content: { reply: "me" } } }, session);
      await settled();
      expect(messagesOf(call).at(-1)).toMatchObject({ id, result: { content: [{ text: "who: me" }] } });
      await rest();
    }
    expect(new Set(ids).size).toBe(3);
  });

  it("knows its client, its revision and that it was opened", async () => {
    const peers: unknown[] = [];
    const { server } = createHttpService();
    const service = ((call: Call) => {
      if (call.method === "tools/list") peers.push(call.peer);
      return server(call);
    }) as Service;
    const { open, post, clock, settled, get } = serveFake(service);
    const session = await open("2025-03-26", { sampling: {} });
    for (let id = 1; id <= 2; id++) {
      post([request(id, "tools/list"), request(-id, "ping")], session);
      await clock.advanceAsync(A_WHILE);
    }
    const peer = { revision: "2025-03-26", info: { name: "fake", version: "1" }, capabilities: { sampling: {} } };
    expect(peers).toEqual([peer, peer]);
    const again = post(request(9, "initialize", hello("2025-11-25")), session);
    await settled();
    expect(messagesOf(again)).toMatchObject([{ id: 9, error: { message: "already initialized" } }]);
    expect(get(session).sink?.text).toBe("");
  });

  it("has still to be told that its client is ready", async () => {
    const { post, rest, get, server, settled } = serve();
    const opened = post(request(0, "initialize", hello("2025-11-25")));
    await opened.begun;
    const session = { "mcp-session-id": opened.sent?.headers["mcp-session-id"] ?? "" };
    const news = get(session);
    await rest();
    server.listChanged("tools");
    expect(messagesOf(post(request(1, "tools/list"), session))).toMatchObject([{ error: { code: -32600 } }]);
    await rest();
    expect(messagesOf(news)).toEqual([]);
    post(notification("notifications/initialized"), session);
    await rest();
    server.listChanged("tools");
    await settled();
    expect(messagesOf(news)).toMatchObject([{ method: "notifications/tools/list_changed" }]);
  });

  it("ends like any other", async () => {
    const { open, get, rest, request: send, post, server, settled } = serve();
    const session = await open();
    const news = get(session);
    await rest();
    expect(send("DELETE", "", session).sent?.status).toBe(204);
    expect(news.sink?.state).toBe("ended");
    server.listChanged("tools");
    await settled();
    expect(messagesOf(news)).toEqual([]);
    expect(post(request(1, "ping"), session).sent?.status).toBe(404);
  });

  it("ends with the endpoint, and nobody listens any more", async () => {
    const listening: AbortSignal[] = [];
    const { server } = createHttpService();
    const service = ((call: Call) => {
      if (call.method === "subscriptions/listen") listening.push(call.signal);
      return server(call);
    }) as Service;
    const { open, get, clock, endpoint } = serveFake(service, { keepAliveMs: 0, sessionTtlMs: 0 });
    const streams = [get(await open()), get(await open())];
    await clock.advanceAsync(A_WHILE);
    expect(clock.pending).toBe(0);
    expect(listening.map(({ aborted }) => aborted)).toEqual([false]);
    await endpoint.close();
    expect(streams.map(({ sink }) => sink?.state)).toEqual(["ended", "ended"]);
    expect(listening.map(({ aborted }) => aborted)).toEqual([true]);
  });
});

it("does not rest while a handler runs, also one that was cancelled: its place is taken", async () => {
  const { opened, open: release } = gate();
  const server = createServer({
    name: "stubborn",
    version: "1",
    timeoutMs: 0,
    tools: {
      stay: tool({
        run: async () => {
          await opened;
          return "";
        },
      }),
      quick: tool({ run: () => "quick" }),
    },
  });
  const { open, post, clock, settled } = serveFake(server, {
    budgets: { connection: { maxRunningCalls: 1 } },
    keepAliveMs: 0,
  });
  const session = await open();
  post(callOf(1, "stay"), session);
  await settled();
  post(notification("notifications/cancelled", { requestId: 1 }), session);
  await clock.advanceAsync(A_WHILE);
  const second = post(callOf(2, "quick"), session);
  await clock.advanceAsync(A_WHILE);
  expect(second.sent).toBeUndefined();
  release();
  await settled();
  expect(messagesOf(second)).toMatchObject([{ id: 2, result: {} }]);
});

describe("the record of a session", () => {
  const create = () => {
    const { server, release, holding } = createHttpService();
    const { rules, clock, store } = createLoneRules({
      service: server,
      limits: { maxReplayBytes: 1_000 },
      discover: () => describeService(server),
    });
    const holder = { rules, deliver: () => undefined };
    const share = rules.ledger.connection("somebody");
    const held = new HeldSession("an-id", undefined, share, holder);
    const rest = createHeartbeat(clock, 100);
    const left: boolean[] = [];
    const host = { rules, rest, left: (_: HttpSession, isOver: boolean) => void left.push(isOver) };
    const createSession = () => new HttpSession("an-id", host, share, held);
    const session = createSession();
    const postTo = (to: HttpSession, message: unknown) => {
      const reply = createFakeReply();
      to.post(parseMessage(message as JsonObject) as Request, { http: fakeHead(), reply });
      return reply;
    };
    const post = (message: unknown) => postTo(session, message);
    const shakeHands = async () => {
      const reply = createFakeReply();
      const greeting = parseMessage(request(0, "initialize", hello("2025-11-25", { roots: {} }))) as Request;
      session.open(greeting, { http: fakeHead(), reply }, () => {});
      await reply.begun;
      post(notification("notifications/initialized"));
      await clock.advanceAsync(0);
    };
    const record = async () => JSON.parse((await store.values.get("session:an-id"))?.text ?? "null");
    const uris = async () => rules.sessions.uris("an-id");
    return { session, createSession, post, postTo, shakeHands, clock, release, holding, left, record, uris, rules };
  };

  it("is plain data, and all that is left after a moment", async () => {
    const { post, shakeHands, clock, left, record, uris } = create();
    await shakeHands();
    expect(left).toEqual([]);
    post(request(1, "resources/subscribe", { uri: "test://watched" }));
    post(request(2, "logging/setLevel", { level: "warning" }));
    await clock.advanceAsync(A_WHILE);
    expect(await record()).toEqual({
      peer: { revision: "2025-11-25", info: { name: "fake", version: "1" }, capabilities: { roots: {} } },
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        logging: {},
      },
      ready: true,
      logLevel: "warning",
      since: 0,
    });
    expect(await uris()).toEqual(["test://watched"]);
    expect(left).toEqual([false]);
    expect(clock.pending).toBe(0);
  });

  it("is all there is when nothing is going on, and not while something is", async () => {
    const { createSession, post, postTo, shakeHands, clock, release, holding, left, rules } = create();
    await shakeHands();
    post(callOf(1, "hold"));
    await holding(1);
    await clock.advanceAsync(A_WHILE);
    expect(left).toEqual([]);
    expect(clock.pending).toBe(0);
    release();
    await clock.advanceAsync(A_WHILE);
    expect(left).toEqual([false]);
    const again = createSession();
    again.adopt((await rules.sessions.find("an-id")) ?? expect.fail("no record"));
    for (let i = 0; i < 20; i++) {
      expect(messagesOf(postTo(again, request(i, "ping")))).toMatchObject([{ id: i, result: {} }]);
      await clock.advanceAsync(50);
      expect(left).toEqual([false]);
    }
    await clock.advanceAsync(A_WHILE);
    expect(left).toEqual([false, false]);
  });

  it("is no way back into a session that was closed", async () => {
    const { session, post, shakeHands, clock, left } = create();
    await shakeHands();
    session.close();
    session.close();
    await clock.advanceAsync(A_WHILE);
    expect(left).toEqual([true]);
    expect(messagesOf(post(request(1, "tools/list")))).toMatchObject([
      { id: 1, error: { code: -32603, message: "the connection is closing" } },
    ]);
  });
});
