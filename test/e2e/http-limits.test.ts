import { randomBytes } from "node:crypto";
import { Agent, request as httpRequest } from "node:http";
import { afterEach, describe, expect, it, vi } from "vitest";
import { connect } from "../../src/connect/index.ts";
import { createServer, tool } from "../../src/server/index.ts";
import { createManualClock } from "../../src/testing/clock.ts";
import type { HttpWarning } from "../../src/transport/http/options.ts";
import { type HttpServeHandle, type ServeHttpOptions, serveHttp } from "../../src/transport/node/serve-http.ts";
import { callOf, modernCall } from "../support/fake-endpoint.ts";
import { createHttpService } from "../support/http-service.ts";
import { patiently } from "../support/patience.ts";
import { createRawClient, openRawSession, type RawClient } from "../support/raw-http.ts";
import { request } from "../support/served.ts";

// What clients may take of a server over real sockets, and what they hear at the bound.

const open: HttpServeHandle[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((serving) => serving.close()));
});

async function serve(options: ServeHttpOptions = {}) {
  const service = createHttpService();
  const warnings: HttpWarning[] = [];
  const serving = await serveHttp(service.server, {
    port: 0,
    onWarning: (warning) => void warnings.push(warning),
    ...options,
  });
  open.push(serving);
  return { ...service, serving, warnings, client: createRawClient(serving.port) };
}

/** A request as it goes over a socket. */
function bytesOf({ body, headers }: ReturnType<typeof modernCall>): string {
  const text = JSON.stringify(body);
  const all = {
    host: "localhost",
    accept: "*/*",
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(text)),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n${text}`;
}

const countIn = (text: string, part: string): number => text.split(part).length - 1;

describe("requests that do not wait for answers", () => {
  it("are worked on one at a time, and answered in their order (S2)", async () => {
    const { client, holding, held, release, serving } = await serve();
    const { socket, until } = await client.socket();
    const echo = modernCall(2, "echo", { text: "second" });
    socket.write(bytesOf(modernCall(1, "hold")) + bytesOf(echo) + bytesOf(modernCall(3, "hold")));
    await holding(1);
    // What was sent together has been read by the time that another connection has its answer.
    const other = modernCall(4, "echo", { text: "elsewhere" });
    expect((await client.request(other)).status).toBe(200);
    expect(held).toHaveLength(1);
    expect(serving.status().held.runningCalls).toBe(1);
    release();
    const text = await until((all) => countIn(all, "HTTP/1.1 200") === 3);
    expect([...text.matchAll(/"id":(\d)/g)].map(([, id]) => id)).toEqual(["1", "2", "3"]);
    socket.destroy();
    await vi.waitFor(() => expect(serving.status().held.openRequests).toBe(0), patiently);
  });

  it("are let go of when their client leaves (S2)", async () => {
    const { client, holding, serving } = await serve();
    const { socket } = await client.socket();
    socket.write(bytesOf(modernCall(1, "hold")) + bytesOf(modernCall(2, "hold")));
    await holding(1);
    socket.destroy();
    await vi.waitFor(
      () => expect(serving.status()).toMatchObject({ principals: 0, held: { openRequests: 0, heldBytes: 0 } }),
      patiently,
    );
  });
});

describe("the status of an endpoint", () => {
  it("has what the server holds, and every limit of message, connection, principal and process", async () => {
    const server = createServer({
      name: "s",
      version: "1",
      budgets: { principal: { maxTasks: 7 }, process: { maxParkedCalls: 9 } },
      stateKeys: [randomBytes(32).toString("base64")],
      tools: {
        ask: tool({ run: async (_, { ask }) => String(await ask("Sure?")) }),
        slow: tool({ task: "required", run: () => "done" }),
      },
    });
    const serving = await serveHttp(server, { port: 0, limits: { maxUriLength: 99 } });
    open.push(serving);
    const idle = serving.status();
    expect(idle).toMatchObject({ held: { parkedCalls: 0, tasks: 0 }, limits: { parkedCalls: 9, tasks: 10_000 } });
    expect(idle.budgets.principal).toMatchObject({ tasks: 7, parkedCalls: 250, sessions: 2_000 });
    expect(idle.budgets.connection).toMatchObject({ streams: 4, heldBytes: 25_165_824 });
    expect(idle.messageLimits).toMatchObject({ maxUriLength: 99, maxMessageBytes: 4_194_304 });
    const client = createRawClient(serving.port);
    await client.request(
      modernCall(1, "ask", {}, { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } }),
    );
    await using tasking = await connect(serving.url);
    await tasking.callTool("slow");
    expect(serving.status().held).toMatchObject({ parkedCalls: 1, tasks: 1 });
  });
});

describe("large answers", () => {
  const long = `${"€".repeat(70_000)}${"\u{1f600}".repeat(200_000)}`;
  const server = createServer({ name: "s", version: "1", tools: { long: tool({ run: () => long }) } });

  it.each(["auto", "sse"] as const)("arrive whole, however they are cut into pieces: %s (B14)", async (respondWith) => {
    const serving = await serveHttp(server, { port: 0, respondWith });
    open.push(serving);
    for (const revision of ["2026-07-28", "2025-11-25"] as const) {
      await using client = await connect(serving.url, { revision });
      expect((await client.callTool("long")).content).toEqual([{ type: "text", text: long }]);
    }
    expect(serving.status().held.heldBytes).toBeLessThan(3_000_000);
  });

  it("of somebody who reads nothing are not sent once a share is used up (S2)", async () => {
    let letGo = (): void => {};
    const released = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let running = 0;
    const run = async (): Promise<string> => {
      running++;
      await released;
      return "x".repeat(20_000_000);
    };
    const serving = await serveHttp(createServer({ name: "s", version: "1", tools: { huge: tool({ run }) } }), {
      port: 0,
    });
    open.push(serving);
    const clients = await Promise.all(Array.from({ length: 3 }, () => createRawClient(serving.port).socket()));
    for (const { socket } of clients) {
      socket.pause();
      socket.write(bytesOf(modernCall(1, "huge")));
    }
    await vi.waitFor(() => expect(running).toBe(3), patiently);
    letGo();
    // Two of them are more than the share: the third is told so.
    await vi.waitFor(() => expect(serving.status().held.heldBytes).toBeGreaterThan(35_000_000), patiently);
    expect(serving.status().held.heldBytes).toBeLessThan(45_000_000);
    for (const { socket } of clients) socket.resume();
    const heads = await Promise.all(clients.map(({ until }) => until((text) => text.startsWith("HTTP/1.1 "))));
    expect(heads.map((head) => head.slice(9, 12)).toSorted()).toEqual(["200", "200", "429"]);
  });

  it("are cut off when nothing of them is read for three beats (S2)", async () => {
    const clock = createManualClock();
    const huge = createServer({
      name: "s",
      version: "1",
      tools: { huge: tool({ run: () => "x".repeat(50_000_000) }) },
    });
    const warnings: string[] = [];
    const onWarning = ({ kind, message }: HttpWarning) => void warnings.push(`${kind}: ${message}`);
    const serving = await serveHttp(huge, { port: 0, clock, keepAliveMs: 1_000, onWarning });
    open.push(serving);
    const { socket, closed } = await createRawClient(serving.port).socket();
    socket.pause();
    socket.write(bytesOf(modernCall(1, "huge")));
    await vi.waitFor(() => expect(serving.status().held.heldBytes).toBeGreaterThan(50_000_000), patiently);
    // Until the system takes no more of it.
    await vi.waitFor(async () => {
      await clock.advanceAsync(1_000);
      expect(warnings).toEqual(["client-dropped: a client did not read for too long"]);
    }, patiently);
    await vi.waitFor(() => expect(serving.status().held.heldBytes).toBe(0), patiently);
    socket.resume();
    await closed;
  });
});

describe("at the bound", () => {
  it("our client hears which limit it is, how much, whose, and when to come again", async () => {
    const { serving, holding, release } = await serve({
      budgets: { principal: { maxRunningCalls: 1, maxQueuedCalls: 1 } },
    });
    await using client = await connect(serving.url);
    const calls = [client.callTool("hold"), client.callTool("hold")];
    await holding(1);
    await vi.waitFor(() => expect(serving.status().held.queuedCalls).toBe(1), patiently);
    const reached = { limit: "maxQueuedCalls", max: 1, scope: "principal", retryAfterMs: 1_000 };
    await expect(client.callTool("hold")).rejects.toMatchObject({
      code: "limit-reached",
      message: expect.stringContaining("budgets.principal.maxQueuedCalls of the server is 1"),
      data: reached,
    });
    release();
    await Promise.all(calls);
  });

  it("whoever runs the server hears of it once a second for the same limit and principal", async () => {
    const clock = createManualClock();
    const { client, warnings } = await serve({ clock, budgets: { principal: { maxSessions: 1 } } });
    await openRawSession(client);
    const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } };
    const another = () => client.request({ body: request(0, "initialize", hello) });
    expect([(await another()).status, (await another()).status]).toEqual([429, 429]);
    const message = "budgets.principal.maxSessions (1) is used up by address 127.0.0.1";
    expect(warnings).toEqual([{ kind: "limit-reached", message }]);
    clock.advance(1_000);
    await another();
    expect(warnings).toHaveLength(2);
  });

  it("a body that has no room is refused as it arrives, and others are taken again when it is gone (S3)", async () => {
    const { client, serving } = await serve({ budgets: { principal: { maxHeldBytes: 1_500_000 } } });
    const { socket } = await client.socket();
    const head = bytesOf(modernCall(1, "echo", { text: "x" })).split("\r\n\r\n")[0] as string;
    const chunked = head.replace(/content-length: \d+/, "transfer-encoding: chunked");
    socket.write(`${chunked}\r\n\r\n${(2_000_000).toString(16)}\r\n${"x".repeat(1_000_000)}`);
    await vi.waitFor(() => expect(serving.status().held.heldBytes).toBe(1_000_000), patiently);
    const refused = await client.request(modernCall(2, "echo", { text: "x".repeat(900_000) }));
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"]);
    expect(refused.messages).toMatchObject([{ error: { data: { limit: "maxHeldBytes", scope: "principal" } } }]);
    expect((await client.request(modernCall(3, "echo", { text: "x" }))).status).toBe(200);
    socket.destroy();
    await vi.waitFor(async () => {
      expect((await client.request(modernCall(4, "echo", { text: "x".repeat(900_000) }))).status).toBe(200);
    }, patiently);
  });

  it("the values of a body count before they are built (S3)", async () => {
    const { client } = await serve({ budgets: { principal: { maxHeldBytes: 1_000_000 } } });
    const wide = modernCall(1, "echo", { text: "x", wide: new Array(20_000).fill(0) });
    const refused = await client.request(wide);
    expect(refused.status).toBe(429);
    expect(refused.messages).toMatchObject([{ error: { data: { limit: "maxHeldBytes" } } }]);
  });

  it("a batch of too many messages is refused before any of them (S9)", async () => {
    const { client } = await serve({ budgets: { connection: { maxOpenRequests: 3 } } });
    const session = await openRawSession(client, { revision: "2025-03-26" });
    const answer = await session.post([1, 2, 3, 4].map((id) => callOf(id, "echo", { text: "x" })));
    expect(answer.status).toBe(429);
    expect(answer.messages).toMatchObject([{ error: { data: { limit: "maxOpenRequests", max: 3 } } }]);
  });

  it("a subscription too many, and one with too long a name, is refused (S10)", async () => {
    const { client, serving } = await serve({
      budgets: { connection: { maxSubscriptions: 2 } },
      limits: { maxUriLength: 30 },
    });
    const session = await openRawSession(client);
    const subscribe = async (uri: string) =>
      (await session.post(request(1, "resources/subscribe", { uri }))).messages[0]?.error;
    expect([await subscribe("test://a"), await subscribe("test://b"), await subscribe("test://a")]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(await subscribe("test://c")).toMatchObject({ data: { limit: "maxSubscriptions", max: 2 } });
    expect(serving.status().held.subscriptions).toBe(2);
    expect(await subscribe(`test://${"x".repeat(30)}`)).toMatchObject({
      code: -32602,
      message: "the URI of a subscription has 37 characters, and limits.maxUriLength is 30",
    });
    await session.post(request(2, "resources/unsubscribe", { uri: "test://a" }));
    expect(await subscribe("test://c")).toBeUndefined();
    await session.end();
    expect(serving.status()).toMatchObject({ held: { subscriptions: 0, sessions: 0 } });
  });

  it("a body that finds no room is refused, read no further, and cut off, and others get in meanwhile (H1)", async () => {
    const { client, serving } = await serve({ budgets: { principal: { maxHeldBytes: 300_000 } } });
    const { socket, until, closed } = await client.socket();
    const { headers } = modernCall(1, "echo", { text: "x" });
    const [head = ""] = bytesOf({ body: {}, headers }).split("\r\n\r\n");
    const length = 40_000_000;
    const chunked = head.replace(/content-length: \d+/, "transfer-encoding: chunked");
    socket.write(`${chunked}\r\n\r\n${length.toString(16)}\r\n${"x".repeat(400_000)}`);
    expect(await until((text) => text.includes("maxHeldBytes"))).toMatch(/^HTTP\/1\.1 429 /);
    await vi.waitFor(() => expect(serving.status().held.heldBytes).toBe(0), patiently);
    expect((await client.request(modernCall(2, "echo", { text: "y" }))).status).toBe(200);
    let isTaken = false;
    socket.on("error", () => {});
    socket.write("x".repeat(length - 400_000), () => {
      isTaken = !socket.destroyed;
    });
    expect(await closed).toContain("maxHeldBytes");
    expect(isTaken).toBe(false);
  });

  it("long bodies that are announced count before they are there, and no more once they are over (H1)", async () => {
    const { client, serving, warnings } = await serve({ budgets: { principal: { maxHeldBytes: 5_000_000 } } });
    const { headers } = modernCall(1, "echo", { text: "x" });
    const [head = ""] = bytesOf({ body: {}, headers }).split("\r\n\r\n");
    const half = `${head.replace(/content-length: \d+/, "content-length: 4000000")}\r\n\r\n${"x".repeat(200_000)}`;
    const first = await client.socket();
    first.socket.write(half);
    await vi.waitFor(() => expect(serving.status().held.heldBytes).toBe(200_000), patiently);
    const second = await client.socket();
    second.socket.write(half);
    expect(await second.until((text) => text.includes("maxHeldBytes"))).toMatch(/^HTTP\/1\.1 429 /);
    expect(warnings[0]?.message).toBe("budgets.principal.maxHeldBytes (5000000) is used up by address 127.0.0.1");
    const long = modernCall(3, "echo", { text: "y".repeat(2_000_000) });
    expect((await client.request(long)).status).toBe(429);
    first.socket.destroy();
    await vi.waitFor(async () => expect((await client.request(long)).status).toBe(200), patiently);
    second.socket.destroy();
  });

  it("a body that announces more than there is room for is refused with its first piece (H1)", async () => {
    const { client, serving } = await serve({ budgets: { principal: { maxHeldBytes: 5_000_000 } } });
    const { headers } = modernCall(1, "echo", { text: "x" });
    const [head = ""] = bytesOf({ body: {}, headers }).split("\r\n\r\n");
    const begun = `${head.replace(/content-length: \d+/, "content-length: 4000000")}\r\n\r\n${"x".repeat(1_000)}`;
    const [first, second] = [await client.socket(), await client.socket()];
    first.socket.write(begun);
    await vi.waitFor(() => expect(serving.status().held.heldBytes).toBe(1_000), patiently);
    second.socket.write(begun);
    expect(await second.until((text) => text.includes("maxHeldBytes"))).toMatch(/^HTTP\/1\.1 429 /);
    first.socket.destroy();
    second.socket.destroy();
  });

  it("a chunked body counts as the longest that is allowed as soon as it is a long one (H1)", async () => {
    const { client, serving } = await serve({ budgets: { principal: { maxHeldBytes: 5_000_000 } } });
    const { body, headers } = modernCall(1, "echo", { text: "x".repeat(100_000) });
    const [head = ""] = bytesOf({ body: {}, headers }).split("\r\n\r\n");
    const chunked = `${head.replace(/content-length: \d+/, "transfer-encoding: chunked")}\r\n\r\n`;
    const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
    const [first, second, short] = [await client.socket(), await client.socket(), await client.socket()];
    first.socket.write(chunked + chunk("x".repeat(200_000)));
    await vi.waitFor(() => expect(serving.status().held.heldBytes).toBe(200_000), patiently);
    second.socket.write(chunked + chunk("x".repeat(200_000)));
    expect(await second.until((text) => text.includes("maxHeldBytes"))).toMatch(/^HTTP\/1\.1 429 /);
    short.socket.write(`${chunked}${chunk(JSON.stringify(body))}0\r\n\r\n`);
    await short.until((text) => text.startsWith("HTTP/1.1 200"));
    for (const { socket } of [first, second, short]) socket.destroy();
  });

  it("a chunked body may be long where messages have no limit (H1)", async () => {
    const { client } = await serve({ limits: { maxMessageBytes: 0 } });
    const { body, headers } = modernCall(1, "echo", { text: "x".repeat(1_000_000) });
    const [head = ""] = bytesOf({ body: {}, headers }).split("\r\n\r\n");
    const text = JSON.stringify(body);
    const { socket, until } = await client.socket();
    const chunked = head.replace(/content-length: \d+/, "transfer-encoding: chunked");
    socket.write(`${chunked}\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`);
    await until((all) => all.startsWith("HTTP/1.1 200"));
    socket.destroy();
  });

  it("a small body that finds no room leaves its connection of use (H1)", async () => {
    const { client, serving } = await serve({ budgets: { principal: { maxHeldBytes: 10_000 } } });
    const { socket, until } = await client.socket();
    socket.write(bytesOf(modernCall(1, "echo", { text: "x".repeat(60_000) })));
    expect(await until((text) => text.includes("maxHeldBytes"))).toMatch(/^HTTP\/1\.1 429 /);
    await vi.waitFor(() => expect(serving.status().held.heldBytes).toBe(0), patiently);
    socket.write(bytesOf(modernCall(2, "echo", { text: "y" })));
    await until((text) => countIn(text, "HTTP/1.1 200") === 1);
    socket.destroy();
  });

  it("a text that takes more than its bytes is counted as what it takes (S3)", async () => {
    const { client } = await serve({ budgets: { principal: { maxHeldBytes: 300_000 } } });
    const ask = async (text: string) => (await client.request(modernCall(1, "echo", { text }))).status;
    expect(await ask("x".repeat(200_000))).toBe(200);
    expect(await ask(`${"x".repeat(200_000)}\u{1f600}`)).toBe(429);
  });

  it("a connection too many is told so, and closed", async () => {
    const { client, warnings } = await serve({ budgets: { principal: { maxConnections: 1 } } });
    const { socket } = await client.socket();
    const text = await client.bytes("GET /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    expect(text).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\nretry-after: 1\r\n/);
    expect(warnings[0]?.message).toContain("budgets.principal.maxConnections (1) is used up by address 127.0.0.1");
    socket.destroy();
  });

  it("sign-ins of an address that wait do not use up those of another", async () => {
    let letIn = (): void => {};
    const asked = new Promise<void>((resolve) => {
      letIn = resolve;
    });
    const { client, serving } = await serve({
      budgets: { principal: { maxSignIns: 1 } },
      auth: async (http) => {
        if (http.header("x-slow") !== undefined) await asked;
        return { ok: true, auth: { principal: "ann" } };
      },
    });
    const echo = modernCall(1, "echo", { text: "x" });
    const slow = client.request({ ...echo, headers: { ...echo.headers, "x-slow": "1" } });
    await vi.waitFor(() => expect(serving.status().held.signIns).toBe(1), patiently);
    expect((await client.request(echo)).status).toBe(429);
    expect(await statusFrom(serving.port, "127.0.0.2")).toBe(200);
    letIn();
    expect((await slow).status).toBe(200);
  });
});

it("principals have shares of their own behind one address, and one share over many connections", async () => {
  const { client, holding } = await serve({
    auth: (http) => ({ ok: true, auth: { principal: http.header("x-user") ?? "" } }),
    budgets: { principal: { maxRunningCalls: 1, maxQueuedCalls: 1 } },
  });
  const call = (user: string, tool: string) => {
    const { body, headers } = modernCall(1, tool, { text: "x" });
    return client.request({ body, headers: { ...headers, "x-user": user } });
  };
  void call("ann", "hold").catch(() => {});
  await holding(1);
  const waiting = [call("ann", "hold"), call("ann", "hold")];
  expect((await Promise.race(waiting)).status).toBe(429);
  expect((await call("bob", "echo")).status).toBe(200);
  for (const one of waiting) one.catch(() => {});
});

it("with a trusted proxy, the address that it names has a share", async () => {
  const { client } = await serve({ trustProxy: true, budgets: { principal: { maxSessions: 1 } } });
  const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } };
  const openFrom = async (raw: RawClient, address: string) =>
    (await raw.request({ body: request(0, "initialize", hello), headers: { "x-forwarded-for": address } })).status;
  expect([await openFrom(client, "192.0.2.1"), await openFrom(client, "192.0.2.1")]).toEqual([200, 429]);
  expect(await openFrom(client, "198.51.100.9, 192.0.2.2")).toBe(200);
});

it.each([
  [{ maxBodyBytes: 1 }, 'did you mean "limits.maxMessageBytes"?'],
  [{ maxSessions: 1 }, 'did you mean "budgets.process.maxSessions"?'],
  [{ replayChars: 1 }, 'did you mean "limits.maxReplayBytes"?'],
  [{ limits: { maxBytes: 1 } }, 'limits of serveHttp has an unknown option "maxBytes"'],
  [{ limits: { maxUriLength: -1 } }, "limits.maxUriLength of serveHttp must be 0 or more; 0 is off"],
  [{ budgets: { process: { maxThings: 1 } } }, 'budgets.process of serveHttp has an unknown option "maxThings"'],
  [{ budgets: { principal: { maxTasks: 1 } } }, 'budgets.principal of serveHttp has an unknown option "maxTasks"'],
  [{ budgets: { connection: { maxSessions: 1 } } }, "budgets.connection of serveHttp has an unknown option"],
])("refuses %j", async (options, message) => {
  await expect(serveHttp(createHttpService().server, options as ServeHttpOptions)).rejects.toMatchObject({
    code: "invalid-definition",
    message: expect.stringContaining(message),
  });
});

function statusFrom(port: number, localAddress: string): Promise<number | undefined> {
  const { body, headers } = modernCall(1, "echo", { text: "x" });
  const agent = new Agent({ localAddress });
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      {
        port,
        host: "127.0.0.1",
        path: "/mcp",
        method: "POST",
        agent,
        headers: { accept: "*/*", "content-type": "application/json", ...headers },
      },
      (response) => {
        response.resume();
        response.on("end", () => {
          agent.destroy();
          resolve(response.statusCode);
        });
      },
    );
    sent.on("error", reject);
    sent.end(JSON.stringify(body));
  });
}
