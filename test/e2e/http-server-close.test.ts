import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { metaKeys } from "../../src/protocol/meta.ts";
import { createManualClock } from "../../src/testing/clock.ts";
import { type HttpServeHandle, type ServeHttpOptions, serveHttp } from "../../src/transport/node/serve-http.ts";
import { callOf, modernCall, modernRequest } from "../support/fake-endpoint.ts";
import { createHttpService } from "../support/http-service.ts";
import { createRawClient, openRawSession } from "../support/raw-http.ts";

// What happens to those who wait when the server closes. Time stands still: what
// ends does not end because a server has lost its patience.

const open: HttpServeHandle[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((serving) => serving.close()));
});

async function serve(options: ServeHttpOptions = {}) {
  const service = createHttpService();
  const clock = createManualClock();
  const serving = await serveHttp(service.server, { port: 0, clock, ...options });
  open.push(serving);
  return { ...service, serving, clock, client: createRawClient(serving.port) };
}

const closing = { jsonrpc: "2.0", error: { code: -32600, message: "the server is closing" } };
const listening = modernRequest("sub", "subscriptions/listen", { notifications: { toolsListChanged: true } });

/** The bytes of a request over a connection that stays open. */
function bytesOf(body: unknown, headers: Readonly<Record<string, string>> = {}): string {
  const text = JSON.stringify(body);
  const head = {
    host: "127.0.0.1",
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(text)),
    ...headers,
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n${text}`;
}

/** Sends a request over a connection of its own. What it is answered with, or why there is no answer. */
function outcomeOf(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("error", ({ code }: NodeJS.ErrnoException) => resolve(text === "" ? String(code) : text));
    socket.on("close", () => resolve(/^HTTP\/1\.1 \d+/.exec(text)?.[0] ?? "closed without an answer"));
  });
}

describe("a server that closes", () => {
  it("answers 10 of 10 calls, modern and legacy, over connections that stay open", async () => {
    const { serving, client, holding, release } = await serve();
    const session = await openRawSession(client);
    const sockets = await Promise.all(
      Array.from({ length: 10 }, async (_, id) => {
        const { body, headers } = modernCall(id, "hold");
        const socket = await client.socket();
        socket.socket.write(id % 2 === 0 ? bytesOf(body, headers) : bytesOf(callOf(id, "hold"), session.headers));
        return socket;
      }),
    );
    await holding(10);
    const closed = serving.close();
    release();
    const answers = await Promise.all(sockets.map((socket) => socket.closed));
    await closed;
    answers.forEach((text, id) => {
      const [head = "", body = ""] = text.split("\r\n\r\n");
      expect(head).toMatch(/^HTTP\/1\.1 200 OK/);
      expect(JSON.parse(body)).toMatchObject({ id, result: { content: [{ text: "held" }] } });
    });
  });

  it.each([1, 64])(
    "answers %i of calls that end in one turn, and closes their connections behind that",
    async (count) => {
      const { serving, client, holding, release } = await serve();
      const sockets = await Promise.all(Array.from({ length: count }, () => client.socket()));
      const callAll = (tool: string): void =>
        sockets.forEach(({ socket }, at) => {
          const { body, headers } = modernCall(`${tool}-${at}`, tool, { text: "x" });
          socket.write(bytesOf(body, headers));
        });
      callAll("echo");
      await Promise.all(sockets.map(({ until }, at) => until((text) => text.includes(`"echo-${at}"`))));
      callAll("hold");
      await holding(count);
      const closed = serving.close();
      release();
      const answers = await Promise.all(sockets.map((socket) => socket.closed));
      await closed;
      for (const [at, text] of answers.entries()) expect(text).toMatch(new RegExp(`"id":"hold-${at}".*}$`));
    },
  );

  it("says on the last answer of each of 64 connections that it closes them (B15)", async () => {
    const { serving, client, holding, release } = await serve();
    const session = await openRawSession(client);
    const sockets = await Promise.all(
      Array.from({ length: 64 }, async (_, id) => {
        const { body, headers } = modernCall(id, "hold");
        const socket = await client.socket();
        socket.socket.write(id % 2 === 0 ? bytesOf(body, headers) : bytesOf(callOf(id, "hold"), session.headers));
        return socket;
      }),
    );
    await holding(64);
    const closed = serving.close();
    release();
    const answers = await Promise.all(sockets.map((socket) => socket.closed));
    await closed;
    for (const text of answers) expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n(.*\r\n)*connection: close\r\n/i);
  });

  it("answers what was sent before it closes idle connections: none of 64 is reset (B15)", async () => {
    const { serving, client } = await serve();
    const sockets = await Promise.all(Array.from({ length: 64 }, () => client.socket()));
    const errors: unknown[] = [];
    const callAll = (): void =>
      sockets.forEach(({ socket }, id) => {
        const { body, headers } = modernCall(id, "echo", { text: "x" });
        socket.write(bytesOf(body, headers));
      });
    for (const { socket } of sockets) socket.on("error", (error) => errors.push(error));
    callAll();
    await Promise.all(sockets.map(({ until }, id) => until((text) => text.includes(`"id":${id},`))));
    const closed = serving.close();
    callAll();
    const answers = await Promise.all(sockets.map((socket) => socket.closed));
    await closed;
    expect(errors).toEqual([]);
    for (const text of answers) {
      expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 503"]);
      expect(
        text
          .match(/^connection: .*$/gim)
          ?.at(-1)
          ?.toLowerCase(),
      ).toMatch(/^connection: close/);
    }
  });

  it("answers those who connect while it closes, or refuses them: none is reset (B15)", async () => {
    const { serving, holding, release } = await serve();
    const waiting = createRawClient(serving.port).request(modernCall("held", "hold"));
    await holding(1);
    const { body, headers } = modernCall(1, "echo", { text: "x" });
    const bytes = bytesOf(body, headers);
    const outcomes: Promise<string>[] = [];
    const closed = serving.close();
    release();
    // A proxy opens connections for as long as it knows of none that is refused.
    for (let turn = 0; turn < 40; turn++) {
      for (let count = 0; count < 8; count++) outcomes.push(outcomeOf(serving.port, bytes));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all([closed, waiting]);
    const known = new Set(await Promise.all(outcomes));
    expect([...known].filter((outcome) => outcome !== "ECONNREFUSED")).toEqual(["HTTP/1.1 503"]);
  });

  it.each(["big", "bigEvent"])("writes %s answers to their end", async (tool) => {
    const { serving, client } = await serve();
    const session = await openRawSession(client);
    const { socket, until, closed } = await client.socket();
    socket.write(bytesOf(callOf(1, tool, { n: 20_000_000 }), session.headers));
    await until((text) => text.includes("xxx"));
    socket.pause();
    const over = serving.close();
    expect((await session.post(callOf(2, "echo", { text: "late" }))).status).toBe(503);
    socket.resume();
    expect((await closed).length).toBeGreaterThan(20_000_000);
    await over;
  });

  it("refuses what is new with 503 while it answers, also over new connections", async () => {
    const { serving, client, holding, release } = await serve();
    const session = await openRawSession(client);
    const { body, headers } = modernCall(1, "hold");
    const waiting = client.request({ body, headers });
    await holding(1);
    const closed = serving.close();
    const echo = modernCall(2, "echo", { text: "late" });
    for (const late of [
      await client.request({ body: echo.body, headers: echo.headers }),
      await session.post(callOf(3, "echo", { text: "late" })),
      await client.request({ method: "GET", headers: session.headers }),
    ]) {
      expect(late.status).toBe(503);
      expect(late.headers["retry-after"]).toBe("1");
      expect(late.headers.connection).toBe("close");
      expect(late.messages).toEqual([closing]);
    }
    release();
    expect((await waiting).messages).toMatchObject([{ id: 1, result: {} }]);
    await closed;
    await expect(client.request({ body, headers })).rejects.toThrow("ECONNREFUSED");
  });

  it("edge 34: ends subscriptions with a complete result that names them, and the streams of sessions", async () => {
    const { serving, client } = await serve();
    const session = await openRawSession(client);
    const news = await session.get();
    const listen = await client.stream({ body: listening.body, headers: listening.headers });
    await listen.messages.count(1);
    await serving.close();
    expect(await listen.over).toBe("ended");
    expect(await news.over).toBe("ended");
    expect(listen.messages.items.at(-1)).toMatchObject({
      id: "sub",
      result: { resultType: "complete", _meta: { [metaKeys.subscriptionId]: "sub" } },
    });
  });

  it("still hears what open calls have asked", async () => {
    const { serving, client } = await serve();
    const session = await openRawSession(client, { capabilities: { elicitation: {} } });
    const call = await session.call(callOf(1, "ask", { text: "who" }));
    const [question] = await call.messages.count(1);
    const closed = serving.close();
    const answer = { jsonrpc: "2.0", id: question?.id, result: { action: "accept", content: { reply: "me" } } };
    expect((await session.post(answer)).status).toBe(202);
    await closed;
    expect(await call.over).toBe("ended");
    expect(call.messages.items.at(-1)).toMatchObject({ id: 1, result: { content: [{ text: "who: me" }] } });
  });

  it("does not wait for connections that are idle", async () => {
    const { serving, client } = await serve();
    const echo = modernCall(1, "echo", { text: "x" });
    const used = await client.socket();
    used.socket.write(bytesOf(echo.body, echo.headers));
    await used.until((text) => text.includes('"text":"x"'));
    const unused = await client.socket();
    const listen = await client.socket();
    listen.socket.write(bytesOf(listening.body, listening.headers));
    await listen.until((text) => text.includes("acknowledged"));
    await serving.close();
    await Promise.all([used.closed, unused.closed, listen.closed]);
  });

  it("ends what takes too long, with an error", async () => {
    const { serving, client, clock, holding, held } = await serve({ drainMs: 50 });
    const { body, headers } = modernCall(1, "hold");
    const waiting = client.request({ body, headers });
    await holding(1);
    const closed = serving.close();
    await clock.advanceAsync(49);
    expect(held[0]?.aborted).toBe(false);
    await clock.advanceAsync(1);
    await closed;
    const answer = await waiting;
    expect(answer.status).toBe(200);
    expect(answer.messages).toMatchObject([{ id: 1, error: { code: -32603 } }]);
    expect(held[0]?.aborted).toBe(true);
  });

  it("closes once, and again without effect", async () => {
    const { serving } = await serve();
    expect(serving.close()).toBe(serving.close());
    await serving.close();
    await serving[Symbol.asyncDispose]();
  });
});
