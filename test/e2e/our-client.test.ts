import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client, ConnectOptions, LogEntry } from "../../src/connect/index.ts";
import type { Command } from "../../src/transport/command.ts";
import { isRunning } from "../fixtures/children/processes.ts";
import { connect } from "./support/built.ts";
import { createLog } from "./support/events.ts";
import { installed, type Program, script } from "./support/places.ts";

// Our client against servers of others: the official reference servers, and
// one made with version 2 of the official SDK, in both of its eras.

/** A user and a model that answer everything. */
const helpful: ConnectOptions = {
  onElicit: ({ message }) => (message.includes("color") ? { color: "red" } : { name: "Ada" }),
  onSample: ({ maxTokens, messages }) => ({
    model: "parrot",
    role: "assistant",
    content: { type: "text", text: `${messages.length} message, ${maxTokens} tokens` },
  }),
  roots: [{ uri: "file:///home", name: "Home" }],
};

const texts = (text: string) => ({ content: [{ type: "text", text }] });

/** The text of a tool's result. */
async function call(client: Client, name: string, args = {}): Promise<string> {
  const { content } = await client.callTool(name, args);
  return content.map((block) => ("text" in block ? block.text : "")).join("");
}

/** The next thing somebody hears of. */
async function next<T>(source: AsyncIterable<T>): Promise<T> {
  for await (const item of source) return item;
  throw new Error("there was nothing");
}

/** A command that says the number of its process, whatever program it runs. */
function numbered({ command, args }: Program): { readonly command: Command; pid(): number } {
  const said = createLog<string>();
  const [file = "", ...rest] = args;
  const first = `process.stderr.write("pid " + process.pid + "\\n"); process.argv.splice(1, 0, ${JSON.stringify(file)});`;
  const loader = `${first} import(require("node:url").pathToFileURL(require("node:fs").realpathSync(process.argv[1])))`;
  return {
    command: { command, args: ["-e", loader, "--", ...rest], stderr: said.add },
    pid: () => Number(/pid (\d+)/.exec(said.items.join(""))?.[1]),
  };
}

describe.each([
  { name: "pinned to modern", revision: "2026-07-28", options: { revision: "2026-07-28" } },
  { name: "pinned to legacy", revision: "2025-11-25", options: { revision: "2025-11-25" } },
  { name: "negotiated", revision: "2026-07-28", options: {} },
] as const)("the official server of version 2, $name", ({ revision, options }) => {
  const { command, pid } = numbered(script("test/fixtures/official-v2-server.mjs"));
  const logged = createLog<LogEntry>();
  let client: Client;

  beforeAll(async () => {
    client = await connect(command, { ...helpful, ...options, onLog: logged.add });
  });
  afterAll(() => client.close());

  it("introduces itself", async () => {
    expect(client.revision).toBe(revision);
    expect(client.server.serverInfo).toMatchObject({ name: "official", version: "2.4.0" });
    expect(client.server.instructions).toBe("An official server.");
    await client.ping();
    expect((await client.discover()).capabilities).toMatchObject({ tools: { listChanged: true }, completions: {} });
  });

  it("lists what it has", async () => {
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
    expect(await client.callTool("echo", { message: "grüße 😀" })).toMatchObject(texts("grüße 😀"));
    expect(await client.callTool("fail")).toMatchObject({ ...texts("it did not work"), isError: true });
    await expect(client.callTool("nobody")).rejects.toMatchObject({ code: "invalid-params" });
  });

  it("returns structured content, which is checked", async () => {
    await client.listTools();
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ structuredContent: { sum: 3 } });
    expect(await client.tools.add?.({ a: 1, b: 2 })).toEqual({ sum: 3 });
    await expect(client.tools.fail?.({})).rejects.toMatchObject({ code: "tool-error", message: "it did not work" });
  });

  it("reports progress", async () => {
    const heard: unknown[] = [];
    const { content } = await client.callTool("slow", { steps: 3 }, { onProgress: (progress) => heard.push(progress) });
    expect(content).toEqual([{ type: "text", text: "done" }]);
    expect(heard).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })));
  });

  it("asks, and is answered", async () => {
    expect(await call(client, "greet")).toBe("Hello, Ada!");
    expect(await call(client, "paint")).toBe("Ada likes red.");
    expect(await call(client, "think")).toBe("1 message, 10 tokens in file:///home");
  });

  it("has its resources read", async () => {
    const item = { uri: "official://item/7", mimeType: "text/plain", text: "item 7" };
    expect((await client.readResource("official://item/7")).contents).toEqual([item]);
    const uri = "official://nothing";
    await expect(client.readResource(uri)).rejects.toMatchObject({ code: "resource-not-found", data: { uri } });
  });

  it("gives prompts, and completes their arguments", async () => {
    const { messages } = await client.getPrompt("talk", { topic: "art" });
    expect(messages).toEqual([{ role: "user", content: { type: "text", text: "Talk of art." } }]);
    const prompt = { ref: { type: "ref/prompt", name: "talk" }, argument: { name: "topic", value: "w" } } as const;
    expect((await client.complete(prompt)).completion.values).toEqual(["weather", "wine"]);
    const ref = { type: "ref/resource", uri: "official://item/{id}" } as const;
    const item = { ref, argument: { name: "id", value: "o" } };
    expect((await client.complete(item)).completion.values).toEqual(["one", "other"]);
  });

  it("tells what changes", async () => {
    await using tools = client.changes({ tools: true });
    await using watched = client.watch("official://watched");
    await Promise.all([tools.ready, watched.ready]);
    expect(await call(client, "toggle")).toBe("added");
    expect(await next(tools)).toEqual({ kind: "tools" });
    expect((await client.listTools()).map(({ name }) => name)).toContain("extra");
    await call(client, "touch");
    expect(await next(watched)).toEqual({ uri: "official://watched" });
  });

  it("logs what it is asked to log", async () => {
    await call(client, "log");
    const warning = { level: "warning", data: { careful: true }, logger: "official" };
    expect(logged.items).toEqual([warning]);
    await client.setLogLevel("debug");
    await call(client, "log");
    expect(logged.items).toEqual([warning, { level: "debug", data: "a detail" }, warning]);
  });

  it("stops a call that nobody wants any more", async () => {
    const abort = new AbortController();
    const heard = createLog<unknown>();
    const slow = client.callTool("slow", { steps: 1000 }, { signal: abort.signal, onProgress: heard.add });
    slow.catch(() => {});
    await heard.count(2);
    expect(await call(client, "running")).toBe("1");
    abort.abort("enough");
    await expect(slow).rejects.toMatchObject({ code: "cancelled", cause: "enough" });
    while ((await call(client, "running")) !== "0");
  });

  it("ends with the client", async () => {
    expect(isRunning(pid())).toBe(true);
    await client.close();
    expect(isRunning(pid())).toBe(false);
  });
});

describe("a server whose user says no", () => {
  it.each(["decline", "cancel"] as const)("by %s", async (action) => {
    const program = script("test/fixtures/official-v2-server.mjs");
    await using client = await connect(program, { onElicit: () => ({ action }) });
    expect(await call(client, "greet")).toBe(`You said ${action}.`);
  });
});

describe("the official server with everything", () => {
  const { command, pid } = numbered(installed("mcp-server-everything", "stdio"));
  let client: Client;

  beforeAll(async () => {
    client = await connect(command, {
      ...helpful,
      onElicit: ({ requestedSchema }) => {
        expect(requestedSchema.properties).toHaveProperty("firstLine.default");
        return { name: "Ada" };
      },
    });
  });
  afterAll(() => client.close());

  it("is of the legacy era", () => {
    expect(client.revision).toBe("2025-11-25");
    expect(client.server.serverInfo).toMatchObject({ name: "mcp-servers/everything" });
  });

  it("lists what it has", async () => {
    expect((await client.listTools()).map(({ name }) => name)).toEqual(expect.arrayContaining(["echo", "get-sum"]));
    expect((await client.listResources()).length).toBeGreaterThan(3);
    expect(await client.listResourceTemplates()).toHaveLength(2);
    expect((await client.listPrompts()).map(({ name }) => name)).toContain("completable-prompt");
  });

  it("is called", async () => {
    expect(await call(client, "echo", { message: "hello" })).toBe("Echo: hello");
    expect(await call(client, "get-sum", { a: 1, b: 2 })).toBe("The sum of 1 and 2 is 3.");
    const { content } = await client.callTool("get-tiny-image");
    expect(content.map(({ type }) => type)).toEqual(["text", "image", "text"]);
    await expect(client.tools["get-sum"]?.({ a: "one" })).rejects.toMatchObject({ code: "tool-error" });
  });

  it("returns structured content, which is checked", async () => {
    await client.listTools();
    const { structuredContent } = await client.callTool("get-structured-content", { location: "Chicago" });
    expect(structuredContent).toMatchObject({ temperature: expect.any(Number), humidity: expect.any(Number) });
  });

  it("reports progress", async () => {
    const heard: unknown[] = [];
    const onProgress = (progress: unknown) => heard.push(progress);
    await client.callTool("trigger-long-running-operation", { duration: 0.1, steps: 4 }, { onProgress });
    expect(heard).toEqual([1, 2, 3, 4].map((progress) => ({ progress, total: 4 })));
  });

  it("asks, and is answered", async () => {
    const sampled = await call(client, "trigger-sampling-request", { prompt: "hello", maxTokens: 10 });
    expect(sampled).toContain('"text": "1 message, 10 tokens"');
    const elicited = await call(client, "trigger-elicitation-request");
    expect(elicited).toContain("It was a dark and stormy night.");
    expect(await call(client, "get-roots-list")).toContain("file:///home");
  });

  it("has its resources read", async () => {
    const [text] = (await client.readResource("demo://resource/dynamic/text/1")).contents;
    expect(text).toMatchObject({ mimeType: "text/plain", text: expect.stringContaining("Resource 1") });
    const [blob] = (await client.readResource("demo://resource/dynamic/blob/1")).contents;
    expect(blob).toMatchObject({ blob: expect.any(String) });
  });

  it("gives prompts, and completes their arguments", async () => {
    const { messages } = await client.getPrompt("args-prompt", { city: "Bern" });
    expect(messages).toMatchObject([{ role: "user", content: { text: expect.stringContaining("Bern") } }]);
    const ref = { type: "ref/prompt", name: "completable-prompt" } as const;
    const { completion } = await client.complete({ ref, argument: { name: "department", value: "" } });
    expect(completion.values).toContain("Engineering");
  });

  it("tells of a resource that changed", async () => {
    const uri = "demo://resource/static/document/architecture.md";
    await using watched = client.watch(uri);
    await watched.ready;
    await call(client, "toggle-subscriber-updates");
    expect(await next(watched)).toEqual({ uri });
  });

  it("is not waited for when nobody wants the answer", async () => {
    const abort = new AbortController();
    const heard = createLog<unknown>();
    const operation = client.callTool(
      "trigger-long-running-operation",
      { duration: 100, steps: 1000 },
      { signal: abort.signal, onProgress: heard.add },
    );
    operation.catch(() => {});
    await heard.count(1);
    abort.abort();
    await expect(operation).rejects.toMatchObject({ code: "cancelled" });
    expect(await call(client, "echo", { message: "hello" })).toBe("Echo: hello");
  });

  it("ends with the client, though it has timers running", async () => {
    expect(isRunning(pid())).toBe(true);
    await client.close();
    expect(isRunning(pid())).toBe(false);
  });
});

describe("the official server for files", () => {
  let directory: string;
  let client: Client;

  beforeAll(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), "plugbay-")));
    await writeFile(join(directory, "a.txt"), "the content of a");
    client = await connect(installed("mcp-server-filesystem", directory));
  });
  afterAll(async () => {
    await client.close();
    await rm(directory, { recursive: true });
  });

  it("lists its tools, and promises structured content", async () => {
    const tools = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["read_text_file", "write_file"]));
    expect(tools.filter(({ outputSchema }) => outputSchema !== undefined)).not.toHaveLength(0);
  });

  it("reads, writes and refuses", async () => {
    const [a, b] = [join(directory, "a.txt"), join(directory, "b.txt")];
    expect(await client.tools.read_text_file?.({ path: a })).toEqual({ content: "the content of a" });
    await client.tools.write_file?.({ path: b, content: "the content of b" });
    expect(await readFile(b, "utf8")).toBe("the content of b");
    await expect(client.tools.read_text_file?.({ path: "/etc/passwd" })).rejects.toMatchObject({ code: "tool-error" });
  });

  it("can be given other roots", async () => {
    const other = await realpath(await mkdtemp(join(tmpdir(), "plugbay-")));
    const roots = [{ uri: `file://${other}` }];
    await using rooted = await connect(installed("mcp-server-filesystem", directory), { roots });
    const allowed = async () => JSON.stringify(await rooted.callTool("list_allowed_directories"));
    while (!(await allowed()).includes(other));
    rooted.setRoots([{ uri: `file://${directory}` }]);
    while (!(await allowed()).includes(directory));
    await rm(other, { recursive: true });
  });
});

describe("what a client remembers", () => {
  it("is not that a server was spoken to in an old way because the user wanted it", async () => {
    const program = script("test/fixtures/everything-server.mjs", "--stdio");
    for (const revision of ["2025-06-18", undefined] as const) {
      await using client = await connect(program, revision && { revision });
      expect(client.revision).toBe(revision ?? "2026-07-28");
    }
  });
});
