import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { type Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import express from "express";
import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FetchHandler, NodeHandler } from "../../src/transport/node/http.ts";
import { behavesInEveryEra, behavesInSessions } from "./support/behaviours.ts";
import { everythingHere, nodeHandler, toFetchHandler } from "./support/built.ts";
import { type Official, sessionFor } from "./support/official.ts";
import { openV2 } from "./support/official-v2.ts";
import { isAsked } from "./support/questions.ts";

// Our handlers inside frameworks of others, on a path of the user's choice,
// before and after something else has read the body.

const everything = await everythingHere();

interface Mounted {
  readonly handler: NodeHandler | FetchHandler;
  readonly listener: RequestListener;
}

function inExpress(how: "all" | "use", path: string, parses: boolean): Mounted {
  const handler = nodeHandler(everything);
  const app = express();
  if (parses) app.use(express.json({ limit: "5mb" }));
  return { handler, listener: app[how](path, handler) };
}

function inHono(path: string): Mounted {
  const handler = toFetchHandler(everything);
  const app = new Hono().all(path, ({ req }) => handler(req.raw));
  return { handler, listener: getRequestListener(app.fetch) };
}

const frameworks = [
  { name: "Express, app.all", path: "/mcp", mount: (path: string) => inExpress("all", path, false) },
  { name: "Express, app.use", path: "/mcp", mount: (path: string) => inExpress("use", path, false) },
  {
    name: "Express, app.all after express.json",
    path: "/api/tools",
    mount: (path: string) => inExpress("all", path, true),
  },
  {
    name: "Express, app.use after express.json",
    path: "/api/tools",
    mount: (path: string) => inExpress("use", path, true),
  },
  { name: "Hono", path: "/api/tools", mount: inHono },
];

describe.each(frameworks)("$name", ({ path, mount }) => {
  const { handler, listener } = mount(path);
  const server = createServer(listener);
  let url: URL;

  beforeAll(async () => {
    url = new URL(path, `http://127.0.0.1:${await listen(server)}`);
  });
  afterAll(async () => {
    await handler.close();
    await close(server);
  });

  describe("serves the official client, legacy", () => {
    const session = sessionFor(() => openV2(new StreamableHTTPClientTransport(url), "legacy"));
    behavesInEveryEra(session);
    isAsked(session);
    behavesInSessions(session);
  });

  describe("serves the official client, modern", () => {
    const session = sessionFor(() => openV2(new StreamableHTTPClientTransport(url), { pin: "2026-07-28" }));
    behavesInEveryEra(session);
    isAsked(session);
    hearsOfChanges(session);
  });

  it("refuses what is no message, in the words of the protocol", async () => {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const response = await fetch(url, { method: "POST", headers, body: '{"hello":"world"}' });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ jsonrpc: "2.0", error: { code: -32600 } });
  });
});

function hearsOfChanges(session: () => Official<Client>): void {
  it("hears of changes until it does not want to", async () => {
    const { client, call, changes } = session();
    const subscription = await client.listen({ toolsListChanged: true });
    await call("bump");
    await call("bump");
    expect(await changes.count(2)).toEqual(["tools", "tools"]);
    await subscription.close();
    expect(await subscription.closed).toBe("local");
  });
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}
