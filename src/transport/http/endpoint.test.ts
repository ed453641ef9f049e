import { describe, expect, it } from "vitest";
import { callOf, messagesOf, modernCall, modernRequest, serveFake } from "../../../test/support/fake-endpoint.ts";
import { fakeHead } from "../../../test/support/fake-reply.ts";
import { createHttpService } from "../../../test/support/http-service.ts";
import { hello, modern, notification, request } from "../../../test/support/served.ts";
import { metaKeys } from "../../protocol/meta.ts";
import { revisions } from "../../protocol/revision.ts";
import type { HttpOptions } from "./options.ts";

const serve = (options: HttpOptions = {}) => {
  const service = createHttpService();
  return { ...service, ...serveFake(service.server, options) };
};

const refused = (message: string, code = -32600) => ({ jsonrpc: "2.0", error: { code, message } });
const unsupported = (requested: string, supported: readonly string[] = revisions) => ({
  code: -32022,
  message: `unsupported protocol version; use ${supported.join(", ")}`,
  data: { supported, requested },
});

describe("which era a message belongs to", () => {
  const modernHeader = { "mcp-protocol-version": "2026-07-28" };

  it("edge 1: a modern request without _meta, or half of it, is refused under its own id", async () => {
    const { post } = serve();
    const { [metaKeys.clientCapabilities]: _, ...half } = modern()._meta as Record<string, string>;
    for (const params of [{}, { _meta: half }]) {
      const reply = post(request(5, "tools/list", params), { ...modernHeader, "mcp-method": "tools/list" });
      await reply.begun;
      expect(reply.sent?.status).toBe(400);
      expect(JSON.parse(reply.sent?.body ?? "")).toMatchObject({ id: 5, error: { code: -32602 } });
    }
  });

  it("edge 2: versions that differ are a mismatch; one that is unknown is unsupported, and says so exactly", async () => {
    const { post } = serve();
    const { body, headers } = modernRequest(1, "tools/list");
    const differs = post(body, { ...headers, "mcp-protocol-version": "2025-11-25" });
    const later = modernRequest(2, "tools/list", {}, { [metaKeys.protocolVersion]: "2099-01-01" });
    const unknown = post(later.body, { ...later.headers, "mcp-protocol-version": "2099-01-01" });
    const discover = modernRequest(3, "server/discover");
    const discovered = post(discover.body, discover.headers);
    await Promise.all([differs.begun, unknown.begun, discovered.begun]);
    expect([differs.sent?.status, unknown.sent?.status]).toEqual([400, 400]);
    expect(messagesOf(differs)).toMatchObject([{ id: 1, error: { code: -32020 } }]);
    expect(messagesOf(unknown)).toMatchObject([{ id: 2, error: { code: -32022, data: { requested: "2099-01-01" } } }]);
    const [{ error }] = messagesOf(unknown) as unknown as [{ error: { data: { supported: string[] } } }];
    const [{ result }] = messagesOf(discovered) as unknown as [{ result: { supportedVersions: string[] } }];
    expect(result.supportedVersions).toEqual(expect.arrayContaining(error.data.supported));
  });

  it("edge 3: a modern body without the header is a mismatch, though older clients may leave it out", async () => {
    const { post } = serve();
    const { body, headers } = modernRequest(1, "tools/list");
    const { "mcp-protocol-version": _, ...rest } = headers;
    const reply = post(body, rest);
    await reply.begun;
    expect(reply.sent?.status).toBe(400);
    expect(messagesOf(reply)).toMatchObject([
      { id: 1, error: { code: -32020, message: "the MCP-Protocol-Version header is missing" } },
    ]);
  });

  it.each(["initialize", "ping", "logging/setLevel", "resources/subscribe", "no/such"])(
    "edge 4: %s of a modern client is not found, with 404 and a body",
    async (method) => {
      const { post } = serve();
      const { body, headers } = modernRequest("x", method);
      const reply = post(body, headers);
      await reply.begun;
      expect(reply.sent?.status).toBe(404);
      expect(messagesOf(reply)).toMatchObject([{ id: "x", error: { code: -32601 } }]);
    },
  );

  it("edge 7: each modern request is judged by what it says itself", async () => {
    const { post } = serve();
    const able = modernCall(1, "ask", { text: "?" }, { [metaKeys.clientCapabilities]: { elicitation: { form: {} } } });
    const unable = modernCall(2, "ask", { text: "?" });
    const replies = [post(able.body, able.headers), post(unable.body, unable.headers)] as const;
    await Promise.all(replies.map(({ begun }) => begun));
    expect(messagesOf(replies[0])).toMatchObject([{ id: 1, result: { resultType: "input_required" } }]);
    expect(replies[1].sent?.status).toBe(400);
    expect(messagesOf(replies[1])).toMatchObject([{ id: 2, error: { code: -32021 } }]);
  });

  it("edges 9 and 10: both eras are served at once, each in its own words", async () => {
    const { post, open } = serve();
    const session = await open();
    const legacy = post(callOf(1, "echo", { text: "old" }), session);
    const list = post(request(2, "tools/list"), session);
    const { body, headers } = modernCall(1, "echo", { text: "new" });
    const newer = post(body, { ...headers, ...session });
    await Promise.all([legacy.begun, newer.begun, list.begun]);
    expect(messagesOf(legacy)).toEqual([
      { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "old" }] } },
    ]);
    expect(list.sent?.body).not.toMatch(/resultType|ttlMs|cacheScope|serverInfo/);
    expect(messagesOf(newer)).toMatchObject([{ id: 1, result: { resultType: "complete" } }]);
    expect(newer.sent?.headers).not.toHaveProperty("mcp-session-id");
  });

  it.each<readonly [string, unknown, number]>([
    ["a notification", notification("notifications/cancelled", { requestId: 1 }), 202],
    ["a batch", [request(1, "ping")], 400],
  ])("takes %s under the modern version", (_, message, status) => {
    for (const options of [{}, { legacy: false }]) {
      expect(serve(options).post(message, modernHeader).sent?.status).toBe(status);
    }
  });

  it.each([
    ["result", { jsonrpc: "2.0", id: 1, result: {} }],
    ["error", { jsonrpc: "2.0", id: 1, error: { code: -1, message: "no" } }],
  ])("refuses a response with a %s under the modern version, also in a session (B4)", async (_, message) => {
    const { post, open } = serve();
    const replies = [post(message, modernHeader), post(message, { ...(await open()), ...modernHeader })];
    for (const options of [{ legacy: false }, { sessions: false }]) {
      replies.push(serve(options).post(message, modernHeader));
    }
    for (const { sent } of replies) {
      expect(sent?.status).toBe(400);
      expect(JSON.parse(sent?.body ?? "")).toEqual({
        jsonrpc: "2.0",
        error: { code: -32600, message: expect.stringContaining("send no responses") },
      });
    }
  });
});

describe("C103: versions in the header", () => {
  it.each(["2023-01-01", "nonsense", "2026-07-29", ""])("%j is refused, with what could be used", async (stated) => {
    const { post, open, request: ask } = serve();
    const session = await open();
    const headers = { ...session, "mcp-protocol-version": stated };
    const call = post(callOf(4, "echo", { text: "x" }), headers);
    expect(call.sent?.status).toBe(400);
    expect(messagesOf(call)).toEqual([{ jsonrpc: "2.0", id: 4, error: unsupported(stated) }]);
    for (const reply of [
      post(notification("notifications/x"), headers),
      ask("GET", "", headers),
      ask("DELETE", "", headers),
    ]) {
      expect(reply.sent?.status).toBe(400);
      expect(messagesOf(reply)).toEqual([{ jsonrpc: "2.0", error: unsupported(stated) }]);
    }
  });

  it.each([undefined, "2025-03-26", "2025-06-18", "2025-11-25"])("%s goes with a session", async (stated) => {
    const { post, open } = serve();
    const session = await open("2025-06-18");
    const reply = post(request(1, "ping"), { ...session, ...(stated && { "mcp-protocol-version": stated }) });
    expect(messagesOf(reply)).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }]);
  });

  it("none is an older client, which a modern server does not serve", () => {
    const { post } = serve({ legacy: false });
    const reply = post(request(1, "initialize", hello("2025-11-25")));
    expect(reply.sent?.status).toBe(400);
    expect(messagesOf(reply)).toEqual([{ jsonrpc: "2.0", id: 1, error: unsupported("none", ["2026-07-28"]) }]);
  });
});

describe("C100: what is no message", () => {
  it.each<readonly [string, string, object]>([
    ["no JSON", "{oops", refused("parse error: not valid JSON", -32700)],
    ["nothing", "", refused("parse error: not valid JSON", -32700)],
    ["a number", "5", refused("a message must be an object")],
    ["an empty batch", "[]", refused("empty batch")],
    ["a request of JSON-RPC 1", '{"id":3,"method":"ping"}', { ...refused('"jsonrpc" must be "2.0"'), id: 3 }],
    ["an object", '{"jsonrpc":"2.0","id":3}', { ...refused('"method" must be a string'), id: 3 }],
    [
      "params that are none",
      '{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}',
      { ...refused('"params" must be an object', -32602), id: 3 },
    ],
    ["a broken answer", '{"jsonrpc":"2.0","id":3,"result":5}', refused("not a valid response")],
    [
      "a broken notification",
      '{"jsonrpc":"2.0","method":"x","params":5}',
      refused('"params" must be an object', -32602),
    ],
  ])("%s is refused once, with 400, and the next request works", async (_, body, expected) => {
    const { request: send, open, post } = serve();
    const session = await open();
    const reply = send("POST", body, session);
    expect(reply.sent).toMatchObject({ status: 400, headers: { "content-type": "application/json" } });
    expect(messagesOf(reply)).toEqual([expected]);
    expect(messagesOf(post(request(9, "ping"), session))).toEqual([{ jsonrpc: "2.0", id: 9, result: {} }]);
  });

  it("limits on the JSON are those that were given", () => {
    const { request: send } = serve({ limits: { maxJsonDepth: 3, maxJsonNodes: 100 } });
    const reply = send("POST", '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":{}}}}');
    expect(messagesOf(reply)).toEqual([
      { ...refused("parse error: nested deeper than 3 levels (maxJsonDepth)", -32700), id: 1 },
    ]);
  });
});

describe("where it is served", () => {
  const head = (url: string) => {
    const headers = {
      host: "localhost",
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    };
    return fakeHead(headers, "POST", url);
  };

  it("is wherever requests come from, unless it is said", () => {
    const { endpoint } = serve();
    for (const url of ["/", "/mcp", "/api/any?x=1"]) expect(endpoint.admit(head(url)).ok).toBe(true);
  });

  it("is only where it is said", () => {
    const { endpoint } = serve({ path: "/here" });
    expect(endpoint.admit(head("/here")).ok).toBe(true);
    expect(endpoint.admit(head("/mcp")).ok).toBe(false);
  });
});

describe("an endpoint that is closing", () => {
  const busy = { status: 503, headers: { "retry-after": "1", connection: "close" } };

  it("answers what is open, and takes nothing new", async () => {
    const { post, get, open, endpoint, holding, release } = serve();
    const session = await open();
    const one = modernCall(1, "hold");
    const replies = [post(one.body, one.headers), post(callOf(1, "hold"), session)];
    await holding(2);
    const closed = endpoint.close();
    const two = modernCall(2, "echo", { text: "late" });
    for (const late of [post(two.body, two.headers), post(callOf(2, "hold"), session), get(session)]) {
      expect(late.sent).toMatchObject(busy);
      expect(messagesOf(late)).toEqual([refused("the server is closing")]);
    }
    release();
    await closed;
    for (const reply of replies)
      expect(messagesOf(reply)).toMatchObject([{ id: 1, result: { content: [{ text: "held" }] } }]);
    expect(endpoint.close()).toBe(closed);
  });

  it("still hears the answers that open calls wait for", async () => {
    const { post, open, endpoint, settled } = serve();
    const session = await open("2025-11-25", { elicitation: {} });
    const call = post(callOf(1, "ask", { text: "who" }), session);
    await call.begun;
    const [question] = messagesOf(call);
    const closed = endpoint.close();
    await settled();
    const answer = { jsonrpc: "2.0", id: question?.id, result: { action: "accept", content: { reply: "me" } } };
    expect(post(answer, session).sent?.status).toBe(202);
    await closed;
    expect(messagesOf(call).at(-1)).toMatchObject({ id: 1, result: { content: [{ text: "who: me" }] } });
  });

  it("ends what takes too long, with an error", async () => {
    const { post, open, endpoint, holding, clock, held } = serve({ drainMs: 1_000 });
    const session = await open();
    const one = modernCall(1, "hold");
    const replies = [post(one.body, one.headers), post(callOf(1, "hold"), session)];
    await holding(2);
    const closed = endpoint.close();
    await clock.advanceAsync(999);
    expect(replies.map(({ sent }) => sent)).toEqual([undefined, undefined]);
    await clock.advanceAsync(1);
    await closed;
    expect(replies.map(({ sent }) => sent?.status)).toEqual([200, 200]);
    expect(messagesOf(replies[0] ?? expect.fail())).toMatchObject([{ id: 1, error: { code: -32603 } }]);
    expect(messagesOf(replies[1] ?? expect.fail())).toMatchObject([{ id: 1, error: { code: -32603 } }]);
    expect(held.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it("edge 34: ends subscriptions with a result that names them", async () => {
    const { post, endpoint } = serve();
    const { body, headers } = modernRequest("sub", "subscriptions/listen", {
      notifications: { toolsListChanged: true },
    });
    const reply = post(body, headers);
    await reply.begun;
    await endpoint.close();
    expect(messagesOf(reply)).toMatchObject([
      { method: "notifications/subscriptions/acknowledged" },
      { id: "sub", result: { resultType: "complete", _meta: { [metaKeys.subscriptionId]: "sub" } } },
    ]);
    expect(reply.sink?.state).toBe("ended");
  });

  it("leaves no timer behind", async () => {
    const { post, open, endpoint, holding, release, clock } = serve({ keepAliveMs: 0, sessionTtlMs: 0 });
    const session = await open();
    const one = modernCall(1, "hold");
    post(one.body, one.headers);
    post(callOf(1, "hold"), session);
    await holding(2);
    const closed = endpoint.close();
    release();
    await closed;
    expect(clock.pending).toBe(0);
  });
});
