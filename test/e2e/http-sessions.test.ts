import { afterAll, describe, expect, it } from "vitest";
import { createServer, tool } from "../../src/server/index.ts";
import { gate } from "../support/served.ts";
import { everythingHere, serveHttp } from "./support/built.ts";
import { createLog } from "./support/events.ts";
import { openModern, sessionClients } from "./support/over-http.ts";

// What only HTTP has: sessions with an id, an end and a stream of their own, and
// servers that do without. The clients are those of the official SDK.

const everything = await everythingHere();
const serving = await serveHttp(everything, { port: 0 });
const stateless = await serveHttp(everything, { port: 0, sessions: false });
afterAll(() => Promise.all([serving.close(), stateless.close()]));

const uri = "test://watched-resource";

/** The status of a request in a session. */
async function statusIn(sessionId: string, method: string): Promise<number> {
  const headers = {
    "mcp-session-id": sessionId,
    "mcp-protocol-version": "2025-11-25",
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const body = method === "POST" ? JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }) : null;
  const response = await fetch(serving.url, { method, headers, body });
  await response.body?.cancel();
  return response.status;
}

describe.each(sessionClients)("a session of the official client, version $version", ({ open }) => {
  it("has an id, which is sent with all that follows", async () => {
    await using client = await open(serving.url);
    const { transport, sent, session } = client;
    await session.client.listTools();
    const id = transport.sessionId ?? "";
    expect(id).toMatch(/^[\x21-\x7e]{32,}$/);
    const stream = await sent.find(({ method }) => method === "GET");
    expect(stream).toMatchObject({ status: 200, type: "text/event-stream" });
    const ids = sent.items.map(({ headers }) => headers.get("mcp-session-id"));
    expect(ids).toEqual([null, id, id, id]);
  });

  it("is ended by the client, with what runs in it", async () => {
    await using client = await open(serving.url);
    await using witness = await open(serving.url);
    const { session, transport, sent } = client;
    const id = transport.sessionId ?? "";
    const started = createLog<object>();
    const args = { ms: 60_000, steps: 1000 };
    session.callTool({ name: "slow", arguments: args }, { onprogress: started.add }).catch(() => {});
    await started.count(1);
    expect(await witness.session.call("inflight")).toBe('{"running":1}');
    expect(await statusIn(id, "POST")).toBe(200);
    await transport.terminateSession();
    expect(await sent.find(({ method }) => method === "DELETE")).toMatchObject({ status: 204 });
    while ((await witness.session.call("inflight")) !== '{"running":0}');
    expect(await statusIn(id, "POST")).toBe(404);
    expect(await statusIn(id, "GET")).toBe(404);
    expect(await statusIn(id, "DELETE")).toBe(404);
    expect(await witness.session.client.ping()).toEqual({});
  });

  it("is over when the server says so", async () => {
    await using client = await open(serving.url);
    expect(await statusIn(client.transport.sessionId ?? "", "DELETE")).toBe(204);
    await expect(client.session.client.ping()).rejects.toThrow("there is no such session");
  });

  it("hears on its stream what others change", async () => {
    await using client = await open(serving.url);
    await using other = await open(serving.url);
    await client.session.client.subscribeResource({ uri });
    await other.session.call("bump");
    await other.session.call("test_trigger_resource_update");
    await other.session.call("bump");
    expect(await client.session.changes.count(3)).toEqual(["tools", uri, "tools"]);
    expect(await other.session.changes.count(2)).toEqual(["tools", "tools"]);
    expect(client.sent.items.filter(({ method }) => method === "GET")).toHaveLength(1);
  });

  it("can be next to a client that needs none", async () => {
    await using client = await open(serving.url);
    await using modern = await openModern(serving.url);
    for (const { session } of [client, modern]) {
      session.fill = ({ message }) => ({
        action: "accept",
        content: { answer: `${message} ${session === client.session}` },
      });
    }
    const topics = Array.from({ length: 20 }, (_, index) => `topic ${index}`);
    const answers = ({ session }: typeof client) => Promise.all(topics.map((topic) => session.call("ask", { topic })));
    const [old, young] = await Promise.all([answers(client), answers(modern)]);
    expect(old).toEqual(topics.map((topic) => `You said: What about ${topic}? true`));
    expect(young).toEqual(topics.map((topic) => `You said: What about ${topic}? false`));
    expect(modern.transport.sessionId).toBeUndefined();
    expect(modern.sent.items.some(({ headers }) => headers.has("mcp-session-id"))).toBe(false);
  });
});

describe.each(sessionClients)("without sessions, the official client, version $version", ({ open }) => {
  it("is given no id, and no stream", async () => {
    await using client = await open(stateless.url);
    const { session, transport, sent } = client;
    expect(transport.sessionId).toBeUndefined();
    expect(await sent.find(({ method }) => method === "GET")).toMatchObject({ status: 405 });
    expect(session.client.getServerCapabilities()).toEqual({
      tools: {},
      prompts: {},
      resources: {},
      completions: {},
      tasks: { cancel: {}, requests: { tools: { call: {} } } },
    });
    expect(await session.client.ping()).toEqual({});
  });

  it("lists and calls tools, and hears of progress", async () => {
    await using client = await open(stateless.url);
    const { session } = client;
    expect((await session.client.listTools()).tools.map(({ name }) => name)).toContain("slow");
    const heard: unknown[] = [];
    const onprogress = (progress: unknown) => heard.push(progress);
    const result = await session.callTool({ name: "slow", arguments: { ms: 30, steps: 3 } }, { onprogress });
    expect(result.content).toEqual([{ type: "text", text: "done after 30 ms" }]);
    expect(heard).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3 })));
  });

  it("is told why it cannot be asked", async () => {
    await using client = await open(stateless.url);
    const { session } = client;
    await expect(session.call("ask", { topic: "art" })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("elicitation"),
    });
    const model = session.call("test_sampling", { prompt: "Say hello" });
    await expect(model).rejects.toMatchObject({ code: -32602, message: expect.stringContaining("sampling") });
  });

  it("is told what is not there", async () => {
    await using client = await open(stateless.url);
    const { session } = client;
    const unserved = { code: -32601, message: expect.stringContaining("resources/subscribe") };
    await expect(session.client.subscribeResource({ uri })).rejects.toMatchObject(unserved);
    await expect(session.call("nobody")).rejects.toMatchObject({ code: -32602 });
  });
});

describe.each([...sessionClients, { version: "2, modern", open: openModern }])(
  "a server that closes under the official client, version $version",
  ({ open }) => {
    it("answers what is open, and takes nothing new", async () => {
      const halfway = gate();
      const walk = tool({
        run: async (_input, { progress }) => {
          progress(1, 2);
          await halfway.opened;
          progress(2, 2);
          return "arrived";
        },
      });
      const walker = createServer({ name: "walker", version: "1", tools: { walk } });
      const short = await serveHttp(walker, { port: 0, drainMs: 60_000 });
      await using client = await open(short.url);
      const heard = createLog<object>();
      const running = client.session.callTool({ name: "walk" }, { onprogress: heard.add });
      await heard.count(1);
      const closed = short.close();
      await expect(client.session.call("walk")).rejects.toThrow("the server is closing");
      halfway.open();
      expect(await running).toMatchObject({ content: [{ type: "text", text: "arrived" }] });
      expect(heard.items).toHaveLength(2);
      await closed;
    });
  },
);

describe("a server without older revisions", () => {
  it.each(sessionClients)("tells the official client, version $version, what to speak", async ({ open }) => {
    await using modernOnly = await serveHttp(everything, { port: 0, legacy: false });
    await expect(open(modernOnly.url)).rejects.toThrow("unsupported protocol version; use 2026-07-28");
    await using client = await openModern(modernOnly.url);
    expect(await client.session.call("echo", { message: "hello" })).toBe("hello");
  });
});

it("a modern client is asked although there are no sessions", async () => {
  await using client = await openModern(stateless.url);
  client.session.fill = () => ({ action: "accept", content: { answer: "yes" } });
  expect(await client.session.call("ask", { topic: "art" })).toBe("You said: yes");
});

it("a modern client repeats in headers what the tool wants repeated", async () => {
  await using client = await openModern(serving.url);
  await client.session.client.listTools();
  expect(await client.session.call("test_x_mcp_header", { region: "Zürich", level: 3 })).toBe("Region Zürich, level 3");
  const headers = client.sent.items.at(-1)?.headers;
  expect(headers?.get("mcp-name")).toBe("test_x_mcp_header");
  expect(headers?.get("mcp-param-level")).toBe("3");
  expect(headers?.get("mcp-param-region")).toMatch(/^=\?base64\?/);
});
