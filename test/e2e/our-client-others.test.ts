import { describe, expect, it } from "vitest";
import { script } from "./support/places.ts";
import { serve } from "./support/serving.ts";
import { call, next, openTalk, type Talk, talkWith } from "./support/talk.ts";

// Our client over HTTP against servers made with libraries of others: mcp-lite and tmcp.

const [lite, tmcp] = await Promise.all([
  serve(script("test/fixtures/mcp-lite-server.mjs", "--port", "0")),
  serve(script("test/fixtures/tmcp-server.mjs", "--port", "0")),
]);

const texts = (text: string) => ({ content: [{ type: "text", text }] });

/** What both libraries do in the same way. `scheme` is that of the resources. */
function answers(talk: () => Talk, scheme: string): void {
  it("lists what it has", async () => {
    const { client } = talk();
    expect((await client.listTools()).map(({ name }) => name)).toEqual(expect.arrayContaining(["echo", "greet"]));
    expect((await client.listResources()).map(({ uri }) => uri)).toContain(`${scheme}://plain`);
    expect((await client.listResourceTemplates()).map(({ uriTemplate }) => uriTemplate)).toEqual([
      `${scheme}://item/{id}`,
    ]);
    expect(await client.listPrompts()).toMatchObject([{ name: "talk", arguments: [{ name: "topic" }] }]);
  });

  it("is called", async () => {
    const { client } = talk();
    await client.ping();
    expect(await client.callTool("echo", { message: "grüße 😀" })).toMatchObject(texts("grüße 😀"));
    expect(await client.callTool("fail")).toMatchObject({ ...texts("it did not work"), isError: true });
    expect(await client.tools.add?.({ a: 1, b: 2 })).toEqual({ sum: 3 });
    const messages = Array.from({ length: 50 }, (_, index) => `message ${index}`);
    expect(await Promise.all(messages.map((message) => call(client, "echo", { message })))).toEqual(messages);
  });

  it("has its resources read, and gives prompts", async () => {
    const { client } = talk();
    const uri = `${scheme}://item/7`;
    expect((await client.readResource(uri)).contents).toEqual([{ uri, mimeType: "text/plain", text: "item 7" }]);
    const { messages } = await client.getPrompt("talk", { topic: "art" });
    expect(messages).toEqual([{ role: "user", content: { type: "text", text: "Talk of art." } }]);
  });

  it("reports progress", async () => {
    const heard: unknown[] = [];
    const onProgress = (progress: unknown) => heard.push(progress);
    expect(await talk().client.callTool("slow", { steps: 3 }, { onProgress })).toMatchObject(texts("done"));
    expect(heard).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })));
  });
}

describe.each([
  { path: "/mcp", revision: "2025-03-26", options: {}, greeting: "Hello, Ada!" },
  { path: "/mcp", revision: "2025-06-18", options: { revision: "2025-06-18" }, greeting: "Hello, Ada!" },
  { path: "/stateless", revision: "2025-03-26", options: {}, greeting: "You cannot be asked." },
  { path: "/stateless", revision: "2025-06-18", options: { revision: "2025-06-18" }, greeting: "You cannot be asked." },
] as const)("a server of mcp-lite at $path, which speaks $revision", ({ path, revision, options, greeting }) => {
  const talk = talkWith(`${lite.url}${path}`, options);

  it(`speaks ${revision}`, () => {
    const { client } = talk();
    expect(client.revision).toBe(revision);
    expect(client.server.serverInfo).toMatchObject({ name: "lite", version: "0.10.0" });
  });

  answers(talk, "lite");

  it("fails in its own ways", async () => {
    const { client } = talk();
    await expect(client.callTool("nobody")).rejects.toMatchObject({ code: "method-not-found" });
    await expect(client.callTool("add", { a: "one" })).rejects.toMatchObject({ code: "invalid-params" });
    await expect(client.callTool("throw")).rejects.toMatchObject({ message: "on purpose", data: { why: "a test" } });
    await expect(client.readResource("lite://nothing")).rejects.toMatchObject({ code: "method-not-found" });
    await expect(client.setLogLevel("debug")).rejects.toMatchObject({ code: "unsupported" });
  });

  it("asks whom it can ask", async () => {
    expect(await call(talk().client, "greet")).toBe(greeting);
  });
});

describe.each(["2025-03-26", "2025-06-18"] as const)("a session of mcp-lite in %s", (revision) => {
  it("tells what changes on the stream of the session", async () => {
    await using talk = await openTalk(`${lite.url}/mcp`, { revision });
    const { client, warnings } = talk;
    await using tools = client.changes({ tools: true });
    await tools.ready;
    expect(await call(client, "toggle")).toBe("added");
    expect(await next(tools)).toEqual({ kind: "tools" });
    expect((await client.listTools()).map(({ name }) => name)).toContain("extra");
    expect(warnings.items).toEqual([]);
  });

  it.each(["decline", "cancel"] as const)("hears a user say no by %s", async (action) => {
    await using talk = await openTalk(`${lite.url}/mcp`, { revision, onElicit: () => ({ action }) });
    expect(await call(talk.client, "greet")).toBe(`You said ${action}.`);
  });
});

describe.each([
  { name: "negotiated", revision: "2026-07-28", options: {} },
  { name: "pinned to modern", revision: "2026-07-28", options: { revision: "2026-07-28" } },
  { name: "pinned to legacy", revision: "2025-06-18", options: { revision: "2025-06-18" } },
  { name: "pinned to an older one", revision: "2025-03-26", options: { revision: "2025-03-26" } },
] as const)("a server of tmcp, $name", ({ revision, options }) => {
  const talk = talkWith(`${tmcp.url}/mcp`, options);

  it(`speaks ${revision}`, () => {
    const { client } = talk();
    expect(client.revision).toBe(revision);
    expect(client.server.serverInfo).toMatchObject({ name: "tmcp", version: "1.20.0" });
    expect(client.server.instructions).toBe("A server of others.");
  });

  answers(talk, "tmcp");

  it("fails in its own ways", async () => {
    const { client } = talk();
    expect(await client.callTool("nobody")).toMatchObject({ ...texts("Tool nobody not found"), isError: true });
    await expect(client.readResource("tmcp://nothing")).rejects.toMatchObject({ code: "invalid-params" });
  });

  it("asks, and is answered", async () => {
    const { client } = talk();
    expect(await call(client, "greet")).toBe("Hello, Ada!");
    expect(await call(client, "think")).toBe("1 message, 10 tokens");
  });

  it("completes what is in a template", async () => {
    const ref = { type: "ref/resource", uri: "tmcp://item/{id}" } as const;
    const { completion } = await talk().client.complete({ ref, argument: { name: "id", value: "o" } });
    expect(completion.values).toEqual(["one", "other"]);
  });

  it("logs what it is asked to log", async () => {
    const { client, logged } = talk();
    const warning = { level: "warning", data: { careful: true }, logger: "tmcp" };
    await call(client, "log");
    await logged.count(1);
    await client.setLogLevel("debug");
    await call(client, "log");
    expect(await logged.count(3)).toEqual([warning, { level: "debug", data: "a detail" }, warning]);
  });

  it("tells what changes", async () => {
    const { client } = talk();
    await using tools = client.changes({ tools: true });
    await using watched = client.watch("tmcp://plain");
    await Promise.all([tools.ready, watched.ready]);
    const changes = tools[Symbol.asyncIterator]();
    for (const change of ["added", "removed"]) {
      expect(await call(client, "toggle")).toBe(change);
      expect(await changes.next()).toEqual({ done: false, value: { kind: "tools" } });
      expect((await client.listTools()).some(({ name }) => name === "extra")).toBe(change === "added");
    }
    await call(client, "touch");
    expect(await next(watched)).toEqual({ uri: "tmcp://plain" });
  });

  it("stops a call that nobody wants any more", async () => {
    const { client } = talk();
    const abort = new AbortController();
    const slow = client.callTool("slow", { steps: 100_000 }, { signal: abort.signal, timeoutMs: 0 });
    slow.catch(() => {});
    while ((await call(client, "running")) !== "1");
    abort.abort("enough");
    await expect(slow).rejects.toMatchObject({ code: "cancelled", cause: "enough" });
    while ((await call(client, "running")) !== "0");
  });
});
