import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { LazyAbort } from "../../std/lazy-abort.ts";
import type { OutgoingRequest } from "../http/http-message.ts";
import { nodeSend } from "./http-send.ts";

const open: (() => void)[] = [];

afterEach(() => {
  for (const close of open.splice(0)) close();
});

/** A server that does what the test says, and how to send to it. */
async function serving(listener: RequestListener) {
  const sockets = new Set<Socket>();
  const server = createServer(listener).listen(0, "127.0.0.1");
  server.on("connection", (socket) => sockets.add(socket));
  await once(server, "listening");
  open.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp?a=b`);
  const send = await nodeSend("http:");
  const go = (changes: Partial<OutgoingRequest> = {}, abort = new LazyAbort()) =>
    send({ method: "POST", url, headers: { "x-a": "1" }, body: "größe", ...changes }, abort);
  return { go, sockets, url };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}

/** Resolves when the client has closed the connection, gently or not. */
async function closed(socket: Socket | undefined): Promise<void> {
  socket?.on("error", () => {});
  await new Promise<void>((resolve) => (socket?.destroyed ? resolve() : socket?.on("close", () => resolve())));
}

const hold = (_request: IncomingMessage, response: ServerResponse) => void response.writeHead(200).flushHeaders();

describe("a request over a socket", () => {
  it("is sent as it is, with its length and without asking for compression", async () => {
    const { go, url } = await serving(async (request, response) => {
      const { method, headers } = request;
      response.end(JSON.stringify({ method, url: request.url, headers, body: await bodyOf(request) }));
    });
    const answer = JSON.parse(await (await go()).text(1_000));
    expect(answer).toEqual({
      method: "POST",
      url: "/mcp?a=b",
      headers: { host: url.host, "x-a": "1", "content-length": "7", connection: "keep-alive" },
      body: "größe",
    });
    const { body: _, ...get } = { body: "" };
    const second = JSON.parse(await (await go({ method: "GET", ...get, body: undefined as never })).text(1_000));
    expect(second.headers).not.toHaveProperty("content-length");
  });

  it("uses the connection of the one before it", async () => {
    const { go, sockets } = await serving((_, response) => response.end("ok"));
    for (let i = 0; i < 5; i++) expect(await (await go()).text(10)).toBe("ok");
    expect(sockets.size).toBe(1);
  });

  it("uses it also when nobody wanted a short answer", async () => {
    const { go, sockets } = await serving((_, response) => response.writeHead(202).end());
    for (let i = 0; i < 5; i++) {
      (await go()).discard();
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(sockets.size).toBe(1);
  });

  it("gives its connection up when nobody wants a long answer", async () => {
    const { go, sockets } = await serving(hold);
    const response = await go();
    const [socket] = sockets;
    response.discard();
    await closed(socket);
  });

  it("is ended by an abort, before and after it was answered", async () => {
    const { go, sockets } = await serving((request, response) =>
      request.method === "GET" ? hold(request, response) : {},
    );
    const early = new LazyAbort();
    const unanswered = expect(go({}, early)).rejects.toThrow();
    const late = new LazyAbort();
    const response = await go({ method: "GET" }, late);
    const reading = expect(response.read(() => undefined)).rejects.toThrow();
    early.abort("enough");
    late.abort("enough");
    await unanswered;
    await reading;
    for (const socket of sockets) await closed(socket);
  });

  it("is never sent when it is given up in the turn it was made in, with others that are not", async () => {
    let arrived = 0;
    const { go } = await serving((_, response) => {
      arrived++;
      response.end("ok");
    });
    // Requests of a turn are written together once there were several in one.
    for (let round = 0; round < 4; round++) {
      await Promise.all(Array.from({ length: 32 }, async () => (await go()).text(10)));
    }
    arrived = 0;
    const aborts = Array.from({ length: 32 }, () => new LazyAbort());
    const sent = aborts.map((abort) => go({}, abort));
    for (const [at, abort] of aborts.entries()) if (at % 2 === 0) abort.abort("enough");
    const settled = await Promise.allSettled(sent.map(async (response) => (await response).text(10)));
    expect(settled.map(({ status }) => status)).toEqual(
      aborts.map((_, at) => (at % 2 === 0 ? "rejected" : "fulfilled")),
    );
    expect(arrived).toBe(16);
  });

  it("rejects when nobody listens", async () => {
    const { go } = await serving(() => {});
    await expect(go({ url: new URL("http://127.0.0.1:1/") })).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  it("rejects when the server hangs up, before and in the middle of its answer", async () => {
    const { go } = await serving((request, response) => {
      if (request.method === "POST") return void request.socket.destroy();
      response.writeHead(200, { "content-length": "100" });
      response.write("half");
      setImmediate(() => response.destroy());
    });
    await expect(go()).rejects.toThrow();
    await expect((await go({ method: "GET" })).text(1_000)).rejects.toThrow();
    const response = await go({ method: "GET" });
    await expect(response.read(() => undefined)).rejects.toThrow();
  });

  it("stops at the limit, and lets go of the rest", async () => {
    const { go, sockets } = await serving((_, response) => {
      const fill = () => {
        while (response.write("x".repeat(65_536)));
        response.once("drain", fill);
      };
      fill();
    });
    await expect((await go()).text(1_000_000)).rejects.toMatchObject({ code: "limit-reached" });
    const [socket] = sockets;
    await closed(socket);
  });

  it("refuses an answer that is compressed or is no UTF-8", async () => {
    const { go } = await serving((request, response) => {
      if (request.method === "GET") response.setHeader("content-encoding", "gzip");
      response.end(request.method === "GET" ? gzipSync("{}") : Buffer.from([0xff]));
    });
    await expect((await go()).text(100)).rejects.toMatchObject({ code: "invalid-response" });
    await expect((await go({ method: "GET" })).text(100)).rejects.toMatchObject({ code: "invalid-response" });
  });

  it("makes a server wait whose reader is busy", async () => {
    let written = 0;
    const { go } = await serving((_, response) => {
      const fill = () => {
        while (written < 100_000_000 && response.write(Buffer.alloc(65_536))) written += 65_536;
        response.once("drain", fill);
      };
      fill();
    });
    const abort = new LazyAbort();
    const response = await go({}, abort);
    let taken = 0;
    const reading = response.read(() => {
      taken++;
      return new Promise(() => {});
    });
    reading.catch(() => {});
    for (let turns = 0, before = -1; turns < 100; turns = before === written ? turns + 1 : 0) {
      before = written;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(taken).toBe(1);
    expect(written).toBeLessThan(50_000_000);
    abort.abort("enough");
  });

  it("rejects when the reader throws", async () => {
    const { go } = await serving(hold);
    const response = await (await serving((_, answer) => answer.end("x"))).go();
    const thrown = response.read(() => {
      throw new Error("mine");
    });
    await expect(thrown).rejects.toThrow("mine");
    (await go()).discard();
  });
});
