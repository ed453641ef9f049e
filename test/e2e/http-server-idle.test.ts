import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { hello } from "../support/served.ts";

// Very many clients that do nothing but listen, on one process. Each has a
// session, a stream and a connection.

const CLIENTS = 5_000;
const AT_ONCE = 50;
/** Of one client, with what Node itself needs for its connection: about 5.4 KB. */
const MAX_HEAP = 10_000;

let child: ChildProcess;
let port: number;
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

beforeAll(async () => {
  // Bundled, for loaders that compile on the way give every function a name, which costs as much as the function.
  const source = fileURLToPath(new URL("../fixtures/children/idle-server.ts", import.meta.url));
  const folder = await mkdtemp(join(tmpdir(), "plugbay-idle-"));
  const outfile = join(folder, "idle-server.mjs");
  await build({ entryPoints: [source], outfile, bundle: true, platform: "node", format: "esm", logLevel: "error" });
  child = fork(outfile, [], { execArgv: ["--expose-gc"] });
  [{ port }] = (await once(child, "message")) as [{ port: number }];
  await rm(folder, { recursive: true });
});
afterAll(() => {
  agent.destroy();
  child.kill("SIGKILL");
});

interface Cost {
  readonly heap: number;
}

async function measure(): Promise<Cost> {
  const answer = once(child, "message");
  child.send("measure");
  const [cost] = (await answer) as [Cost];
  return cost;
}

/** What it costs once all are at rest. */
function settledCost(): Promise<Cost> {
  return vi.waitFor(
    async () => {
      const one = await measure();
      await new Promise((resolve) => setTimeout(resolve, 250));
      const other = await measure();
      expect(Math.abs(one.heap - other.heap)).toBeLessThan(100_000);
      return other;
    },
    { timeout: 60_000 },
  );
}

interface Listener {
  readonly session: string;
  readonly socket: Socket;
  /** Notifications that came. */
  heard: number;
}

const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };

function send(method: string, session: string | undefined, body?: object): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const named = session === undefined ? headers : { ...headers, "mcp-session-id": session };
    const sent = httpRequest({ port, host: "127.0.0.1", path: "/mcp", method, headers: named, agent }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.headers["mcp-session-id"] as string | undefined));
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function listen(): Promise<Listener> {
  const params = hello("2025-11-25");
  const session = (await send("POST", undefined, { jsonrpc: "2.0", id: 0, method: "initialize", params })) ?? "";
  await send("POST", session, { jsonrpc: "2.0", method: "notifications/initialized" });
  const socket = connect({ port, host: "127.0.0.1" });
  const listener: Listener = { session, socket, heard: 0 };
  socket.setEncoding("latin1");
  socket.write(
    `GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nmcp-session-id: ${session}\r\n\r\n`,
  );
  await new Promise<void>((resolve, reject) => {
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the server closed a stream")));
    socket.on("data", (text) => {
      listener.heard += String(text).split("notifications/tools/list_changed").length - 1;
      // The id that a stream opens with says that it is there.
      if (String(text).includes("id: n-0-0-")) resolve();
    });
  });
  return listener;
}

/** Does it so many times, some at once. */
async function times<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) results[index] = await work(index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}

/** Half of them say that they leave, the others are just gone. */
async function leave(listeners: readonly Listener[]): Promise<void> {
  // The server may be about to close what was not used for a while.
  agent.destroy();
  await times(listeners.length, async (index) => {
    const { session, socket } = listeners[index] as Listener;
    if (index % 2 === 0) await send("DELETE", session);
    socket.destroy();
  });
}

const heardBy = (listeners: readonly Listener[], count: number) =>
  listeners.filter(({ heard }) => heard === count).length;

describe(`${CLIENTS} idle sessions with open streams`, () => {
  it("cost little, hear of a change, once each, and leave nothing behind", async () => {
    await leave(await times(300, listen));
    const before = await settledCost();

    const listeners = await times(CLIENTS, listen);
    const full = await settledCost();
    const perClient = (full.heap - before.heap) / CLIENTS;

    child.send("change");
    await vi.waitFor(() => expect(heardBy(listeners, 1)).toBe(CLIENTS), { interval: 5, timeout: 60_000 });
    child.send("change");
    await vi.waitFor(() => expect(heardBy(listeners, 2)).toBe(CLIENTS), { interval: 5, timeout: 60_000 });

    await leave(listeners);
    const limit = before.heap * 1.2 + 5_000_000;
    await vi.waitFor(async () => expect((await measure()).heap).toBeLessThan(limit), {
      interval: 250,
      timeout: 60_000,
    });
    expect(perClient).toBeLessThan(MAX_HEAP);
  }, 300_000);
});
