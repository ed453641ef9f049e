import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { connect } from "../../src/connect/index.ts";
import type { JsonObject } from "../../src/json/json.ts";
import { callOf, modernRequest } from "../support/fake-endpoint.ts";
import { type NodeOptions, type ServerNodes, startNode, startNodes } from "../support/nodes.ts";
import { patiently } from "../support/patience.ts";
import { createRawClient, openRawSession, type RawAnswer, type RawStream } from "../support/raw-http.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";
import { hello, notification, request } from "../support/served.ts";
import { createLog } from "./support/events.ts";
import { openV1 } from "./support/official-v1.ts";

// Three processes on one Redis, and something in front of them that gives each
// request to the next. Sessions of older clients do not notice.

let redis: TestRedis;
let served: ServerNodes;

const start = async (options?: NodeOptions): Promise<void> => {
  redis = await startRedis();
  served = await startNodes(redis.url, options);
};
const stop = async (): Promise<void> => {
  await served?.[Symbol.asyncDispose]();
  await redis?.[Symbol.asyncDispose]();
};

const portOf = (url: string): number => Number(new URL(url).port);
const front = () => createRawClient(portOf(served.front.url));
const uriOf = ({ params }: JsonObject): unknown => (params as JsonObject | undefined)?.uri;

/** Breaks a connection behind so many messages, also when more have come at once. Resolves when it is over. */
async function breakBehind(count: number, { messages, over, destroy }: RawStream): Promise<void> {
  void messages.find(() => {
    if (messages.items.length === count) destroy();
    return false;
  });
  await over;
}

const unlessReset = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== "ECONNRESET") throw error;
};

/** What a session is told of, over as many connections as it takes. */
function follow(session: Awaited<ReturnType<typeof openRawSession>>, heard: unknown[]) {
  const client = front();
  let stream: RawStream | undefined;
  let over = false;
  let connections = 0;
  const read = async (opened: RawStream): Promise<void> => {
    stream = opened;
    connections++;
    await opened.over;
    for (const message of opened.messages.items) heard.push(uriOf(message) ?? message.method);
    stream = undefined;
  };
  const run = async (): Promise<void> => {
    for (let last: string | undefined; !over; ) {
      const headers = { ...session.headers, ...(last !== undefined && { "last-event-id": last }) };
      // A process that is just being killed may still take a connection, and breaks it.
      const opened = await client.stream({ method: "GET", headers }).catch(unlessReset);
      if (over || opened?.status !== 200) opened?.destroy();
      else await read(opened);
      last = opened?.lastId ?? last;
    }
  };
  const ended = run();
  const end = async (): Promise<void> => {
    over = true;
    stream?.destroy();
    await ended;
  };
  return {
    /** How many there were, the open one included. */
    connections: () => connections,
    /** How much was heard, with what the open connection has brought. */
    count: () => heard.length + (stream?.messages.items.length ?? 0),
    cut: () => stream?.destroy(),
    end,
    [Symbol.asyncDispose]: end,
  };
}

describe.skipIf(redisProgram === undefined)("sessions that three processes serve", () => {
  beforeAll(() => start());
  afterAll(stop);

  describe.each(["2025-06-18", "2025-11-25"] as const)("our client, %s", (revision) => {
    it("is served by all of them, in one session", async () => {
      await using client = await connect(served.front.url, { revision });
      const places = new Set<unknown>();
      for (let n = 0; n < 30; n++) places.add(await client.tools.where?.({}));
      expect([...places].toSorted()).toEqual(["one", "three", "two"]);
    });

    it("answers what another process asked", async () => {
      await using client = await connect(served.front.url, { revision, onElicit: () => ({ reply: "me" }) });
      const answers = await Promise.all(Array.from({ length: 12 }, () => client.tools.ask?.({ text: "who" })));
      for (const answer of answers) expect(answer).toMatch(/^who: me at (one|two|three)$/);
      expect(new Set(answers).size).toBeGreaterThan(1);
    });

    it("cancels what another process runs", async () => {
      await using client = await connect(served.front.url, { revision });
      const said = served.nodes.map(({ said }) => said.items.length);
      const all = () => served.nodes.flatMap((node, at) => node.said.items.slice(said[at]));
      const calls = Array.from({ length: 4 }, () => {
        const controller = new AbortController();
        const call = client.callTool("hold", {}, { signal: controller.signal }).catch((error: unknown) => error);
        return { controller, call };
      });
      await vi.waitFor(() => expect(all().filter(({ held }) => held)).toHaveLength(4), patiently);
      for (const { controller } of calls) controller.abort();
      await Promise.all(calls.map(({ call }) => call));
      await vi.waitFor(() => expect(all().filter(({ cancelled }) => cancelled)).toHaveLength(4), patiently);
    });

    it("hears what changed in any of them", async () => {
      await using client = await connect(served.front.url, { revision });
      const heard = createLog<string>();
      const watches = Array.from({ length: 3 }, (_, n) => client.watch(`test://${n}`));
      for (const watch of watches) {
        await watch.ready;
        void (async () => {
          for await (const { uri } of watch) heard.add(uri);
        })();
      }
      for (const node of served.nodes) await node.announce(3);
      await vi.waitFor(() => expect(new Set(heard.items).size).toBe(3), patiently);
      await Promise.all(watches.map((watch) => watch[Symbol.asyncDispose]()));
    });

    it("hears of all steps of a call, and its result", async () => {
      await using client = await connect(served.front.url, { revision });
      const heard: unknown[] = [];
      const onProgress = ({ progress }: { progress: number }) => heard.push(progress);
      const { content } = await client.callTool("steps", { n: 50 }, { onProgress });
      expect(content).toEqual([{ type: "text", text: "50 steps" }]);
      expect(heard).toEqual(Array.from({ length: 50 }, (_, n) => n + 1));
    });
  });

  it("a client of 2026-07-28 hears what changed in any of them", async () => {
    await using client = await connect(served.front.url, { revision: "2026-07-28" });
    const heard: string[] = [];
    const watch = client.watch("test://0");
    await watch.ready;
    void (async () => {
      for await (const { uri } of watch) heard.push(uri);
    })();
    for (const [at, node] of served.nodes.entries()) {
      await node.announce(1);
      await vi.waitFor(() => expect(heard).toHaveLength(at + 1), patiently);
    }
    await watch[Symbol.asyncDispose]();
  });

  it.each(["2025-06-18", "2025-11-25"])("C108: a call is picked up anywhere by a client of %s", async (revision) => {
    const session = await openRawSession(front(), { revision });
    const steps = 300;
    const params = { name: "steps", arguments: { n: steps }, _meta: { progressToken: 1 } };
    const heard: JsonObject[] = [];
    let stream = await session.call(request(9, "tools/call", params));
    let connections = 1;
    for (let last = stream.lastId; !heard.some(({ id }) => id === 9); connections++) {
      await breakBehind(25, stream);
      heard.push(...stream.messages.items);
      last = stream.lastId ?? last;
      if (!heard.some(({ id }) => id === 9)) stream = await session.get(last);
    }
    const progress = heard.slice(0, -1).map(({ params: told }) => (told as JsonObject).progress);
    expect(progress).toEqual(Array.from({ length: steps }, (_, n) => n + 1));
    expect(heard.at(-1)).toMatchObject({ id: 9, result: { content: [{ text: "300 steps" }] } });
    expect(connections).toBeGreaterThan(3);
  });

  it("the official client, version 1, notices nothing", async () => {
    const session = await openV1(new StreamableHTTPClientTransport(new URL(served.front.url)));
    session.fill = () => ({ action: "accept", content: { reply: "me" } });
    const places = new Set<string>();
    for (let n = 0; n < 12; n++) places.add(await session.call("where"));
    expect(places.size).toBe(3);
    for (let n = 0; n < 6; n++) expect(await session.call("ask", { text: "who" })).toMatch(/^who: me at/);
    const progress: object[] = [];
    await session.callTool({ name: "steps", arguments: { n: 20 } }, { onprogress: (step) => progress.push(step) });
    expect(progress).toHaveLength(20);
    await session.client.subscribeResource({ uri: "test://0" });
    for (const node of served.nodes) await node.announce(1);
    await vi.waitFor(() => expect(session.changes.items).toEqual(["test://0", "test://0", "test://0"]), patiently);
    await session.client.close();
  });

  it("C105: a session that was ended is ended in all of them", async () => {
    const session = await openRawSession(front());
    expect((await front().request({ method: "DELETE", headers: session.headers })).status).toBe(204);
    for (const { port } of served.nodes) {
      const ping = { headers: session.headers, body: request(1, "ping") };
      expect((await createRawClient(port).request(ping)).status).toBe(404);
    }
  });
});

describe.skipIf(redisProgram === undefined)("a process that is killed", () => {
  beforeAll(() => start());
  afterAll(stop);

  it("costs no session: only calls that it was answering fail, and no answer comes twice", async () => {
    const sessions = await Promise.all(Array.from({ length: 40 }, () => openRawSession(front())));
    let going = true;
    let failed = 0;
    let answered = 0;
    const load = sessions.map(async (session) => {
      for (let id = 1; going; id++) {
        const reply = await session.post(callOf(id, "echo", { text: `${id}` })).catch(() => undefined);
        if (reply === undefined) failed++;
        else expect(reply.messages).toMatchObject([{ id, result: { content: [{ text: `${id}` }] } }]);
        answered += reply === undefined ? 0 : 1;
      }
    });
    await vi.waitFor(() => expect(answered).toBeGreaterThan(200), patiently);
    const spare = await startNode(redis.url, "spare");
    served.front.ports = [...served.front.ports, spare.port];
    await vi.waitFor(() => expect(served.front.handed.get(spare.port)).toBeGreaterThan(20), patiently);
    await spare.kill();
    served.front.ports = served.front.ports.filter((port) => port !== spare.port);
    const before = answered;
    await vi.waitFor(() => expect(answered).toBeGreaterThan(before + 400), patiently);
    going = false;
    await Promise.all(load);
    expect(failed).toBeLessThanOrEqual(sessions.length);
  });

  it("loses nothing: each of 10,000 updates is heard once, and in order", async () => {
    const session = await openRawSession(front());
    for (let n = 0; n < 50; n++) {
      const answer = await session.post(request(n, "resources/subscribe", { uri: `test://${n}` }));
      expect(answer.messages).toMatchObject([{ id: n, result: {} }]);
    }
    const [one, two, three] = served.nodes;
    const total = 10_000;
    const heard: unknown[] = [];
    // The first connection leads to the one that will be killed.
    served.front.ports = [two.port];
    await using reader = follow(session, heard);
    const connected = (times: number) =>
      vi.waitFor(() => expect(reader.connections()).toBeGreaterThanOrEqual(times), patiently);
    await connected(1);
    served.front.ports = [one.port, two.port, three.port];
    const announced = three.announce(total);
    await vi.waitFor(() => expect(reader.count()).toBeGreaterThan(500), patiently);
    await two.kill();
    served.front.ports = [one.port, three.port];
    await connected(2);
    await vi.waitFor(() => expect(reader.count()).toBeGreaterThan(2_000), patiently);
    reader.cut();
    await connected(3);
    await announced;
    await vi.waitFor(() => expect(reader.count()).toBeGreaterThanOrEqual(total), { ...patiently, timeout: 120_000 });
    await reader.end();
    expect(heard).toEqual(Array.from({ length: total }, (_, n) => `test://${n % 50}`));
  }, 240_000);

  it("leaves no client waiting: what it ran is answered with an error that says so (B12)", async () => {
    const [one, , three] = served.nodes;
    const client = createRawClient(one.port);
    const session = await openRawSession(client);
    const held = one.said.items.length;
    const params = { name: "hold", arguments: {}, _meta: { progressToken: 1 } };
    const stream = await client.stream({ headers: session.headers, body: request(7, "tools/call", params) });
    await stream.messages.count(1);
    await vi.waitFor(() => expect(one.said.items.length).toBeGreaterThan(held), patiently);
    await one.kill();
    served.front.ports = [three.port];
    const headers = { ...session.headers, "last-event-id": stream.lastId };
    const resumed = await front().stream({ method: "GET", headers });
    const message = expect.stringContaining("the server process that ran this request is gone");
    const error = { code: -32000, message, data: { reason: "connection-closed", safeToRetry: false } };
    const answer = await resumed.messages.find(({ id }) => id === 7);
    expect(answer).toEqual({ jsonrpc: "2.0", id: 7, error });
    expect(await resumed.over).toBe("ended");
    expect((await front().request({ headers: session.headers, body: request(8, "ping") })).status).toBe(200);
  });
});

describe.skipIf(redisProgram === undefined)("Redis", () => {
  beforeAll(() => start({ waitMs: 3_000 }));
  afterAll(stop);

  const modern = modernRequest(1, "tools/call", { name: "where", arguments: {} });

  it("that stops for a moment costs no session, and no call that needs none", async () => {
    const sessions = await Promise.all(Array.from({ length: 5 }, () => openRawSession(front())));
    const statuses = new Map<string, number>();
    const note = (kind: string, { status }: RawAnswer): void => {
      statuses.set(`${kind} ${status}`, (statuses.get(`${kind} ${status}`) ?? 0) + 1);
    };
    let going = true;
    const load = [
      ...sessions.map(async (session, at) => {
        for (let id = at; going; id += 10) note("session", await session.post(callOf(id, "echo", { text: "x" })));
      }),
      (async () => {
        while (going) note("modern", await front().request(modern));
      })(),
    ];
    await vi.waitFor(() => expect(statuses.get("session 200")).toBeGreaterThan(20), patiently);
    await redis.stop("SIGKILL");
    const before = statuses.get("modern 200") ?? 0;
    await vi.waitFor(() => expect(statuses.get("session 503")).toBeGreaterThan(3), patiently);
    await vi.waitFor(() => expect(statuses.get("modern 200")).toBeGreaterThan(before + 20), patiently);
    await redis.start();
    const after = statuses.get("session 200") ?? 0;
    await vi.waitFor(() => expect(statuses.get("session 200")).toBeGreaterThan(after + 50), patiently);
    going = false;
    await Promise.all(load);
    expect([...statuses.keys()].toSorted()).toEqual(["modern 200", "session 200", "session 503"]);
    for (const session of sessions) expect((await session.post(request(1, "ping"))).status).toBe(200);
  });

  it("that says nothing makes requests of sessions end with 503, and nothing else", async () => {
    const session = await openRawSession(front());
    redis.pause();
    const refused = await Promise.all([1, 2, 3].map((id) => session.post(request(id, "ping"))));
    expect(refused.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(refused[0]?.headers["retry-after"]).toBe("1");
    expect((await front().request(modern)).status).toBe(200);
    redis.resume();
    await vi.waitFor(async () => expect((await session.post(request(4, "ping"))).status).toBe(200), patiently);
  });

  it("that has lost its data makes clients open their sessions anew, once", async () => {
    await using client = await connect(served.front.url, { revision: "2025-11-25" });
    expect(await client.tools.echo?.({ text: "before" })).toBe("before");
    const raw = await openRawSession(front());
    const { Redis } = await import("ioredis");
    const admin = new Redis(redis.url);
    await admin.flushall();
    admin.disconnect();
    expect((await raw.post(request(1, "ping"))).status).toBe(404);
    for (let n = 0; n < 6; n++) expect(await client.tools.echo?.({ text: "after" })).toBe("after");
    const opened = await front().request({ body: request(0, "initialize", hello("2025-11-25")) });
    expect(opened.status).toBe(200);
    const headers = { "mcp-session-id": String(opened.headers["mcp-session-id"]) };
    expect((await front().request({ headers, body: notification("notifications/initialized") })).status).toBe(202);
  });
});
