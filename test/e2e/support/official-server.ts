import { expect, it } from "vitest";
import { call, next, type Talk } from "./talk.ts";

// What the servers made with the official SDK do for our client, whatever the
// way to them. Those that keep nothing between requests do less.

/** What the versions of the SDK say differently. */
export interface Dialect {
  readonly version: string;
  /** A call of a tool that is not there. */
  readonly noTool: { readonly result: object } | { readonly error: object };
  /** The error for a resource that is not there. */
  readonly noResource: object;
}

export const version1: Dialect = {
  version: "1.32.2",
  noTool: { result: { content: [{ text: "MCP error -32602: Tool nobody not found" }], isError: true } },
  noResource: { code: "invalid-params", message: "MCP error -32602: Resource official://nothing not found" },
};

export const version2: Dialect = {
  version: "2.4.0",
  noTool: { error: { code: "invalid-params" } },
  noResource: { code: "resource-not-found", data: { uri: "official://nothing" } },
};

const texts = (text: string) => ({ content: [{ type: "text", text }] });

/** What needs nothing but an answer. */
export function answers(talk: () => Talk, { version, noTool, noResource }: Dialect): void {
  it("introduces itself", async () => {
    const { client } = talk();
    expect(client.server.serverInfo).toMatchObject({ name: "official", version });
    expect(client.server.instructions).toBe("An official server.");
    await client.ping();
    expect((await client.discover()).capabilities).toMatchObject({ tools: { listChanged: true }, completions: {} });
  });

  it("lists what it has", async () => {
    const { client } = talk();
    expect((await client.listTools()).map(({ name }) => name)).toEqual(expect.arrayContaining(["echo", "greet"]));
    expect((await client.listResources()).map(({ uri }) => uri)).toEqual(["official://plain", "official://watched"]);
    expect((await client.listResourceTemplates()).map(({ uriTemplate }) => uriTemplate)).toEqual([
      "official://item/{id}",
    ]);
    expect(await client.listPrompts()).toMatchObject([
      { name: "talk", arguments: [{ name: "topic", required: true }] },
    ]);
  });

  it("is called", async () => {
    const { client } = talk();
    expect(await client.callTool("echo", { message: "grüße 😀" })).toMatchObject(texts("grüße 😀"));
    expect(await client.callTool("fail")).toMatchObject({ ...texts("it did not work"), isError: true });
    const nobody = client.callTool("nobody");
    if ("result" in noTool) expect(await nobody).toMatchObject(noTool.result);
    else await expect(nobody).rejects.toMatchObject(noTool.error);
  });

  it("returns structured content, which is checked", async () => {
    const { client } = talk();
    await client.listTools();
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ structuredContent: { sum: 3 } });
    expect(await client.tools.add?.({ a: 1, b: 2 })).toEqual({ sum: 3 });
    await expect(client.tools.fail?.({})).rejects.toMatchObject({ code: "tool-error", message: "it did not work" });
  });

  it("answers many calls at once", async () => {
    const { client } = talk();
    const messages = Array.from({ length: 50 }, (_, index) => `message ${index}`);
    expect(await Promise.all(messages.map((message) => call(client, "echo", { message })))).toEqual(messages);
  });

  it("has its resources read", async () => {
    const { client } = talk();
    const item = { uri: "official://item/7", mimeType: "text/plain", text: "item 7" };
    expect((await client.readResource("official://item/7")).contents).toEqual([item]);
    await expect(client.readResource("official://nothing")).rejects.toMatchObject(noResource);
  });

  it("gives prompts, and completes their arguments", async () => {
    const { client } = talk();
    const { messages } = await client.getPrompt("talk", { topic: "art" });
    expect(messages).toEqual([{ role: "user", content: { type: "text", text: "Talk of art." } }]);
    const prompt = { ref: { type: "ref/prompt", name: "talk" }, argument: { name: "topic", value: "w" } } as const;
    expect((await client.complete(prompt)).completion.values).toEqual(["weather", "wine"]);
    const ref = { type: "ref/resource", uri: "official://item/{id}" } as const;
    const item = { ref, argument: { name: "id", value: "o" } };
    expect((await client.complete(item)).completion.values).toEqual(["one", "other"]);
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
}

export function reportsProgress(talk: () => Talk): void {
  it("reports progress", async () => {
    const heard: unknown[] = [];
    const onProgress = (progress: unknown) => heard.push(progress);
    const { content } = await talk().client.callTool("slow", { steps: 3 }, { onProgress });
    expect(content).toEqual([{ type: "text", text: "done" }]);
    expect(heard).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })));
  });
}

export function asks(talk: () => Talk): void {
  it("asks, and is answered", async () => {
    const { client } = talk();
    expect(await call(client, "greet")).toBe("Hello, Ada!");
    expect(await call(client, "paint")).toBe("Ada likes red.");
    expect(await call(client, "think")).toBe("1 message, 10 tokens in file:///home");
  });
}

/** What it changes while a client watches. */
export function announces(talk: () => Talk): void {
  it("tells what changes", async () => {
    const { client } = talk();
    await using tools = client.changes({ tools: true });
    await using watched = client.watch("official://watched");
    await Promise.all([tools.ready, watched.ready]);
    const changes = tools[Symbol.asyncIterator]();
    for (const [change, hasExtra] of [
      ["added", true],
      ["removed", false],
    ] as const) {
      expect(await call(client, "toggle")).toBe(change);
      expect(await changes.next()).toEqual({ done: false, value: { kind: "tools" } });
      expect((await client.listTools()).some(({ name }) => name === "extra")).toBe(hasExtra);
    }
    await call(client, "touch");
    expect(await next(watched)).toEqual({ uri: "official://watched" });
  });
}

const detail = { level: "debug", data: "a detail" };
const warning = { level: "warning", data: { careful: true }, logger: "official" };

export function logs(talk: () => Talk): void {
  it("logs what it is asked to log", async () => {
    const { client, logged } = talk();
    await call(client, "log");
    await logged.count(1);
    await client.setLogLevel("debug");
    await call(client, "log");
    expect(await logged.count(3)).toEqual([warning, detail, warning]);
  });
}

/** What is different without a session. */
export function forgetsTheLevel(talk: () => Talk): void {
  it("logs everything, for it has forgotten what it was asked to log", async () => {
    const { client, logged } = talk();
    await client.setLogLevel("error");
    await call(client, "log");
    expect(logged.items).toEqual([detail, warning]);
  });
}
