import { afterEach, describe, expect, it, vi } from "vitest";
import type { JsonObject } from "../../src/json/json.ts";
import { metaKeys } from "../../src/protocol/meta.ts";
import { createSseParser } from "../../src/std/sse.ts";
import { createManualClock } from "../../src/testing/clock.ts";
import { type HttpServeHandle, type ServeHttpOptions, serveHttp } from "../../src/transport/node/serve-http.ts";
import { callOf, modernCall } from "../support/fake-endpoint.ts";
import { createHttpService } from "../support/http-service.ts";
import { patiently } from "../support/patience.ts";
import { createRawClient, openRawSession, type RawSession, type RawStream } from "../support/raw-http.ts";
import { notification } from "../support/served.ts";

// The streams of our server over real sockets: who gets what, once, in order,
// whatever happens to the connections.

const open: HttpServeHandle[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((serving) => serving.close()));
});

async function serve(options: ServeHttpOptions = {}) {
  const service = createHttpService();
  const serving = await serveHttp(service.server, { port: 0, ...options });
  open.push(serving);
  return { ...service, serving, client: createRawClient(serving.port) };
}

const logs = { [metaKeys.logLevel]: "info" };
const positionsIn = (messages: readonly JsonObject[]): readonly unknown[] =>
  messages.flatMap(({ params }) => {
    const { data } = (params ?? {}) as { data?: { at?: number } };
    return data?.at === undefined ? [] : [data.at];
  });
const range = (to: number) => Array.from({ length: to }, (_, n) => n + 1);
const truncated = "notifications/replay_truncated";

describe("C110 and edge 27: each message goes to one stream", () => {
  it("with news and two calls open, each gets its own", async () => {
    const { client, server } = await serve();
    const session = await openRawSession(client, { capabilities: { elicitation: {} } });
    const news = [await session.get(), await session.get()];
    const calls = await Promise.all(["one", "two"].map((text) => session.call(callOf(text, "ask", { text }))));
    const questions = await Promise.all(calls.map(({ messages }) => messages.count(1)));
    expect(questions).toMatchObject([[{ params: { message: "one" } }], [{ params: { message: "two" } }]]);
    server.tools.remove("bump");
    const told = await Promise.race(news.map(({ messages }) => messages.count(1)));
    expect(told).toMatchObject([{ method: "notifications/tools/list_changed" }]);
    for (const [index, reply] of ["first", "second"].entries()) {
      const id = questions[index]?.[0]?.id;
      await session.post({ jsonrpc: "2.0", id, result: { action: "accept", content: { reply } } });
    }
    await Promise.all(calls.map(({ over }) => over));
    const all = [...news, ...calls].flatMap(({ messages }) => messages.items);
    expect(all).toHaveLength(5);
    expect(calls.map(({ messages }) => messages.items[1])).toMatchObject([
      { id: "one", result: { content: [{ text: "one: first" }] } },
      { id: "two", result: { content: [{ text: "two: second" }] } },
    ]);
    const ids = [...news, ...calls].flatMap(({ blocks }) => blocks.items.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    for (const stream of news) stream.destroy();
  });

  it("two clients with the same ids see only their own answers, 20 times", async () => {
    const { client } = await serve();
    const sessions = await Promise.all([openRawSession(client), openRawSession(client)]);
    for (let round = 0; round < 20; round++) {
      const calls = sessions.map(async (session, who) => {
        const text = `${who} in ${round}`;
        const [plain, streamed] = await Promise.all([
          session.post(callOf(1, "echo", { text })),
          session.post(callOf(2, "count", { n: who + 1 })),
        ]);
        expect(plain.messages).toMatchObject([{ id: 1, result: { content: [{ text }] } }]);
        expect(streamed.messages.at(-1)).toMatchObject({
          id: 2,
          result: { content: [{ text: `counted to ${who + 1}` }] },
        });
        expect(streamed.messages).toHaveLength(who + 2);
      });
      const moderns = ["a", "b"].map(async (text) => {
        const { messages } = await client.request(modernCall(1, "echo", { text }));
        expect(messages).toMatchObject([{ id: 1, result: { content: [{ text }] } }]);
      });
      await Promise.all([...calls, ...moderns]);
    }
  });
});

describe("edge 12: a client that breaks its connection", () => {
  it.each<readonly [string, string, JsonObject]>([
    ["plain", "hold", {}],
    ["streamed", "count", { n: 100_000_000, paced: true }],
  ])("has cancelled its modern call, %s", async (_, tool, args) => {
    const { client, holding, held, serving } = await serve({ clock: createManualClock() });
    const asked = modernCall(1, tool, args, logs);
    if (tool === "hold") {
      const { socket } = await client.socket();
      const body = JSON.stringify(asked.body);
      const lines = Object.entries({
        host: "localhost",
        accept: "*/*",
        "content-type": "application/json",
        "content-length": String(body.length),
        ...asked.headers,
      }).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
      await holding(1);
      socket.destroy();
      await vi.waitFor(() => expect(held[0]?.aborted).toBe(true), patiently);
    } else {
      const stream = await client.stream(asked);
      await stream.messages.count(2);
      stream.destroy();
    }
    // Time stands still, so nothing that still ran would be given up.
    await serving.close();
  });

  it("has not cancelled its call in a session", async () => {
    const { client, holding, held, release } = await serve();
    const session = await openRawSession(client, { capabilities: { elicitation: {} } });
    const news = await session.get();
    const stream = await session.call(callOf(1, "ask", { text: "who" }));
    const [question] = await stream.messages.count(1);
    stream.destroy();
    await stream.over;
    const { socket } = await client.socket();
    const body = JSON.stringify(callOf(2, "hold"));
    const lines = Object.entries({
      host: "localhost",
      accept: "*/*",
      "content-type": "application/json",
      "content-length": String(body.length),
      ...session.headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
    await holding(1);
    socket.destroy();
    await session.post({ jsonrpc: "2.0", id: question?.id, result: { action: "accept", content: { reply: "me" } } });
    const resumed = await session.get(stream.lastId);
    expect(await resumed.over).toBe("ended");
    expect(resumed.messages.items).toMatchObject([{ id: 1, result: { content: [{ text: "who: me" }] } }]);
    expect(held[0]?.aborted).toBe(false);
    await session.post(notification("notifications/cancelled", { requestId: 2 }));
    await vi.waitFor(() => expect(held[0]?.aborted).toBe(true), patiently);
    release();
    expect(news.messages.items).toEqual([]);
    news.destroy();
  });
});

describe("C108: resumption", () => {
  const n = 12;

  it.each(range(n + 1))("after the connection broke behind event %d", async (k) => {
    const { client } = await serve();
    const session = await openRawSession(client);
    const first = await session.call(callOf("call", "count", { n }));
    const seen = (await first.messages.count(k)).slice(0, k);
    first.destroy();
    await first.over;
    const id = first.blocks.items.filter(({ message }) => message !== undefined)[k - 1]?.id;
    const second = await session.get(id);
    expect(await second.over).toBe("ended");
    const all = [...seen, ...second.messages.items];
    expect(positionsIn(all)).toEqual(range(n));
    expect(all).toHaveLength(n + 1);
    expect(all.at(-1)).toMatchObject({ id: "call", result: { content: [{ text: `counted to ${n}` }] } });
  });

  it("with an id of another session gives nothing of it", async () => {
    const { client } = await serve();
    const [one, other] = [await openRawSession(client), await openRawSession(client)];
    const call = await one.call(callOf(1, "count", { n: 5 }));
    expect(await call.over).toBe("ended");
    expect(call.messages.items).toHaveLength(6);
    const stream = await other.get(call.blocks.items[1]?.id);
    expect(await stream.messages.count(1)).toMatchObject([{ method: truncated }]);
    await other.post(callOf(2, "echo", { text: "x" }));
    expect(stream.messages.items).toHaveLength(1);
    stream.destroy();
  });

  it("C109: says what is lost when it was too long ago, and goes on", async () => {
    const { client, server } = await serve({ limits: { maxReplayBytes: 2_000 } });
    const session = await openRawSession(client);
    const first = await session.call(callOf(1, "count", { n: 100 }));
    expect(await first.over).toBe("ended");
    const second = await session.get(first.blocks.items[1]?.id);
    expect(await second.over).toBe("ended");
    expect(second.messages.items[0]).toMatchObject({ method: truncated });
    const left = positionsIn(second.messages.items);
    expect(left).toEqual(range(100).slice(-left.length));
    expect(second.messages.items.at(-1)).toMatchObject({ id: 1, result: {} });
    const news = await session.get("9-9");
    server.tools.remove("bump");
    expect(await news.messages.count(2)).toMatchObject([
      { method: truncated },
      { method: "notifications/tools/list_changed" },
    ]);
    news.destroy();
  });

  it("takes the stream over from a connection that still lives", async () => {
    const { client } = await serve();
    const session = await openRawSession(client, { capabilities: { elicitation: {} } });
    const first = await session.call(callOf(1, "ask", { text: "who" }));
    const [question] = await first.messages.count(1);
    const second = await session.get(first.blocks.items[0]?.id);
    expect(await first.over).toBe("ended");
    expect(await second.messages.count(1)).toEqual([question]);
    await session.post({ jsonrpc: "2.0", id: question?.id, result: { action: "decline" } });
    expect(await second.over).toBe("ended");
    expect(second.messages.items.at(-1)).toMatchObject({ id: 1 });
  });
});

/**
 * Breaks the connection behind a random number of events, and comes back, until
 * the answer is there. Whatever else is on its way then is lost, as on any network.
 */
async function readWithKills(session: RawSession, call: JsonObject, kills: number, random: () => number) {
  const messages: JsonObject[] = [];
  let killed = 0;
  let lastId: string | undefined;
  let stream: RawStream | undefined;
  while (messages.at(-1)?.id !== call.id) {
    stream = stream === undefined ? await session.call(call) : await session.get(lastId);
    expect(stream.status).toBe(200);
    const quota = killed < kills ? 1 + Math.floor(random() * 40) : Number.POSITIVE_INFINITY;
    const enough = stream.messages.count(quota).then(() => "enough" as const);
    if ((await Promise.race([enough, stream.over])) === "enough") {
      stream.destroy();
      killed++;
    }
    const seen = stream.blocks.items.filter(({ message }) => message !== undefined).slice(0, quota);
    for (const { id = lastId, message = {} } of seen) {
      messages.push(message);
      lastId = id;
    }
    await stream.over;
  }
  return { messages, killed };
}

/** The same numbers on every run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe("200 broken connections during 5,000 notifications", () => {
  it.each<readonly [string, string, boolean]>([
    ["a burst", "2025-11-25", false],
    ["a burst", "2025-06-18", false],
    ["a steady pace", "2025-11-25", true],
    ["a steady pace", "2025-06-18", true],
  ])("at %s, a client of %s loses none, gets none twice, and in order", async (_, revision, paced) => {
    const { client } = await serve();
    const session = await openRawSession(client, { revision });
    const call = callOf("call", "count", { n: 5_000, paced });
    const { messages, killed } = await readWithKills(session, call, 200, createRandom(7));
    expect(messages.filter(({ method }) => method === truncated)).toEqual([]);
    expect(positionsIn(messages)).toEqual(range(5_000));
    expect(messages.at(-1)).toMatchObject({ id: "call", result: { content: [{ text: "counted to 5000" }] } });
    expect(messages).toHaveLength(5_001);
    expect(killed).toBe(200);
  });
});

describe("C111: a client that reads slowly", () => {
  it("loses nothing, and who writes waits for it", async () => {
    const { client } = await serve();
    const session = await openRawSession(client);
    const before = process.memoryUsage().arrayBuffers;
    const call = callOf(1, "count", { n: 16_000, size: 1_000 });
    const stream = await session.call(call);
    stream.pause();
    const others = await Promise.all(range(20).map((id) => session.post(callOf(`e${id}`, "echo", { text: "x" }))));
    expect(others.map(({ status }) => status)).toEqual(others.map(() => 200));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1_048_576);
    stream.resume();
    expect(await stream.over).toBe("ended");
    expect(positionsIn(stream.messages.items)).toEqual(range(16_000));
  });

  it("gets a result that is larger than what may wait, also behind an event", async () => {
    const { client } = await serve();
    const session = await openRawSession(client);
    const { messages } = await session.post(callOf(1, "bigEvent", { n: 20_000_000 }));
    expect(messages).toHaveLength(2);
    expect(JSON.stringify(messages[1]).length).toBeGreaterThan(20_000_000);
  });

  it("is cut off when it does not read at all, which is reported", async () => {
    const warnings: unknown[] = [];
    const { client } = await serve({ keepAliveMs: 30, onWarning: (warning) => warnings.push(warning) });
    const stream = await client.stream(modernCall(1, "count", { n: 100_000, size: 1_000 }, logs));
    stream.pause();
    await vi.waitFor(() => expect(warnings).toHaveLength(1), patiently);
    expect(warnings).toEqual([{ kind: "client-dropped", message: "a client did not read for too long" }]);
    stream.resume();
    expect(await stream.over).toBe("cut");
  });
});

it("keeps silent streams alive with comments that every reader skips", async () => {
  const { client } = await serve({ keepAliveMs: 10 });
  const session = await openRawSession(client, { revision: "2025-06-18" });
  const stream = await session.get();
  const blocks = await stream.blocks.count(3);
  expect(blocks).toEqual([{ comment: "" }, { comment: "" }, { comment: "" }]);
  expect(createSseParser().push(Buffer.from(": \n\n: \n\n"))).toEqual([]);
  stream.destroy();
});

it("makes a long call a stream, so that it can be kept alive and resumed", async () => {
  const { client, holding, release } = await serve({ keepAliveMs: 10 });
  const session = await openRawSession(client);
  const stream = await session.call(callOf(1, "hold"));
  await holding(1);
  await stream.blocks.count(2);
  expect(stream.blocks.items.slice(0, 2)).toEqual([
    { id: expect.stringMatching(/^[\w-]{16}-0$/), retry: 1_000 },
    { comment: "" },
  ]);
  stream.destroy();
  await stream.over;
  release();
  const resumed = await session.get(stream.lastId);
  expect(await resumed.over).toBe("ended");
  expect(resumed.messages.items).toMatchObject([{ id: 1, result: { content: [{ text: "held" }] } }]);
});
