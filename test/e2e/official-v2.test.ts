import {
  type Client,
  LOG_LEVEL_META_KEY,
  ResourceNotFoundError,
  StreamableHTTPClientTransport,
  type VersionNegotiationMode,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, describe, expect, it } from "vitest";
import { isRunning, until } from "../fixtures/children/processes.ts";
import { behavesInEveryEra, behavesInSessions } from "./support/behaviours.ts";
import { everythingHere, serveHttp } from "./support/built.ts";
import { type Official, sessionFor } from "./support/official.ts";
import { openV2 } from "./support/official-v2.ts";
import { everything } from "./support/places.ts";
import { isAsked } from "./support/questions.ts";

// The client of the official SDK, version 2, in both of its eras, against our
// server: in a child process over stdio, in this one over HTTP.

const plain = await serveHttp(await everythingHere(), { port: 0 });
const streaming = await serveHttp(await everythingHere(), { port: 0, respondWith: "sse" });
afterAll(() => Promise.all([plain.close(), streaming.close()]));

const overStdio = () => new StdioClientTransport({ ...everything, stderr: "ignore" });
const overHttp = (url: string) => new StreamableHTTPClientTransport(new URL(url));

const ways = [
  { way: "stdio", transport: overStdio },
  { way: "HTTP", transport: () => overHttp(plain.url) },
  { way: "HTTP that always streams", transport: () => overHttp(streaming.url) },
];
const eras: readonly { readonly name: string; readonly mode: VersionNegotiationMode; readonly modern: boolean }[] = [
  { name: "legacy", mode: "legacy", modern: false },
  { name: "negotiated", mode: "auto", modern: true },
  { name: "pinned", mode: { pin: "2026-07-28" }, modern: true },
];

describe.each(ways.flatMap((way) => eras.map((era) => ({ ...way, ...era }))))(
  "the official client, version 2, $name, over $way",
  ({ transport, mode, modern }) => {
    const session = sessionFor(() => openV2(transport(), mode));

    it("has found its era", () => {
      const { client } = session();
      expect(client.getProtocolEra()).toBe(modern ? "modern" : "legacy");
      expect(client.getNegotiatedProtocolVersion()).toBe(modern ? "2026-07-28" : "2025-11-25");
    });

    behavesInEveryEra(session);
    isAsked(session);
    if (modern) behavesInTheModernEra(session);
    else behavesInSessions(session);

    it("takes an error for a missing resource for what it is", async () => {
      const uri = "test://nothing";
      const read = session().client.readResource({ uri });
      if (modern) await expect(read).rejects.toMatchObject({ code: -32602, data: { uri } });
      else await expect(read).rejects.toBeInstanceOf(ResourceNotFoundError);
    });
  },
);

/** What only the modern era has. */
function behavesInTheModernEra(session: () => Official<Client>): void {
  const uri = "test://watched-resource";
  const caching = { ttlMs: expect.any(Number), cacheScope: expect.stringMatching(/^(public|private)$/) };

  it("discovers", async () => {
    const discovered = await session().client.discover();
    expect(discovered.supportedVersions).toContain("2026-07-28");
    expect(discovered).toMatchObject(caching);
  });

  it("hears how long lists and resources may be kept", async () => {
    const { client } = session();
    expect(await client.listTools()).toMatchObject(caching);
    expect(await client.listPrompts()).toMatchObject(caching);
    expect(await client.listResources()).toMatchObject(caching);
    expect(await client.listResourceTemplates()).toMatchObject(caching);
    expect(await client.readResource({ uri: "test://static-text" })).toMatchObject(caching);
  });

  it("names a log level for each call, and hears nothing without", async () => {
    const { client, logged } = session();
    const name = "test_logging_tool";
    await client.callTool({ name });
    await client.callTool({ name, _meta: { [LOG_LEVEL_META_KEY]: "info" } });
    expect(logged.items.map(({ level }) => level)).toEqual(["info", "error"]);
  });

  it("answers questions by hand", async () => {
    const { client } = session();
    const params = { name: "test_input_required_result_elicitation" };
    const first = await client.request({ method: "tools/call", params }, { allowInputRequired: true });
    expect(first).toMatchObject({
      resultType: "input_required",
      inputRequests: { user_name: { method: "elicitation/create", params: { message: "What is your name?" } } },
      requestState: expect.any(String),
    });
    const { requestState } = first as { requestState?: string };
    const inputResponses = { user_name: { action: "accept", content: { name: "Ada" } } };
    const again = { ...params, inputResponses, requestState };
    expect(await client.request({ method: "tools/call", params: again })).toMatchObject({
      content: [{ type: "text", text: "Hello, Ada!" }],
    });
    const changed = { ...again, requestState: `${requestState}-TAMPERED` };
    await expect(client.request({ method: "tools/call", params: changed })).rejects.toMatchObject({ code: -32602 });
  });

  it("subscribes, and hears only what it asked for", async () => {
    const { client, call, changes } = session();
    await call("test_trigger_resource_update");
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
    expect(subscription.honoredFilter).toEqual({ toolsListChanged: true, resourceSubscriptions: [uri] });
    await call("test_trigger_prompt_change");
    await call("bump");
    await call("test_trigger_resource_update");
    expect(await changes.count(2)).toEqual(["tools", uri]);
    await subscription.close();
    expect(await subscription.closed).toBe("local");
    const other = await client.listen({ promptsListChanged: true });
    await call("bump");
    await call("test_trigger_prompt_change");
    expect(await changes.count(3)).toEqual(["tools", uri, "prompts"]);
    await other.close();
  });

  it("repeats in headers what the tool wants repeated", async () => {
    const { client, call } = session();
    await client.listTools();
    expect(await call("test_x_mcp_header", { region: "Zürich", level: 3 })).toBe("Region Zürich, level 3");
  });
}

describe("a server that goes", () => {
  it("ends subscriptions over stdio", async () => {
    const transport = overStdio();
    const { client } = await openV2(transport, { pin: "2026-07-28" });
    const subscription = await client.listen({ toolsListChanged: true });
    process.kill(transport.pid ?? 0, "SIGTERM");
    expect(await subscription.closed).toBe("graceful");
    await client.close();
  });

  it("ends subscriptions over HTTP", async () => {
    const short = await serveHttp(await everythingHere(), { port: 0 });
    const { client } = await openV2(overHttp(short.url), { pin: "2026-07-28" });
    const subscription = await client.listen({ toolsListChanged: true });
    await short.close();
    expect(await subscription.closed).toBe("graceful");
    await client.close();
  });
});

it.each(eras)("leaves no process behind, $name", async ({ mode }) => {
  const transport = overStdio();
  const { client } = await openV2(transport, mode);
  const pid = transport.pid ?? 0;
  expect(isRunning(pid)).toBe(true);
  await client.close();
  // It does not wait for a process that it had to kill.
  await until(() => !isRunning(pid));
});
