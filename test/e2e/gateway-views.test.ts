import { StreamableHTTPClientTransport as V2Transport } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport as V1Transport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../../src/gateway/index.ts";
import type { HttpServeHandle } from "../../src/transport/node/serve-http.ts";
import { apiKey, createServer, openGateway, serveHttp, toFetchHandler, tool } from "./support/built.ts";
import { createLog } from "./support/events.ts";
import { type Official, sessionFor } from "./support/official.ts";
import { openV1 } from "./support/official-v1.ts";
import { openV2 } from "./support/official-v2.ts";
import { script } from "./support/places.ts";
import { type Serving, serve } from "./support/serving.ts";

// The views of a gateway over HTTP, with official clients in front and official servers behind.

const many = createServer({
  name: "many",
  version: "1",
  tools: Object.fromEntries(
    Array.from({ length: 1_000 }, (_, index) => [
      `job${index}`,
      tool({ description: `Runs the job of number ${index}.`, run: () => `job ${index} is done` }),
    ]),
  ),
});

let v1: Serving;
let v2: Serving;
let gateway: Gateway;
let served: HttpServeHandle;

beforeAll(async () => {
  [v1, v2] = await Promise.all([
    serve(script("test/fixtures/official-v1-server.mjs")),
    serve(script("test/fixtures/official-v2-server.mjs", "--port", "0")),
  ]);
  gateway = await openGateway(
    { v1: `${v1.url}/mcp`, v2: `${v2.url}/mcp`, many },
    {
      pageSize: 300,
      views: {
        old: { servers: ["v1"] },
        both: {
          servers: ["v1", "v2"],
          tools: { allow: ["greet", "slow", "running"] },
          rename: { "v2:greet": "welcome" },
        },
        found: { search: true },
        few: { servers: ["v1"], search: "auto" },
        "two words": { servers: ["many"] },
      },
    },
  );
  served = await serveHttp(gateway, { port: 0 });
  await gateway.settled();
});

afterAll(async () => {
  await served.close();
  await gateway.close();
});

const fronts: readonly { readonly front: string; open(view: string): Promise<Official> }[] = [
  { front: "v1", open: (view) => openV1(new V1Transport(new URL(`${served.url}${view}`)) as never) },
  { front: "v2, 2025-11-25", open: (view) => openV2(new V2Transport(new URL(`${served.url}${view}`)), "legacy") },
  { front: "v2, 2026-07-28", open: (view) => openV2(new V2Transport(new URL(`${served.url}${view}`)), "auto") },
];

describe.each(fronts)("a client of $front", ({ open }) => {
  const old = sessionFor(() => open("/old"));
  const both = sessionFor(() => open("/both"));
  const found = sessionFor(() => open("/found"));
  const few = sessionFor(() => open("/few"));

  it("has the server of a view by its own names", async () => {
    const { client } = old();
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["echo", "greet"]));
    expect(client.getServerVersion()).toMatchObject({ name: "plugbay/old" });
    expect(client.getInstructions()).toBe("An official server.");
    expect(await old().call("echo", { message: "hello" })).toBe("hello");
    const ref = { type: "ref/prompt", name: "talk" } as const;
    const { completion } = await client.complete({ ref, argument: { name: "topic", value: "w" } });
    expect(completion.values).toEqual(["weather", "wine"]);
  });

  it("has what is in a view, by the names of the view", async () => {
    const names = (await both().client.listTools()).tools.map(({ name }) => name);
    expect(names.toSorted()).toEqual(["v1__greet", "v1__running", "v1__slow", "v2__running", "v2__slow", "welcome"]);
    both().fill = () => ({ action: "accept", content: { name: "Ada" } });
    expect(await both().call("welcome")).toBe("Hello, Ada!");
    await expect(both().call("v1__echo", { message: "hello" })).rejects.toThrow(/unknown tool/);
  });

  it("finds tools and calls them, with questions", async () => {
    const session = found();
    expect((await session.client.listTools()).tools.map(({ name }) => name)).toEqual(["search_tools", "call_tool"]);
    const shown = await session.call("search_tools", { query: "job of number 777" });
    expect(shown).toContain('"name":"many__job777"');
    expect(await session.call("call_tool", { name: "many__job777" })).toBe("job 777 is done");
    session.fill = ({ message }) => ({ action: "accept", content: { name: `the reader of "${message}"` } });
    for (const server of ["v1", "v2"])
      expect(await session.call("call_tool", { name: `${server}__greet` })).toBe(
        'Hello, the reader of "Who are you?"!',
      );
  });

  it("hears of progress of what it found, and cancels it", async () => {
    const heard: unknown[] = [];
    const onprogress = (progress: unknown) => heard.push(progress);
    const slow = (steps: number) => ({ name: "call_tool", arguments: { name: "v2__slow", arguments: { steps } } });
    await found().callTool(slow(3), { onprogress });
    expect(heard).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })));
    const abort = new AbortController();
    const log = createLog<object>();
    const running = found().callTool(slow(100_000), { signal: abort.signal, onprogress: log.add });
    running.catch(() => {});
    await log.count(1);
    abort.abort("enough");
    await expect(running).rejects.toThrow("enough");
    while ((await both().call("v2__running")) !== "0");
  });

  it("is told what to do about a name that leads nowhere", async () => {
    const result = await found().callTool({ name: "call_tool", arguments: { name: "v2__greeet" } });
    expect(result).toMatchObject({ isError: true });
    expect(result.content[0]?.text).toMatch(
      /unknown tool "v2__greeet"; did you mean v2__greet.*Find tools with search_tools/,
    );
  });

  it("sees the tools themselves where they are few", async () => {
    const names = (await few().client.listTools()).tools.map(({ name }) => name);
    expect(names).toContain("echo");
    expect(names).not.toContain("search_tools");
  });

  it("is refused where there is no view", async () => {
    await expect(open("/nothing")).rejects.toThrow(/there is no view|404/);
  });

  it("reads large lists page by page to their end", async () => {
    const session = await open("/two%20words");
    const list = session.client.listTools as (params?: { cursor?: string }) => Promise<{
      readonly tools: readonly { readonly name: string }[];
      readonly nextCursor?: string;
    }>;
    const names = new Set<string>();
    for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
      const page = await list.call(session.client, cursor === undefined ? undefined : { cursor });
      for (const { name } of page.tools) names.add(name);
      cursor = page.nextCursor;
    }
    expect(names.size).toBe(1_000);
    await session.client.close();
  });
});

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const post = (url: string, body: object, more: Record<string, string> = {}) =>
  fetch(url, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });

describe("a path below the endpoint", () => {
  it("says which views there are when it leads to none", async () => {
    const response = await post(`${served.url}/nothing`, initialize);
    expect(response.status).toBe(404);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error.message).toMatch(/^there is no view "nothing"; the whole is served at \/mcp, views at: \/mcp\/old, /);
    expect((await post(`${served.url}/old/more`, initialize)).status).toBe(404);
    expect((await post(`${served.url}/%E0%A4%A`, initialize)).status).toBe(404);
    expect((await post(`${served.url}/constructor`, initialize)).status).toBe(404);
  });

  it("has sessions of its own", async () => {
    const opened = await post(`${served.url}/old`, initialize);
    const session = opened.headers.get("mcp-session-id") ?? "";
    await opened.text();
    const ready = { jsonrpc: "2.0", method: "notifications/initialized" };
    expect((await post(`${served.url}/old`, ready, { "mcp-session-id": session })).status).toBe(202);
    const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
    const statusAt = async (path: string) =>
      (await post(`${served.url}${path}`, ping, { "mcp-session-id": session })).status;
    expect(await statusAt("/old")).toBe(200);
    expect(await statusAt("/both")).toBe(404);
    expect(await statusAt("")).toBe(404);
    const end = await fetch(`${served.url}/both`, { method: "DELETE", headers: { "mcp-session-id": session } });
    expect(end.status).toBe(404);
    expect(await statusAt("/old")).toBe(200);
  });

  it("wants the same credentials, and tells nobody else which views there are", async () => {
    const auth = apiKey({ verify: (key) => (key === "secret" ? { principal: "ada" } : undefined) });
    const guarded = await serveHttp(gateway, { port: 0, auth });
    for (const path of ["", "/old", "/nothing"])
      expect((await post(`${guarded.url}${path}`, initialize)).status).toBe(401);
    const known = { "x-api-key": "secret" };
    expect((await post(`${guarded.url}/old`, initialize, known)).status).toBe(200);
    expect((await post(`${guarded.url}/nothing`, initialize, known)).status).toBe(404);
    await guarded.close();
  });

  it("checks the host and the origin as the endpoint does", async () => {
    expect((await post(`${served.url}/old`, initialize, { origin: "https://evil.example" })).status).toBe(403);
  });

  it("is served by a handler of requests of the Fetch standard, too", async () => {
    const handler = toFetchHandler(gateway);
    const send = (path: string) =>
      handler(new Request(`http://127.0.0.1${path}`, { method: "POST", headers, body: JSON.stringify(initialize) }));
    expect((await send("/mcp")).status).toBe(200);
    expect((await send("/mcp/old")).status).toBe(200);
    expect((await send("/mcp/nothing")).status).toBe(404);
    expect((await send("/old")).status).toBe(404);
    await handler.close();
  });
});
