import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import express from "express";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createManualClock } from "../../src/testing/clock.ts";
import { toNodeHandler } from "../../src/transport/node/node-handler.ts";
import { serveHttp } from "../../src/transport/node/serve-http.ts";
import { callOf, modernCall } from "../support/fake-endpoint.ts";
import { createHttpService } from "../support/http-service.ts";
import { patiently } from "../support/patience.ts";
import { createRawClient, openRawSession, type RawClient } from "../support/raw-http.ts";
import { gate, request } from "../support/served.ts";

// Our handler inside of other servers, what clients can do to sockets, and signals.

const MiB = 1_048_576;
const closers: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

async function listenWith(listener: RequestListener): Promise<RawClient> {
  const server: Server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return createRawClient((server.address() as AddressInfo).port);
}

const echo = modernCall(1, "echo", { text: "é" });

describe("in node:http", () => {
  it("serves any path that reaches it, unless one is given", async () => {
    const { server } = createHttpService();
    const anywhere = await listenWith(toNodeHandler(server));
    expect((await anywhere.request({ ...echo, path: "/any/where?x=1" })).status).toBe(200);
    const there = await listenWith(toNodeHandler(server, { path: "/there" }));
    expect((await there.request({ ...echo, path: "/there/" })).status).toBe(200);
    expect((await there.request(echo)).status).toBe(404);
  });
});

type Handler = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
type Parser = (options: { readonly type: string }) => Handler;

const { text: textParser, raw: bytesParser } = express as unknown as { readonly text: Parser; readonly raw: Parser };

describe("in Express", () => {
  it.each<readonly [string, Handler]>([
    ["before anything has read the body", (_request, _response, next) => next()],
    ["after the body was parsed", express.json({ limit: "1mb" })],
    ["after the body was read as text", textParser({ type: "*/*" })],
    ["after the body was read as bytes", bytesParser({ type: "*/*" })],
    ["after something that took its time", (_request, _response, next) => void setImmediate(next)],
  ])("answers %s", async (_, before) => {
    const app = express();
    app.use(before);
    app.all("/mcp", toNodeHandler(createHttpService().server));
    const client = await listenWith(app);
    expect((await client.request(echo)).messages).toMatchObject([{ id: 1, result: { content: [{ text: "é" }] } }]);
    const session = await openRawSession(client);
    expect((await session.post(request(1, "ping"))).messages).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }]);
    const stream = await session.get();
    expect(stream.status).toBe(200);
    stream.destroy();
  });

  it("knows its path wherever it is mounted", async () => {
    const app = express();
    app.use("/api", toNodeHandler(createHttpService().server, { path: "/api/mcp" }));
    const client = await listenWith(app);
    expect((await client.request({ ...echo, path: "/api/mcp" })).status).toBe(200);
    expect((await client.request({ ...echo, path: "/api/other" })).status).toBe(404);
  });

  it("C106: does not keep a session for a client that left before its stream was opened", async () => {
    const { server } = createHttpService();
    const left = gate();
    const app = express();
    app.use(async (incoming, response, next) => {
      if (incoming.method === "GET" && incoming.headers["x-slow"] !== undefined) {
        response.on("close", () => left.open());
        await left.opened;
      }
      next();
    });
    const clock = createManualClock();
    const handler = toNodeHandler(server, { sessionTtlMs: 20, clock });
    app.all("/mcp", handler);
    const client = await listenWith(app);
    const session = await openRawSession(client);
    const { socket } = await client.socket();
    const id = session.headers["mcp-session-id"];
    socket.write(`GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\nx-slow: 1\r\nmcp-session-id: ${id}\r\n\r\n`);
    socket.end();
    socket.destroySoon();
    await left.opened;
    await vi.waitFor(async () => {
      clock.advance(40);
      expect((await session.post(request(1, "ping"))).status).toBe(404);
    }, patiently);
  });
});

describe("connections", () => {
  async function serve() {
    const service = createHttpService();
    const serving = await serveHttp(service.server, { port: 0 });
    closers.push(() => serving.close());
    return { ...service, client: createRawClient(serving.port) };
  }
  const text = JSON.stringify(echo.body);
  const headOf = (length: string) => {
    const named = Object.entries(echo.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return `POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\ncontent-type: application/json\r\n${named.join("")}${length}\r\n\r\n`;
  };

  it("may bring several requests at once, which are answered in order", async () => {
    const { client } = await serve();
    const { socket, until } = await client.socket();
    const body = Buffer.from(text);
    const one = Buffer.concat([Buffer.from(headOf(`content-length: ${body.length}`)), body]);
    const bad = Buffer.from(headOf("content-length: 1").concat("{"));
    socket.write(Buffer.concat([one, bad, one]));
    const answers = await until((all) => all.match(/HTTP\/1\.1/g)?.length === 3 && all.endsWith("}"));
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400", "HTTP/1.1 200"]);
    socket.destroy();
  });

  it("may bring a request byte by byte, in chunks of one", async () => {
    const { client } = await serve();
    const { socket, until } = await client.socket();
    socket.setNoDelay(true);
    const chunks = [...Buffer.from(text)].map((byte) =>
      Buffer.concat([Buffer.from("1\r\n"), Buffer.of(byte), Buffer.from("\r\n")]),
    );
    for (const part of [Buffer.from(headOf("transfer-encoding: chunked")), ...chunks, Buffer.from("0\r\n\r\n")]) {
      socket.write(part);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await until((all) => all.includes('"resultType"'))).toContain("HTTP/1.1 200");
    socket.destroy();
  });

  it("may end in the middle of a body, and nobody hears of it", async () => {
    const { client, held } = await serve();
    const { socket } = await client.socket();
    socket.write(headOf(`content-length: ${text.length + 10}`) + text);
    socket.destroySoon();
    expect((await client.request(echo)).status).toBe(200);
    expect(held).toEqual([]);
  });

  it.each(["content-length: 1000000000", "transfer-encoding: chunked"])(
    "are cut when a body that was refused does not end (%s)",
    async (length) => {
      const { client } = await serve();
      const { socket, closed, until } = await client.socket();
      socket.on("error", () => {});
      const chunked = length.startsWith("transfer");
      const part = Buffer.alloc(MiB, 0x20);
      socket.write(headOf(length));
      let sent = 0;
      let open = true;
      void closed.then(() => {
        open = false;
      });
      while (open && sent < 200 * MiB) {
        if (chunked) socket.write(`${MiB.toString(16)}\r\n`);
        const room = socket.write(part);
        if (chunked) socket.write("\r\n");
        sent += MiB;
        if (!room) await Promise.race([once(socket, "drain").catch(() => {}), closed]);
      }
      expect(await closed).toMatch(/^HTTP\/1\.1 413 /);
      expect(sent).toBeLessThan(100 * MiB);
      await until(() => true);
    },
  );
});

describe("signals", () => {
  async function start() {
    const path = fileURLToPath(new URL("../fixtures/children/http-server.ts", import.meta.url));
    const child: ChildProcess = fork(path, [], { execArgv: ["--import", import.meta.resolve("tsx")] });
    closers.push(() => child.kill("SIGKILL"));
    const [{ port }] = (await once(child, "message")) as [{ port: number }];
    const ended = once(child, "exit");
    const holding = async (count: number): Promise<void> => {
      const said = once(child, "message");
      child.send({ holding: count });
      await said;
    };
    return { child, client: createRawClient(port), ended, holding };
  }

  it("SIGTERM: 10 of 10 calls are answered, what is new gets 503, and the process exits with 0", async () => {
    const { child, client, ended, holding } = await start();
    const session = await openRawSession(client);
    const calls = Array.from({ length: 10 }, (_, id) =>
      id % 2 === 0 ? client.request(modernCall(id, "hold")) : session.post(callOf(id, "hold")),
    );
    await holding(10);
    child.kill("SIGTERM");
    await vi.waitFor(async () => expect((await client.request(echo)).status).toBe(503), patiently);
    child.send({});
    const answers = await Promise.all(calls);
    answers.forEach(({ status, messages }, id) => {
      expect(status).toBe(200);
      expect(messages).toMatchObject([{ id, result: { content: [{ text: "held" }] } }]);
    });
    expect(await ended).toEqual([0, null]);
  });

  it("a second SIGTERM ends the process at once", async () => {
    const { child, client, ended, holding } = await start();
    const call = client.request(modernCall(1, "hold")).catch((error: Error) => error.message);
    await holding(1);
    child.kill("SIGTERM");
    await vi.waitFor(async () => expect((await client.request(echo)).status).toBe(503), patiently);
    child.kill("SIGTERM");
    expect(await ended).toEqual([143, null]);
    expect(await call).toMatch(/socket hang up|ECONNRESET/);
  });
});
