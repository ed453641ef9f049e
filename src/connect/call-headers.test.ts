import { afterEach, describe, expect, it } from "vitest";
import type { Client } from "../client/client.ts";
import { createHost } from "../host/host.ts";
import type { JsonObject } from "../json/json.ts";
import { createServer, resource, tool } from "../server/index.ts";
import { createMemoryChannels } from "../transport/memory-channels.ts";
import { type HttpServeHandle, serveHttp } from "../transport/node/serve-http.ts";
import { serveChannel } from "../transport/serve-channel.ts";
import { dial } from "./connect.ts";
import { type ConnectOptions, connect, type Target } from "./index.ts";

const ok = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;

/** Tools that tell what header came with the request. */
const server = createServer({
  name: "tenants",
  version: "1",
  logging: true,
  cache: { ttlMs: 60_000, scope: "private" },
  tools: {
    tenant: tool({ run: (_, ctx) => ctx.http?.header("x-tenant") ?? "none" }),
    asks: tool({
      run: async (_, ctx) => {
        await ctx.ask("Sure?", ok);
        return ctx.http?.header("x-tenant") ?? "none";
      },
    }),
    slow: tool({ task: "required", run: (_, ctx) => ctx.http?.header("x-tenant") ?? "none" }),
    hangs: tool({ run: (_, ctx) => new Promise((_resolve, reject) => ctx.signal.addEventListener("abort", reject)) }),
  },
  resources: [resource("tenant://name", { read: (_, ctx) => ctx.http?.header("x-tenant") ?? "none" })],
});

interface Sent {
  readonly method: string;
  readonly headers: Headers;
  readonly body: JsonObject;
}

const opened: (Client | HttpServeHandle)[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

/** A client over HTTP, and what it sent. */
async function open(type: string | undefined, options: ConnectOptions = {}) {
  const serving = await serveHttp(server, { port: 0, sse: true });
  const sent: Sent[] = [];
  const watched: typeof fetch = (url, init) => {
    const body = typeof init?.body === "string" ? (JSON.parse(init.body) as JsonObject) : {};
    sent.push({ method: init?.method ?? "GET", headers: new Headers(init?.headers), body });
    return fetch(url, init);
  };
  const url = type === "sse" ? new URL("/sse", serving.url).href : serving.url;
  const client = await connect(type === undefined ? url : { url, type }, {
    fetch: watched,
    onElicit: () => ({ ok: true }),
    ...options,
  });
  opened.push(serving, client);
  /** The values of a header on requests of a method. */
  const valuesOf = (name: string, method: string): (string | null)[] =>
    sent.filter(({ body }) => body.method === method).map(({ headers }) => headers.get(name));
  return { client, sent, valuesOf };
}

describe.each([
  ["2026-07-28", undefined],
  ["2025-11-25", undefined],
  ["2024-11-05", "sse"],
] as const)("headers of one call over HTTP, %s %s", (revision, type) => {
  const pinned = type === "sse" ? {} : { revision };

  it("go with that call and no other (C15)", async () => {
    const { client } = await open(type, { ...pinned, headers: { "x-tenant": "every" } });
    const results = await Promise.all([
      client.tools.tenant?.({}, { headers: { "X-Tenant": "one" } }),
      client.tools.tenant?.({}, { headers: { "x-tenant": "two" } }),
      client.tools.tenant?.({}),
    ]);
    expect(results).toEqual(["one", "two", "every"]);
  });

  it("go with every request that the call takes (C15)", async () => {
    const { client, valuesOf } = await open(type, pinned);
    expect(await client.tools.asks?.({}, { headers: { "x-tenant": "one" } })).toBe("one");
    expect(new Set(valuesOf("x-tenant", "tools/call"))).toEqual(new Set(["one"]));
  });

  it("go with the end of the call, when it is cancelled (C15)", async () => {
    const { client, valuesOf } = await open(type, pinned);
    const abort = new AbortController();
    const call = client.callTool("hangs", {}, { signal: abort.signal, headers: { "x-tenant": "one" } });
    await client.ping();
    abort.abort();
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    await client.ping();
    const cancellations = revision === "2026-07-28" ? [] : ["one"];
    expect(valuesOf("x-tenant", "notifications/cancelled")).toEqual(cancellations);
  });

  it("cannot replace those of the protocol (C15)", async () => {
    const { client, sent } = await open(type, pinned);
    const headers = { accept: "text/plain", "Content-Type": "text/plain", "MCP-Session-Id": "mine", "mcp-method": "x" };
    expect(await client.tools.tenant?.({}, { headers })).toBe("none");
    const call = sent.find(({ body }) => body.method === "tools/call");
    expect(call?.headers.get("content-type")).toBe("application/json");
    expect(call?.headers.get("mcp-session-id")).not.toBe("mine");
  });

  it("are refused when they cannot be sent; the message does not repeat the value (C15)", async () => {
    const { client, valuesOf } = await open(type, pinned);
    const error = await client.callTool("tenant", {}, { headers: { "x-tenant": "a\r\nb" } }).catch((reason) => reason);
    expect(error).toMatchObject({ code: "invalid-params", message: expect.stringContaining("x-tenant") });
    expect(error.message).not.toContain("a\r\nb");
    expect(valuesOf("x-tenant", "tools/call")).toEqual([]);
  });

  it("go with ping and setLogLevel, too (C15)", async () => {
    const { client, valuesOf } = await open(type, pinned);
    await client.ping({ headers: { "x-tenant": "one" } });
    expect(valuesOf("x-tenant", revision === "2026-07-28" ? "server/discover" : "ping")).toContain("one");
    await client.setLogLevel("error", { headers: { "x-tenant": "two" } });
    expect(valuesOf("x-tenant", "logging/setLevel")).toEqual(revision === "2026-07-28" ? [] : ["two"]);
  });
});

describe("headers of one call", () => {
  it("keep its result out of the cache, and what is kept from it (C15)", async () => {
    const { client } = await open(undefined);
    const read = async (headers?: Record<string, string>): Promise<unknown> => {
      const { contents } = await client.readResource("tenant://name", headers && { headers });
      return contents[0] && "text" in contents[0] && contents[0].text;
    };
    expect(await read()).toBe("none");
    expect(await read({ "x-tenant": "one" })).toBe("one");
    expect(await read({ "x-tenant": "two" })).toBe("two");
    expect(await read()).toBe("none");
  });

  it("go with what follows the task that it became (C15)", async () => {
    const { client, valuesOf } = await open(undefined);
    expect(await client.tools.slow?.({}, { headers: { "x-tenant": "one" } })).toBe("one");
    const task = await client.tasks.start("slow", {}, { headers: { "x-tenant": "two" } });
    await task.result();
    await task.status();
    // What is pushed need not be asked for.
    const asked = valuesOf("x-tenant", "tasks/get");
    expect(asked).toContain("two");
    expect(asked).not.toContain(null);
  });

  it("pass through a host (C15)", async () => {
    const serving = await serveHttp(server, { port: 0 });
    const host = createHost({ far: { target: serving.url }, near: { target: server } }, {}, { dial });
    const options = { headers: { "x-tenant": "one" } };
    expect(await host.callTool("far:tenant", {}, options)).toMatchObject({ content: [{ text: "one" }] });
    await expect(host.callTool("near:tenant", {}, options)).rejects.toMatchObject({ code: "unsupported" });
    await host.close();
    await serving.close();
  });

  it.each<[string, () => Promise<Client>]>([
    ["a server in this process", () => connect(server as Target)],
    ["a server in this process, with an older revision", () => connect(server as Target, { revision: "2025-11-25" })],
    [
      "a channel",
      () => {
        const [here, there] = createMemoryChannels();
        serveChannel(there, server);
        return connect(here);
      },
    ],
  ])("are refused for %s, and nothing is sent (C15)", async (_, connected) => {
    await using client = await connected();
    await expect(client.callTool("tenant", {}, { headers: { "x-tenant": "one" } })).rejects.toMatchObject({
      code: "unsupported",
      message:
        'tools/call "tenant" on server "tenants" was not sent: only a server at a URL takes headers; leave out the option headers',
      data: { method: "tools/call" },
    });
    expect(await client.callTool("tenant", {}, { headers: {} })).toMatchObject({ content: [{ text: "none" }] });
  });
});
