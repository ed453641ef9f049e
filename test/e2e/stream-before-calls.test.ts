import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { createManualClock } from "../../src/testing/clock.ts";
import { connect } from "./support/built.ts";

// A server of 2025-11-25 says by itself what belongs to no call, on a stream that has to be there before the first call. Here many
// sessions make many calls at once, over real sockets, and the server takes its time to open their streams. The clock stands still,
// since clients wait half a second for a stream, and no longer.

const options = { revision: "2025-11-25", clock: createManualClock() } as const;
const sessions = 20;
const calls = 25;

/** What came in each session, in the order of its arrival. `stream` is when its stream was opened. */
let arrived: Map<string, string[]>;
/** The sessions that the server has lost. */
const lost = new Set<string>();
let url: string;

const server = createServer((request, response) => void answer(request, response));

beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  if (request.url === "/trip") return response.end();
  let body = "";
  for await (const chunk of request) body += chunk;
  const { id, method } = request.method === "POST" ? JSON.parse(body) : { id: undefined, method: request.method };
  const session = String(request.headers["mcp-session-id"] ?? `s${arrived.size}`);
  if (lost.has(session)) return response.writeHead(404).end();
  arrived.set(session, [...(arrived.get(session) ?? []), method]);
  if (method === "GET") return openStream(session, response);
  if (id === undefined) return response.writeHead(request.method === "DELETE" ? 200 : 202).end();
  const opened = {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "s", version: "1" },
  };
  const result = method === "initialize" ? opened : { content: [{ type: "text", text: session }] };
  response.writeHead(200, { "content-type": "application/json", "mcp-session-id": session });
  return response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
}

/** Opens the stream of a session, later than calls would arrive that were sent together with the request for it. */
async function openStream(session: string, response: ServerResponse): Promise<void> {
  for (let trip = 0; trip < 5; trip++) await fetch(new URL("/trip", url));
  arrived.get(session)?.push("stream");
  response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
}

/** The sessions in which a call came before the stream. */
const early = () =>
  [...arrived].filter(([, methods]) => {
    const [stream, call] = [methods.indexOf("stream"), methods.indexOf("tools/call")];
    return call >= 0 && (stream < 0 || call < stream);
  });

const callMany = async (client: Client): Promise<readonly unknown[]> =>
  Promise.all(Array.from({ length: calls }, () => client.callTool("any")));

it("many calls at once, right after connecting, come after the stream of their session (I9)", async () => {
  arrived = new Map();
  const clients = await Promise.all(
    Array.from({ length: sessions }, async () => {
      const client = await connect(url, options);
      expect(await callMany(client)).toHaveLength(calls);
      return client;
    }),
  );
  expect(arrived.size).toBe(sessions);
  expect(early()).toEqual([]);
  await Promise.all(clients.map((client) => client.close()));
});

it("many calls at once that find their session lost come after the stream of the new one (I9)", async () => {
  arrived = new Map();
  const clients = await Promise.all(Array.from({ length: sessions }, () => connect(url, options)));
  await Promise.all(clients.map((client) => client.callTool("any")));
  for (const session of arrived.keys()) lost.add(session);
  for (const results of await Promise.all(clients.map(callMany))) expect(results).toHaveLength(calls);
  // One new session for each, however many calls have missed it.
  expect(arrived.size).toBe(2 * sessions);
  expect(early()).toEqual([]);
  await Promise.all(clients.map((client) => client.close()));
});
