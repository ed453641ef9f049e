import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/json/json.ts";
import type { Middleware } from "../../src/protocol/service.ts";
import { createServer, resource, type Server, tool } from "../../src/server/index.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { type HttpServeHandle, serveHttp } from "../../src/transport/node/http.ts";
import { callOf } from "../support/fake-endpoint.ts";
import { createRawClient, type RawAnswer, type RawClient, type RawStream } from "../support/raw-http.ts";
import { gate, hello, notification, request } from "../support/served.ts";
import { as, whoeverSays } from "../support/who.ts";

// What a request may is what its own token may, whatever the session or stream that it belongs to was opened with.

const strong = as("ann", "orders:write");
const weak = as("ann", "orders:read");
const eve = as("eve", "orders:write");

let served: HttpServeHandle | undefined;
let held = gate();
/** Who listened to what. */
let listened: string[] = [];

beforeEach(() => {
  held = gate();
  listened = [];
});
afterEach(async () => {
  held.open();
  await served?.close();
  served = undefined;
});

/** Notes who subscribes, and lets nobody do so without the scope. */
const guardSubscriptions: Middleware = (next) => async (call) => {
  if (call.method !== "subscriptions/listen" || call.params.notifications.resourceSubscriptions === undefined) {
    return next(call);
  }
  listened.push(`${call.peer.auth?.principal}: ${call.peer.auth?.scopes?.join(" ")}`);
  if (call.peer.auth?.scopes?.includes("orders:write")) return next(call);
  return { kind: "failed", failure: { code: "forbidden", message: "orders:write is needed" } };
};

function createShop(store?: ReturnType<typeof memoryStore>): Server {
  return createServer({
    name: "shop",
    version: "1",
    store,
    subscribe: true,
    listChanged: true,
    logging: true,
    middleware: [guardSubscriptions],
    resources: [resource("stock://a", { read: () => "1" })],
    tools: {
      buy: tool({ scopes: ["orders:write"], run: (_, { auth }) => `bought by ${auth?.principal}` }),
      slow: tool({
        scopes: ["orders:write"],
        run: async (_, ctx) => {
          await ctx.log("info", "secret progress");
          await held.opened;
          return "secret result";
        },
      }),
      work: tool({
        scopes: ["orders:write"],
        task: "required",
        run: async (_, ctx) => {
          await held.opened;
          ctx.progress(1, 2, "secret status");
          return "done";
        },
      }),
    },
  });
}

async function serve(server = createShop()): Promise<RawClient> {
  served = await serveHttp(server, { port: 0, sse: true, auth: whoeverSays });
  return createRawClient(served.port);
}

/** A stream of 2024-11-05 that has shaken hands, and what posts to it. */
async function openSse(client: RawClient, opener: JsonObject) {
  const stream = await client.stream({ method: "GET", path: "/sse", headers: opener as never });
  const { data: path = "" } = await stream.blocks.find(({ event }) => event === "endpoint");
  const post = (message: unknown, who: JsonObject) =>
    client.request({ path, headers: who as never, body: message as JsonObject });
  const answer = (id: number) => stream.messages.find((message) => message.id === id);
  await post(request(0, "initialize", hello("2024-11-05")), opener);
  await answer(0);
  await post(notification("notifications/initialized"), opener);
  return { stream, post, answer };
}

/** A session of 2025-11-25, opened by one and used by whoever. */
async function openSession(client: RawClient, opener: JsonObject, capabilities: JsonObject = {}) {
  const opened = await client.request({
    headers: opener as never,
    body: request(0, "initialize", hello("2025-11-25", capabilities)),
  });
  const session = {
    "mcp-session-id": String(opened.headers["mcp-session-id"]),
    "mcp-protocol-version": "2025-11-25",
  };
  const headers = (who: JsonObject) => ({ ...session, ...who }) as never;
  const post = (message: JsonObject, who: JsonObject) => client.request({ headers: headers(who), body: message });
  const call = (message: JsonObject, who: JsonObject): Promise<RawStream> =>
    client.stream({ headers: headers(who), body: message });
  const get = (who: JsonObject, last?: string): Promise<RawStream> =>
    client.stream({
      method: "GET",
      headers: { ...(headers(who) as object), ...(last !== undefined && { "last-event-id": last }) },
    });
  const end = (who: JsonObject) => client.request({ method: "DELETE", headers: headers(who) });
  await post(notification("notifications/initialized"), opener);
  return { post, call, get, end };
}

function resultIn({ messages }: RawAnswer): JsonObject {
  const [message] = messages;
  return message?.result as JsonObject;
}

describe("over HTTP+SSE of 2024-11-05", () => {
  it("a POST may what its own token may, not that of the GET (S6)", async () => {
    const { stream, post, answer } = await openSse(await serve(), strong);
    await post(callOf(1, "buy"), weak);
    expect(await answer(1)).toMatchObject({ error: { data: { reason: "forbidden", scopes: ["orders:write"] } } });
    await post(callOf(2, "buy"), strong);
    expect(await answer(2)).toMatchObject({ result: { content: [{ text: "bought by ann" }] } });
    stream.destroy();
  });

  it("a POST with a stronger token than the GET is served (S6)", async () => {
    const { stream, post, answer } = await openSse(await serve(), weak);
    await post(callOf(1, "buy"), weak);
    expect(await answer(1)).toMatchObject({ error: { data: { reason: "forbidden" } } });
    await post(callOf(2, "buy"), strong);
    expect(await answer(2)).toMatchObject({ result: { content: [{ text: "bought by ann" }] } });
    stream.destroy();
  });

  it("a POST of another principal, or of nobody, is refused (S6)", async () => {
    const { stream, post } = await openSse(await serve(), strong);
    expect((await post(callOf(1, "buy"), eve)).status).toBe(404);
    expect((await post(callOf(1, "buy"), {})).status).toBe(401);
    expect(stream.messages.items.map(({ id }) => id)).toEqual([0]);
    stream.destroy();
  });

  it("a subscription is made by who posts it (S6)", async () => {
    const { stream, post, answer } = await openSse(await serve(), strong);
    await post(request(1, "resources/subscribe", { uri: "stock://a" }), weak);
    expect(await answer(1)).toHaveProperty("error");
    await post(request(2, "resources/subscribe", { uri: "stock://a" }), strong);
    expect(await answer(2)).toMatchObject({ result: {} });
    expect([...new Set(listened)]).toEqual(["ann: orders:read", "ann: orders:write"]);
    stream.destroy();
  });
});

describe.each(["of one process", "on a store"])("in a session %s", (where) => {
  const serveSession = () => serve(createShop(where === "on a store" ? memoryStore() : undefined));

  it.each([
    ["stronger", strong, weak],
    ["weaker", weak, weak],
  ])(
    "a request may what its own token may, when the session was opened with a %s one (S6)",
    async (_, opener, poor) => {
      const { post } = await openSession(await serveSession(), opener);
      const refused = await post(callOf(1, "buy"), poor);
      expect(refused.status).toBe(403);
      expect(refused.headers["www-authenticate"]).toContain('scope="orders:write"');
      expect((await post(callOf(2, "buy"), strong)).messages).toMatchObject([
        { result: { content: [{ text: "bought by ann" }] } },
      ]);
    },
  );

  it("nothing is for another principal (S6)", async () => {
    const client = await serveSession();
    const { post, get, end } = await openSession(client, strong);
    for (const message of [
      callOf(1, "buy"),
      request(2, "resources/subscribe", { uri: "stock://a" }),
      request(3, "logging/setLevel", { level: "error" }),
      notification("notifications/cancelled", { requestId: 1 }),
      { jsonrpc: "2.0", id: 1, result: {} },
    ]) {
      expect((await post(message, eve)).status).toBe(404);
    }
    const stream = await get(eve);
    expect(stream.status).toBe(404);
    stream.destroy();
    expect((await end(eve)).status).toBe(404);
    expect((await post(callOf(2, "buy"), strong)).status).toBe(200);
  });

  it("a subscription is made by who posts it (S6)", async () => {
    const { post } = await openSession(await serveSession(), strong);
    const subscribe = (id: number, who: JsonObject) =>
      post(request(id, "resources/subscribe", { uri: "stock://a" }), who);
    expect((await subscribe(1, weak)).messages).toMatchObject([{ error: { message: "orders:write is needed" } }]);
    expect((await subscribe(2, strong)).messages).toMatchObject([{ result: {} }]);
    expect(listened[0]).toBe("ann: orders:read");
  });

  it("a stream is picked up by a token that may what its call did, and no weaker one (S6)", async () => {
    const { call, get } = await openSession(await serveSession(), strong);
    const first = await call(callOf(1, "slow"), strong);
    await first.messages.count(1);
    const last = first.lastId;
    first.destroy();
    const poor = await get(weak, last);
    expect(poor.status).toBe(403);
    held.open();
    const rich = await get(strong, last);
    expect(await rich.messages.find(({ id }) => id === 1)).toMatchObject({
      result: { content: [{ text: "secret result" }] },
    });
    expect(JSON.stringify(poor.messages.items)).not.toContain("secret");
    poor.destroy();
    rich.destroy();
  });

  it("what belongs to no call is for a token that may what the session was opened with (S6)", async () => {
    const { get } = await openSession(await serveSession(), strong);
    const [poor, rich] = [await get(weak), await get(strong)];
    expect([poor.status, rich.status]).toEqual([403, 200]);
    poor.destroy();
    rich.destroy();
  });

  it("a task is told of to a token that may what its call did, and no weaker one (S6)", async () => {
    const { post, get } = await openSession(await serveSession(), weak);
    const stream = await get(weak);
    const begun = await post(
      request(1, "tools/call", { name: "work", arguments: {}, task: {}, _meta: { progressToken: 1 } }),
      strong,
    );
    expect(begun.status).toBe(200);
    const { task } = resultIn(begun) as { task: { taskId: string } };
    held.open();
    const status = async (): Promise<string> =>
      (await post(request(2, "tasks/get", { taskId: task.taskId }), strong)).body;
    while (!(await status()).includes('"completed"'));
    expect((await post(request(3, "tasks/get", { taskId: task.taskId }), weak)).status).toBe(403);
    expect(JSON.stringify(stream.messages.items)).not.toContain("secret");
    stream.destroy();
  });
});
