import { AsyncLocalStorage } from "node:async_hooks";
import { createServer as createHttpServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Authenticator } from "../../src/protocol/authenticator.ts";
import type { Revision } from "../../src/protocol/revision.ts";
import { createServer, type Middleware, prompt, resource, tool } from "../../src/server/index.ts";
import type { HttpRequestInfo } from "../../src/std/http-request-info.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { FetchHandler, HttpOptions, NodeHandler } from "../../src/transport/node/http.ts";
import { eventually } from "../support/patience.ts";
import { connect, toFetchHandler, toNodeHandler } from "./support/built.ts";

// A framework that keeps something for each request in an AsyncLocalStorage finds
// it again in everything that runs for that request, and never that of another.

/** The number of the request that is being served, as its header says it. */
const current = new AsyncLocalStorage<string>();

/** What ran, for which request, and what the storage held there. */
interface Seen {
  readonly where: string;
  readonly request: string | undefined;
  readonly stored: string | undefined;
}

interface Notes {
  readonly seen: Seen[];
  note(where: string, http?: HttpRequestInfo): void;
}

function takeNotes(): Notes {
  const seen: Seen[] = [];
  return {
    seen,
    note(where, http) {
      seen.push({ where, request: http?.header("x-request"), stored: current.getStore() });
    },
  };
}

function notingServer({ note }: Notes, release: Promise<void>) {
  const watch: Middleware = (next) => (call) => {
    if (call.http !== undefined) note("middleware", call.http);
    return next(call);
  };
  return createServer({
    name: "noting",
    version: "1.0.0",
    middleware: [watch],
    tools: {
      plain: tool({ run: (_input, { http }) => note("tool", http) }),
      streamed: tool({
        run: async (_input, { http, progress }) => {
          progress(1, 2);
          await new Promise(setImmediate);
          note("streamed tool", http);
        },
      }),
      held: tool({ run: (_input, { http }) => release.then(() => note("held tool", http)) }),
    },
    resources: [
      resource("note://{name}", {
        read: (_variables, { http }) => {
          note("resource", http);
          return "text";
        },
        list: () => {
          note("list");
          return [];
        },
        complete: {
          name: () => {
            note("completer");
            return [];
          },
        },
      }),
    ],
    prompts: {
      ask: prompt({
        get: (_args, { http }) => {
          note("prompt", http);
          return "text";
        },
      }),
    },
    methods: {
      "acme/note": (_params, { http }) => {
        note("method", http);
        return {};
      },
    },
  });
}

/** So many answers of one turn are written together. */
const many = 40;

type Handler = NodeHandler | FetchHandler;

const skins: Record<
  string,
  (service: Parameters<typeof toNodeHandler>[0], options: HttpOptions) => [Handler, RequestListener]
> = {
  toNodeHandler(service, options) {
    const handler = toNodeHandler(service, options);
    return [
      handler,
      (request, response) => current.run(String(request.headers["x-request"]), handler, request, response),
    ];
  },
  toFetchHandler(service, options) {
    const handler = toFetchHandler(service, options);
    const serve = (request: Request): Promise<Response> =>
      current.run(String(request.headers.get("x-request")), handler, request);
    return [handler, getRequestListener(serve)];
  },
};

const ways: {
  readonly way: string;
  readonly revision: Revision;
  readonly type?: "sse";
  readonly options: HttpOptions;
}[] = [
  { way: "modern", revision: "2026-07-28", options: {} },
  { way: "a session", revision: "2025-11-25", options: {} },
  { way: "a session in a store", revision: "2025-11-25", options: { store: memoryStore() } },
  { way: "no session", revision: "2025-06-18", options: { sessions: false } },
  { way: "HTTP+SSE", revision: "2024-11-05", type: "sse", options: { sse: true } },
];

describe.each(Object.keys(skins))("%s", (skin) => {
  describe.each(ways)("$way", ({ revision, type, options }) => {
    const notes = takeNotes();
    let free = (): void => {};
    const released = new Promise<void>((resolve) => {
      free = resolve;
    });
    const auth: Authenticator = async (http) => {
      notes.note("authenticator", http);
      await new Promise(setImmediate);
      return { ok: true, auth: { principal: "ann", scopes: [] } };
    };
    const service = notingServer(notes, released);
    const [handler, listener] = (skins[skin] as (typeof skins)[string])(service, {
      ...options,
      auth,
      budgets: { connection: { maxRunningCalls: 2 } },
    });
    const server = createHttpServer(listener);
    let count = 0;
    const open = () => {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${type ?? "mcp"}`;
      return connect({ url, ...(type && { type }) }, { revision, headers: () => ({ "x-request": String(++count) }) });
    };

    beforeAll(() => new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve)));
    afterAll(async () => {
      free();
      await handler.close();
      await closed(server);
    });

    it("keeps the AsyncLocalStorage of a request in all that runs for it (P6)", async () => {
      await using client = await open();
      await client.callTool("plain", { text: "x".repeat(200_000) });
      await client.callTool("streamed", {}, { onProgress: () => {} });
      await client.readResource("note://a");
      await client.getPrompt("ask", {});
      await client.listResources();
      await client.complete({
        ref: { type: "ref/resource", uri: "note://{name}" },
        argument: { name: "name", value: "" },
      });
      await client.request("acme/note");

      const kinds = [
        "authenticator",
        "middleware",
        "tool",
        "streamed tool",
        "resource",
        "prompt",
        "list",
        "completer",
        "method",
      ];
      expect([...new Set(notes.seen.map(({ where }) => where))].toSorted()).toEqual(kinds.toSorted());
      expect(notes.seen.filter(({ stored }) => stored === undefined)).toEqual([]);
      expect(notes.seen.filter(({ request, stored }) => request !== undefined && request !== stored)).toEqual([]);
    });

    it("gives a call that waited for its turn its own, not that of the call that made room (P6)", async () => {
      await using client = await open();
      const arrived = notes.seen.length + many;
      const calls = Array.from({ length: many }, () => client.callTool("held", {}));
      await eventually(() => expect(notes.seen.length).toBeGreaterThanOrEqual(arrived));
      await client.ping();
      free();
      await Promise.all(calls);
      const held = notes.seen.filter(({ where }) => where === "held tool");
      expect(held).toHaveLength(many);
      expect(new Set(held.map(({ stored }) => stored)).size).toBe(many);
      expect(held.map(({ stored }) => stored)).toEqual(held.map(({ request }) => request));
    });
  });
});

it("keeps it for every call of a batch (P6)", async () => {
  const notes = takeNotes();
  const handler = toNodeHandler(notingServer(notes, Promise.resolve()));
  const server = createHttpServer((request, response) =>
    current.run(String(request.headers["x-request"]), handler, request, response),
  );
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const post = (body: object, headers: Record<string, string>) =>
    fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body: JSON.stringify(body),
    });
  const params = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "batch", version: "1" } };
  const opened = await post({ jsonrpc: "2.0", id: 0, method: "initialize", params }, { "x-request": "first" });
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "", "x-request": "batch" };
  await post({ jsonrpc: "2.0", method: "notifications/initialized" }, session);
  const text = "x".repeat(100_000);
  const calls = ["plain", "streamed", "held"].map((name, id) => {
    return { jsonrpc: "2.0", id: id + 1, method: "tools/call", params: { name, arguments: { text } } };
  });
  await (await post(calls, session)).text();
  const ran = notes.seen.filter(({ where }) => where.endsWith("tool"));
  expect(ran.map(({ where, stored }) => [where, stored]).toSorted()).toEqual([
    ["held tool", "batch"],
    ["streamed tool", "batch"],
    ["tool", "batch"],
  ]);
  await handler.close();
  await closed(server);
});

function closed(server: Server): Promise<void> {
  const done = new Promise<void>((resolve) => void server.close(() => resolve()));
  server.closeAllConnections();
  return done;
}
