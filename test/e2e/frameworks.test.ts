import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { type Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import "reflect-metadata";
import { Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import { cloneRawRequest } from "hono/request";
import Koa from "koa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FetchHandler, NodeHandler } from "../../src/transport/node/http.ts";
import { behavesInEveryEra, behavesInSessions } from "./support/behaviours.ts";
import { everythingHere, toFetchHandler, toNodeHandler } from "./support/built.ts";
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

/** Reads a whole body and tells nobody what it was. */
async function consume(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}

function inExpress(how: "all" | "use", path: string, parses: boolean): Mounted {
  const handler = toNodeHandler(everything);
  const app = express();
  if (parses) app.use(express.json({ limit: "5mb" }));
  return { handler, listener: app[how](path, handler) };
}

function inHono(path: string, reads: boolean): Mounted {
  const handler = toFetchHandler(everything);
  const app = new Hono().all(path, async ({ req }) => {
    if (!reads) return handler(req.raw);
    await req.text();
    return handler(req.method === "POST" ? await cloneRawRequest(req) : req.raw);
  });
  return { handler, listener: getRequestListener(app.fetch) };
}

async function inFastify(path: string): Promise<Mounted> {
  const handler = toNodeHandler(everything);
  const app = Fastify({ bodyLimit: 5_000_000 });
  app.all(path, (request, reply) => {
    reply.hijack();
    handler(request.raw, reply.raw, request.body);
  });
  await app.ready();
  return { handler, listener: app.routing };
}

function inKoa(path: string, parses: boolean): Mounted {
  const handler = toNodeHandler(everything);
  const app = new Koa().use(async (ctx, next) => {
    if (ctx.path !== path) return next();
    ctx.respond = false;
    handler(ctx.req, ctx.res, parses && ctx.req.method === "POST" ? JSON.parse(await consume(ctx.req)) : undefined);
  });
  return { handler, listener: app.callback() };
}

class AppModule {}
Module({})(AppModule);

async function inNest(path: string, parses: boolean): Promise<Mounted> {
  const handler = toNodeHandler(everything);
  const app = await NestFactory.create(AppModule, { logger: ["error"], bodyParser: false });
  if (parses) app.use(express.json({ limit: "5mb" }));
  app.use(path, handler);
  await app.init();
  return { handler, listener: app.getHttpAdapter().getInstance() };
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
  { name: "Fastify", path: "/mcp", mount: inFastify },
  { name: "Koa", path: "/mcp", mount: (path: string) => inKoa(path, false) },
  { name: "Koa, after the body was parsed", path: "/mcp", mount: (path: string) => inKoa(path, true) },
  { name: "Nest", path: "/mcp", mount: (path: string) => inNest(path, false) },
  { name: "Nest, after the body was parsed", path: "/mcp", mount: (path: string) => inNest(path, true) },
  { name: "Hono", path: "/api/tools", mount: (path: string) => inHono(path, false) },
  { name: "Hono, after the body was read", path: "/api/tools", mount: (path: string) => inHono(path, true) },
];

describe.each(await Promise.all(frameworks.map(mounted)))("$name (T7)", ({ path, handler, listener }) => {
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

const initialize = {
  method: "POST",
  headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
  body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}',
};

describe("a body that something else has read", () => {
  const answerOf = async (listener: RequestListener): Promise<{ status: number; message: string }> => {
    const server = createServer(listener);
    const response = await fetch(`http://127.0.0.1:${await listen(server)}/mcp`, initialize);
    const { error } = (await response.json()) as { error: { code: number; message: string } };
    await close(server);
    expect(error.code).toBe(-32603);
    return { status: response.status, message: error.message };
  };

  const lost = async (): Promise<Record<string, RequestListener>> => {
    const handler = toNodeHandler(everything);
    const fastify = Fastify();
    fastify.all("/mcp", ({ raw }, reply) => handler(raw, reply.hijack().raw));
    await fastify.ready();
    const koa = new Koa().use(async ({ req, res }) => {
      await consume(req);
      handler(req, res);
    });
    return {
      "node:http": (request, response) => void consume(request).then(() => handler(request, response)),
      "node:http, in part": (request, response) => {
        request.once("data", () => {
          request.pause();
          handler(request, response);
        });
      },
      Fastify: fastify.routing,
      Koa: koa.callback(),
    };
  };

  it.each(["node:http", "node:http, in part", "Fastify", "Koa"])(
    "is refused at once by toNodeHandler in %s (T7)",
    async (name) => {
      const listener = (await lost())[name] as RequestListener;
      const { status, message } = await answerOf(listener);
      expect(status).toBe(500);
      expect(message).toMatch(
        /body was read before it reached toNodeHandler; pass what was read as its third argument/,
      );
    },
  );

  it.each(["text", "getReader"] as const)("is refused at once by toFetchHandler after %s() (T7)", async (how) => {
    const handler = toFetchHandler(everything);
    const app = new Hono().all("/mcp", async ({ req: { raw } }) => {
      if (how === "text") await raw.text();
      else raw.body?.getReader();
      return handler(raw);
    });
    const { status, message } = await answerOf(getRequestListener(app.fetch));
    expect(status).toBe(500);
    expect(message).toMatch(/body was read before it reached toFetchHandler; read request\.clone\(\) instead/);
  });

  it("is said to whoever passes requests that are not those of Node (T7)", async () => {
    const handler = toNodeHandler(everything);
    const fastify = Fastify();
    fastify.all("/mcp", handler as never);
    const { statusCode, body } = await fastify.inject({ url: "/mcp", method: "POST", payload: {} });
    expect(statusCode).toBe(500);
    expect(body).toContain("with Fastify call it with (request.raw, reply.hijack().raw, request.body)");
  });
});

async function mounted({ name, path, mount }: (typeof frameworks)[number]) {
  return { name, path, ...(await mount(path)) };
}

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
