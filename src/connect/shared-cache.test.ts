import { describe, expect, it, vi } from "vitest";
import type { Middleware } from "../protocol/service.ts";
import { createServer, type ServerOptions, tool } from "../server/index.ts";
import { memoryStore } from "../store/memory-store.ts";
import { toFetchHandler } from "../transport/http/fetch-handler.ts";
import { type ConnectOptions, connect } from "./index.ts";

/** A server at a URL, which says how often it was asked for its tools. */
function setUp(options: Partial<ServerOptions> = {}) {
  let asked = 0;
  const counting: Middleware = (next) => (call) => {
    if (call.method === "tools/list") asked++;
    return next(call);
  };
  const server = createServer({
    name: "shop",
    version: "1",
    listChanged: true,
    cache: { ttlMs: 60_000, scope: "public" },
    middleware: [counting],
    ...options,
    tools: { echo: tool({ run: () => "echo" }) },
  });
  const handle = toFetchHandler(server, { allowedHosts: ["shop.example"] });
  const open = (more: ConnectOptions = {}, url = "https://shop.example/mcp") =>
    connect(url, { fetch: async (...request) => handle(new Request(...request)), ...more });
  return { server, open, asked: () => asked };
}

describe("connect with a cache in a store", () => {
  it("gives what another client was given by the same server", async () => {
    const { open, asked } = setUp();
    const cache = { store: Promise.resolve(memoryStore()) };
    await using one = await open({ cache });
    await using two = await open({ cache });
    const tools = await one.listTools();
    expect(await two.listTools()).toEqual(tools);
    expect(asked()).toBe(1);
    await using elsewhere = await open({ cache }, "https://shop.example/mcp?tenant=other");
    await elsewhere.listTools();
    expect(asked()).toBe(2);
    expect(await two.listTools({ fresh: true })).toEqual(tools);
    expect(asked()).toBe(3);
  });

  it("gives what is private to the same partition", async () => {
    const { open, asked } = setUp({ cache: { ttlMs: 60_000 } });
    const store = memoryStore();
    for (const partition of ["ann", "ann", "bob", undefined, undefined]) {
      await using client = await open({ cache: { store, partition } });
      await client.listTools();
      await client.listTools();
    }
    expect(asked()).toBe(4);
  });

  it("hears of changes, for everybody", async () => {
    const { open, server } = setUp();
    const cache = { store: memoryStore() };
    await using hearing = await open({ cache });
    await using other = await open({ cache });
    await using changes = hearing.changes({ tools: true });
    await changes.ready;
    expect(await other.listTools()).toHaveLength(1);
    server.tools.add("more", tool({ run: () => "more" }));
    for await (const change of changes) {
      expect(change).toEqual({ kind: "tools" });
      break;
    }
    expect(await hearing.listTools()).toHaveLength(2);
    expect(await other.listTools()).toHaveLength(2);
  });

  it("is a cache in memory where nobody else can reach the server, and says so", async () => {
    const { server, asked } = setUp();
    const onWarning = vi.fn();
    for (let n = 1; n <= 2; n++) {
      await using client = await connect(server, { cache: { store: memoryStore() }, onWarning });
      await client.listTools();
      await client.listTools();
      expect(asked()).toBe(n);
      expect(onWarning.mock.lastCall).toMatchObject([{ kind: "not-honoured" }]);
    }
  });

  it("asks the server when the store fails", async () => {
    const { open, asked } = setUp();
    const store = memoryStore();
    await store.close();
    const onWarning = vi.fn();
    await using client = await open({ cache: { store }, onWarning });
    expect(await client.listTools()).toHaveLength(1);
    expect(await client.listTools()).toHaveLength(1);
    expect(asked()).toBe(2);
    expect(onWarning.mock.calls).toMatchObject([[{ kind: "store-failed", cause: { code: "closed" } }]]);
  });

  it.each([
    [true, 1],
    [undefined, 1],
    [false, 2],
  ])("is not what %s asks for", async (cache, expected) => {
    const { open, asked } = setUp();
    await using client = await open(cache === undefined ? {} : { cache });
    await client.listTools();
    await client.listTools();
    expect(asked()).toBe(expected);
  });
});
