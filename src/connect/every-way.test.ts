import { describe, expect, it, vi } from "vitest";
import { gate } from "../../test/support/served.ts";
import { McpError } from "../protocol/errors.ts";
import { isSince } from "../protocol/revision.ts";
import { audio, createServer, prompt, resource, resourceLink, tool, toolError } from "../server/index.ts";
import { testMatrix } from "../testing/matrix.ts";

const ok = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
const started = { now: gate() };
const stopped = { now: gate<string>() };

const server = createServer({
  name: "everything",
  version: "1",
  listChanged: true,
  subscribe: true,
  logging: true,
  instructions: "Use with care.",
  tools: {
    confirm: tool({ run: async (_, ctx) => ((await ctx.ask("Sure?", ok)).ok ? "sold" : "kept") }),
    twice: tool({
      run: async (_, ctx) => {
        const first = await ctx.ask("First?", ok);
        const second = await ctx.ask("Second?", ok);
        return `${first.ok} ${second.ok}`;
      },
    }),
    walk: tool({
      run: async (_, ctx) => {
        for await (const step of ctx.track(["a", "b", "c"])) void step;
        return "walked";
      },
    }),
    wait: tool({
      run: (_, ctx) => {
        const { now: stop } = stopped;
        started.now.open();
        return new Promise((_resolve, reject) => {
          ctx.signal.addEventListener("abort", () => {
            stop.open(ctx.client.revision);
            reject(new McpError("rejected", "stopped"));
          });
        });
      },
    }),
    add: tool({
      input: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
      output: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
      run: ({ a }) => ({ sum: a + 1 }),
    }),
    media: tool({ run: () => [audio(new Uint8Array([1]), "audio/wav"), resourceLink("file:///a", "a")] }),
    broken: tool({
      run: () => {
        throw toolError("sold out");
      },
    }),
  },
  prompts: { hi: prompt({ get: () => "hi" }) },
  resources: [resource("file:///a", { read: () => "text of a" })],
});

describe.each(testMatrix({ server }))("$name", ({ connect, revision }) => {
  it("knows the server", async () => {
    await using client = await connect();
    expect(client.server).toMatchObject({
      serverInfo: { name: "everything", version: "1" },
      instructions: "Use with care.",
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} },
    });
  });

  it("does not ask who cannot answer", async () => {
    await using client = await connect();
    await expect(client.callTool("confirm")).rejects.toMatchObject({ code: "missing-capability" });
  });

  it("reports progress", async () => {
    const onProgress = vi.fn();
    await using client = await connect();
    await client.callTool("walk", {}, { onProgress });
    expect(onProgress.mock.calls).toEqual([1, 2, 3].map((progress) => [{ progress, total: 3 }]));
  });

  it("cancels", async () => {
    started.now = gate();
    stopped.now = gate<string>();
    const abort = new AbortController();
    await using client = await connect();
    const result = client.callTool("wait", {}, { signal: abort.signal });
    await started.now.opened;
    abort.abort();
    await expect(result).rejects.toMatchObject({ code: "cancelled" });
    expect(await stopped.now.opened).toBe(revision);
  });

  it("gives structured output where it exists, and its text everywhere", async () => {
    await using client = await connect();
    const result = await client.callTool("add", { a: 1 });
    expect(result.content).toEqual([{ type: "text", text: '{"sum":2}' }]);
    expect(result.structuredContent).toEqual(isSince(revision, "2025-06-18") ? { sum: 2 } : undefined);
    const listed = (await client.listTools()).find(({ name }) => name === "add");
    expect(listed?.outputSchema !== undefined).toBe(isSince(revision, "2025-06-18"));
  });

  it("says sound and links in words where there are none", async () => {
    await using client = await connect();
    const { content } = await client.callTool("media");
    expect(content.map(({ type }) => type)).toEqual([
      isSince(revision, "2025-03-26") ? "audio" : "text",
      isSince(revision, "2025-06-18") ? "resource_link" : "text",
    ]);
  });

  it("has one error for what is not there", async () => {
    await using client = await connect();
    await expect(client.readResource("file:///none")).rejects.toMatchObject({
      code: "resource-not-found",
      data: { uri: "file:///none" },
    });
    await expect(client.request("tools/call", { name: "none" })).rejects.toMatchObject({
      code: "invalid-params",
      data: { name: "none" },
    });
    await expect(client.getPrompt("none")).rejects.toMatchObject({ code: "invalid-params" });
    await expect(client.request("made/up")).rejects.toMatchObject({ code: "method-not-found" });
  });

  it("tells the failure of a tool as a result, and bad arguments likewise", async () => {
    await using client = await connect();
    expect(await client.callTool("broken")).toEqual({ content: [{ type: "text", text: "sold out" }], isError: true });
    expect(await client.request("tools/call", { name: "add", arguments: { a: "x" } })).toMatchObject({ isError: true });
  });

  it("reads, lists and pings", async () => {
    await using client = await connect();
    expect((await client.readResource("file:///a")).contents).toMatchObject([{ uri: "file:///a", text: "text of a" }]);
    expect((await client.listResources()).map(({ uri }) => uri)).toEqual(["file:///a"]);
    expect(await client.getPrompt("hi")).toMatchObject({ messages: [{ role: "user", content: { text: "hi" } }] });
    await expect(client.ping()).resolves.toBeUndefined();
    await expect(client.setLogLevel("error")).resolves.toBeUndefined();
    expect((await client.discover()).serverInfo.name).toBe("everything");
  });

  it("watches a resource", async () => {
    await using client = await connect();
    const watch = client.watch("file:///a");
    await watch.ready;
    server.resourceUpdated("file:///other");
    server.resourceUpdated("file:///a");
    for await (const change of watch) {
      expect(change).toEqual({ uri: "file:///a" });
      break;
    }
  });

  it("hears of changed lists, and of those it asked for only", async () => {
    await using client = await connect();
    const changes = client.changes({ tools: true });
    await changes.ready;
    server.listChanged("prompts");
    server.listChanged("tools");
    for await (const change of changes) {
      expect(change).toEqual({ kind: "tools" });
      break;
    }
  });

  it("ends a watch with the client", async () => {
    const client = await connect();
    const changes = client.changes();
    await changes.ready;
    const reading = changes[Symbol.asyncIterator]().next();
    await client.close();
    expect(await reading).toEqual({ done: true, value: undefined });
  });

  it("fails what is open when it is closed", async () => {
    started.now = gate();
    const client = await connect();
    const result = client.callTool("wait");
    const failed = expect(result).rejects.toMatchObject({ code: "connection-closed" });
    await started.now.opened;
    await client.close();
    await failed;
  });
});

describe.each(testMatrix({ server }))("$name", ({ connect }) => {
  it("asks", async () => {
    const onElicit = vi.fn(() => ({ ok: true }));
    await using client = await connect({ onElicit });
    expect(await client.tools.confirm({})).toBe("sold");
    expect(onElicit).toHaveBeenCalledOnce();
    expect(await client.tools.twice({})).toBe("true true");
    expect(onElicit).toHaveBeenCalledTimes(3);
  });

  it("asks a user who says no", async () => {
    await using client = await connect({ onElicit: () => ({ action: "decline" }) });
    expect(await client.callTool("confirm")).toMatchObject({ isError: true });
  });
});
