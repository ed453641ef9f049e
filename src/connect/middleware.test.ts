import { describe, expect, it } from "vitest";
import { type Middleware, type Service, withMiddleware } from "../protocol/service.ts";
import { createServer, type Server, tool } from "../server/index.ts";
import { memoryStore } from "../store/memory-store.ts";
import { createMemoryChannels } from "../transport/memory-channels.ts";
import { serveHttp } from "../transport/node/serve-http.ts";
import { serveChannel } from "../transport/serve-channel.ts";
import { connect } from "./index.ts";

const info = { name: "shop", version: "1" };
const tools = { hi: tool({ run: () => "hi" }) };

const open: Middleware = (next) => (call) => next(call);

/** Middleware that notes which clients send what. */
function witness(): { readonly seen: readonly string[]; readonly middleware: Middleware } {
  const seen: string[] = [];
  const middleware: Middleware = (next) => (call) => {
    seen.push(`${call.peer.info?.name ?? "nobody"} ${call.peer.revision} ${call.method}`);
    return next(call);
  };
  return { seen, middleware };
}

/** Both ways to put middleware around a server. */
const ways: Readonly<Record<string, (middleware: Middleware) => Service>> = {
  "the option of createServer": (middleware) => createServer({ ...info, tools, middleware: [middleware] }),
  "compose around a server": (middleware) => withMiddleware(createServer({ ...info, tools }), middleware),
  "compose around a function": (middleware) => {
    const server = createServer({ ...info, tools });
    return withMiddleware((call) => server(call), open, middleware);
  },
};

const client = { info: { name: "agent", version: "1" } };

describe.each(Object.entries(ways))("middleware by %s", (_, serverWith) => {
  it("sees no call before there is a client (I8)", async () => {
    const { seen, middleware } = witness();
    await using _serving = await serveHttp(serverWith(middleware), { port: 0 });
    const [here] = createMemoryChannels();
    const overChannel = serveChannel(here, serverWith(middleware));
    await overChannel.ready;
    await overChannel.close();
    expect(seen).toEqual([]);
  });

  it.each(["2026-07-28", "2025-06-18"] as const)(
    "sees the calls of clients of %s, over HTTP too (I8)",
    async (revision) => {
      const { seen, middleware } = witness();
      await using serving = await serveHttp(serverWith(middleware), { port: 0 });
      for (const target of [serving.url, serverWith(middleware)]) {
        await using agent = await connect(target, { ...client, revision });
        await agent.callTool("hi");
      }
      const once = [`agent ${revision} server/discover`, `agent ${revision} tools/call`];
      expect(seen.filter((line) => !line.includes("tools/list") && !line.includes("listen"))).toEqual([
        ...once,
        ...once,
      ]);
    },
  );
});

describe("a server with middleware around it", () => {
  it("keeps its store, so that its sessions live on any node (X8)", async () => {
    const store = memoryStore();
    const node = (): Promise<{ readonly url: string; close(): Promise<void> }> =>
      serveHttp(withMiddleware(createServer({ ...info, tools, store }), open), { port: 0 });
    const [one, other] = await Promise.all([node(), node()]);
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const clientInfo = client.info;
    const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: hello });
    const opened = await fetch(one.url, { method: "POST", headers, body });
    const session = { ...headers, "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
    const ping = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" });
    const answered = await fetch(other.url, { method: "POST", headers: session, body: ping });
    expect([answered.status, await answered.json()]).toEqual([200, { jsonrpc: "2.0", id: 2, result: {} }]);
    await Promise.all([one.close(), other.close()]);
  });

  it("can be closed and changed, and is as typed as before (X8)", async () => {
    const server = createServer({ ...info, tools });
    const wrapped = withMiddleware(server, open);
    expect(wrapped.close).toBe(server.close);
    expect(wrapped.info).toEqual(info);
    await using agent = await connect(wrapped);
    expect(await agent.tools.hi()).toBe("hi");
    wrapped.tools.add("more", tool({ run: () => "more" }));
    expect([wrapped.tools.names, wrapped.resources.names]).toEqual([["hi", "more"], []]);
    const typed: Server<{ readonly hi: { readonly input: object; readonly output: string } }> = wrapped;
    expect((await agent.request("tools/call", { name: "more" })).content).toEqual([{ type: "text", text: "more" }]);
    await typed.close();
  });

  it("leaves a function without more as it is, and a shared wrapper untouched (X8)", () => {
    const server = createServer({ ...info, tools });
    const same: Middleware = (next) => next;
    expect(Object.keys(withMiddleware((call) => server(call), same))).toEqual([]);
    const shared: Service = (call) => server(call);
    withMiddleware(server, () => shared as never);
    expect(Object.keys(shared)).toEqual([]);
  });
});
