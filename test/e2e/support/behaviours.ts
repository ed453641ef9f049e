import { expect, it } from "vitest";
import { createLog } from "./events.ts";
import { listed, plainTools, prompts, resources } from "./expected.ts";
import type { Official } from "./official.ts";

// What a client of the official SDK can do with our server, whatever its version
// and however it is connected. It checks every message with schemas of its own.

/** What is the same in both eras, except for questions. */
export function behavesInEveryEra(current: () => Official): void {
  it("is introduced to the server", () => {
    const { client } = current();
    expect(client.getServerVersion()).toEqual({ name: "plugbay-everything", version: "1.0.0", title: "Everything" });
    expect(client.getInstructions()).toMatch(/^A server for tests/);
    const { tasks, extensions, ...capabilities } = client.getServerCapabilities() as Record<string, unknown>;
    // Tasks were a part of the core in 2025-11-25, and are an extension since.
    expect([tasks, extensions]).toContainEqual(
      tasks === undefined ? { "io.modelcontextprotocol/tasks": {} } : { cancel: {}, requests: { tools: { call: {} } } },
    );
    expect(capabilities).toEqual({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      completions: {},
      logging: {},
    });
  });

  it("gets the lists", async () => {
    const { client } = current();
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([...plainTools.map(([name]) => name), "add", "slow", "bump"]));
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(listed.resources);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(listed.templates);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(listed.prompts);
  });

  it.each(plainTools)("calls %s", async (name, content) => {
    const result = await current().callTool({ name });
    expect(result.content).toEqual(content);
    expect(result.isError).toBeUndefined();
  });

  it("reads the error of a tool", async () => {
    expect(await current().callTool({ name: "test_error_handling" })).toMatchObject({
      content: [{ type: "text", text: "This tool intentionally returns an error for testing" }],
      isError: true,
    });
  });

  it("is told in words which arguments do not fit", async () => {
    const { isError, content } = await current().callTool({ name: "add", arguments: { a: "1", b: 2 } });
    expect(isError).toBe(true);
    expect(content).toMatchObject([{ text: expect.stringContaining("invalid arguments for add: /a") }]);
  });

  it("checks structured content", async () => {
    const { client, callTool } = current();
    await client.listTools();
    expect(await callTool({ name: "add", arguments: { a: 1, b: 2 } })).toMatchObject({
      content: [{ type: "text", text: '{"sum":3}' }],
      structuredContent: { sum: 3 },
    });
  });

  it("does not find a tool that is not there", async () => {
    await expect(current().callTool({ name: "nobody" })).rejects.toMatchObject({ code: -32602 });
  });

  it("hears of progress", async () => {
    const heard: unknown[] = [];
    const onprogress = (progress: unknown) => heard.push(progress);
    await current().callTool({ name: "test_tool_with_progress" }, { onprogress });
    const message = (progress: number) => `Completed step ${progress} of 100`;
    expect(heard).toEqual([0, 50, 100].map((progress) => ({ progress, total: 100, message: message(progress) })));
  });

  it.each(resources)("reads %s", async (uri, contents) => {
    expect((await current().client.readResource({ uri })).contents).toEqual([{ uri, ...contents }]);
  });

  it.each(prompts)("gets %s", async (name, args, messages) => {
    expect((await current().client.getPrompt({ name, arguments: args })).messages).toEqual(messages);
  });

  it("has arguments completed", async () => {
    const { client } = current();
    const prompt = { type: "ref/prompt", name: "test_prompt_with_arguments" } as const;
    const ofPrompt = await client.complete({ ref: prompt, argument: { name: "arg1", value: "test" } });
    expect(ofPrompt.completion.values).toEqual(["testing", "tests"]);
    const template = { type: "ref/resource", uri: "test://template/{id}/data" } as const;
    const ofTemplate = await client.complete({ ref: template, argument: { name: "id", value: "12" } });
    expect(ofTemplate.completion.values).toEqual(["12", "123"]);
  });

  it.each([
    ["has said something", 1],
    ["has said nothing yet", 0],
  ])("stops a call that %s", async (_name, said) => {
    const { callTool, call } = current();
    const abort = new AbortController();
    const heard = createLog<object>();
    const options = { signal: abort.signal, ...(said > 0 && { onprogress: heard.add }) };
    const slow = callTool({ name: "slow", arguments: { ms: 60_000, steps: 1000 } }, options);
    slow.catch(() => {});
    await heard.count(said);
    while ((await call("inflight")) !== '{"running":1}');
    abort.abort("enough");
    await expect(slow).rejects.toThrow("enough");
    while ((await call("inflight")) !== '{"running":0}');
  });

  it("gets 200 answers at once, each to what it asked", async () => {
    const messages = Array.from({ length: 200 }, (_, index) => `message ${index}`);
    expect(await Promise.all(messages.map((message) => current().call("echo", { message })))).toEqual(messages);
  });

  it("sends 3 MB, and gets 10", async () => {
    const message = "ü".repeat(1_500_000);
    expect((await current().call("echo", { message })) === message).toBe(true);
    expect(await current().call("big", { bytes: 10_000_000 })).toHaveLength(10_000_000);
  });
}

/** What only sessions have. */
export function behavesInSessions(current: () => Official): void {
  const uri = "test://watched-resource";

  it("answers a ping", async () => {
    expect(await current().client.ping()).toEqual({});
  });

  it("returns nothing that the revision does not know", async () => {
    const content = [{ type: "text", text: "This is a simple text response for testing." }];
    expect(await current().callTool({ name: "test_simple_text" })).toEqual({ content });
  });

  it("logs what the level allows", async () => {
    const { client, call, logged } = current();
    expect(await client.setLoggingLevel("error")).toEqual({});
    await call("test_logging_tool");
    expect(await client.setLoggingLevel("debug")).toEqual({});
    await call("test_logging_tool");
    await call("test_tool_with_logging");
    expect(logged.items).toEqual([
      { level: "error", data: "error message" },
      ...["debug", "info", "error"].map((level) => ({ level, data: `${level} message` })),
      ...["Tool execution started", "Tool processing data", "Tool execution completed"].map((data) => ({
        level: "info",
        data,
      })),
    ]);
  });

  it("announces that a list has changed", async () => {
    const { client, call, changes } = current();
    const heard = changes.items.length;
    const isListed = async () => (await client.listTools()).tools.some(({ name }) => name === "bumped");
    expect(await call("bump")).toBe("added");
    await changes.count(heard + 1);
    expect(await isListed()).toBe(true);
    expect(await call("bumped")).toBe("I am here.");
    expect(await call("bump")).toBe("removed");
    expect((await changes.count(heard + 2)).slice(heard)).toEqual(["tools", "tools"]);
    expect(await isListed()).toBe(false);
  });

  it("tells subscribers of updates, and nobody else", async () => {
    const { client, call, changes } = current();
    const heard = changes.items.length;
    await call("test_trigger_resource_update");
    expect(await client.subscribeResource({ uri })).toEqual({});
    await call("test_trigger_resource_update");
    expect(await client.unsubscribeResource({ uri })).toEqual({});
    await call("test_trigger_resource_update");
    await call("test_trigger_prompt_change");
    expect((await changes.count(heard + 2)).slice(heard)).toEqual([uri, "prompts"]);
    await call("test_trigger_prompt_change");
    await changes.count(heard + 3);
  });
}
