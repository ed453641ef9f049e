import {
  Client,
  type ElicitRequest,
  type ElicitResult,
  LOG_LEVEL_META_KEY,
  ResourceNotFoundError,
  type VersionNegotiationMode,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isRunning } from "../fixtures/children/processes.ts";
import { createLog, type Log } from "./support/events.ts";
import { choices, chosen, defaults, listed, plainTools, prompts, resources } from "./support/expected.ts";
import { everything } from "./support/places.ts";

// The client of the official SDK, version 2, in both of its eras, against our
// server in a child process. It checks every message with schemas of its own.

type Fill = (form: ElicitRequest["params"]) => ElicitResult;

interface Session {
  readonly client: Client;
  readonly pid: number;
  /** How the user fills the next form. */
  fill: Fill;
  /** Calls a tool and gives the text it returns. */
  call(name: string, args?: Record<string, unknown>): Promise<string>;
}

async function open(mode: VersionNegotiationMode): Promise<Session> {
  const transport = new StdioClientTransport({ ...everything, stderr: "ignore" });
  const client = new Client(
    { name: "official", version: "2" },
    {
      versionNegotiation: { mode },
      capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: { listChanged: true } },
    },
  );
  client.setRequestHandler("elicitation/create", ({ params }) => session.fill(params));
  client.setRequestHandler("sampling/createMessage", ({ params: { messages, maxTokens } }) => ({
    model: "parrot",
    role: "assistant",
    content: { type: "text", text: `${maxTokens}: ${JSON.stringify(messages[0]?.content)}` },
  }));
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///home", name: "Home" }] }));
  await client.connect(transport);
  const session: Session = {
    client,
    pid: transport.pid ?? 0,
    fill: () => ({ action: "cancel" }),
    async call(name, args) {
      const { content } = await client.callTool({ name, ...(args && { arguments: args }) });
      return content.map((block) => ("text" in block ? block.text : "")).join("");
    },
  };
  return session;
}

const eras = [
  { name: "legacy", mode: "legacy", era: "legacy", revision: "2025-11-25" },
  { name: "modern", mode: { pin: "2026-07-28" }, era: "modern", revision: "2026-07-28" },
] as const;

describe.each(eras)("the official client, $name", ({ mode, era, revision }) => {
  let session: Session;
  let client: Client;
  let call: Session["call"];

  beforeAll(async () => {
    session = await open(mode);
    ({ client, call } = session);
  });
  afterAll(() => client.close());

  it("is introduced to the server", () => {
    expect(client.getProtocolEra()).toBe(era);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    expect(client.getServerVersion()).toEqual({ name: "plugbay-everything", version: "1.0.0", title: "Everything" });
    expect(client.getInstructions()).toMatch(/^A server for tests/);
    expect(client.getServerCapabilities()).toMatchObject({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      completions: {},
      logging: {},
    });
  });

  it("gets the lists", async () => {
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([...plainTools.map(([name]) => name), "add", "slow", "bump"]));
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(listed.resources);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(listed.templates);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(listed.prompts);
  });

  it.each(plainTools)("calls %s", async (name, content) => {
    const result = await client.callTool({ name });
    expect(result.content).toEqual(content);
    expect(result.isError).toBeUndefined();
  });

  it("reads the error of a tool", async () => {
    expect(await client.callTool({ name: "test_error_handling" })).toMatchObject({
      content: [{ type: "text", text: "This tool intentionally returns an error for testing" }],
      isError: true,
    });
  });

  it("checks structured content", async () => {
    await client.listTools();
    expect(await client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).toMatchObject({
      content: [{ type: "text", text: '{"sum":3}' }],
      structuredContent: { sum: 3 },
    });
  });

  it("does not find a tool that is not there", async () => {
    await expect(client.callTool({ name: "nobody" })).rejects.toMatchObject({ code: -32602 });
  });

  it("hears of progress", async () => {
    const heard: unknown[] = [];
    const onprogress = (progress: unknown) => heard.push(progress);
    await client.callTool({ name: "test_tool_with_progress" }, { onprogress });
    const message = (progress: number) => `Completed step ${progress} of 100`;
    expect(heard).toEqual([0, 50, 100].map((progress) => ({ progress, total: 100, message: message(progress) })));
  });

  it("is asked for a sample", async () => {
    const asked = { type: "text", text: "Say hello" };
    expect(await call("test_sampling", { prompt: "Say hello" })).toBe(`LLM response: 100: ${JSON.stringify(asked)}`);
  });

  it.each<[reply: ElicitResult, text: string]>([
    [
      { action: "accept", content: { username: "ada", email: "ada@example.org" } },
      'action=accept, content={"username":"ada","email":"ada@example.org"}',
    ],
    [{ action: "decline" }, "action=decline, content={}"],
    [{ action: "cancel" }, "action=cancel, content={}"],
  ])("is asked a form, and answers %j", async (reply, text) => {
    session.fill = (form) => {
      expect(form).toMatchObject({
        message: "Who are you?",
        requestedSchema: {
          type: "object",
          properties: { username: { type: "string" }, email: { type: "string" } },
          required: ["username", "email"],
        },
      });
      return reply;
    };
    expect(await call("test_elicitation", { message: "Who are you?" })).toBe(`User response: ${text}`);
  });

  it("is asked a form with defaults", async () => {
    session.fill = () => ({ action: "accept", content: {} });
    expect(await call("test_elicitation_sep1034_defaults")).toBe(
      `Elicitation completed: action=accept, content=${JSON.stringify(defaults)}`,
    );
  });

  it("is asked a form with every kind of choice", async () => {
    session.fill = (form) => {
      expect(form).toMatchObject({ requestedSchema: { properties: choices } });
      return { action: "accept", content: chosen };
    };
    expect(await call("test_elicitation_sep1330_enums")).toBe(
      `Elicitation completed: action=accept, content=${JSON.stringify(chosen)}`,
    );
  });

  it("is asked for its roots", async () => {
    expect(await call("test_input_required_result_list_roots")).toBe("Roots: file:///home");
  });

  it("is asked several things at once, and one after the other", async () => {
    session.fill = ({ message }) => ({
      action: "accept",
      content: message.includes("color") ? { color: "red" } : { name: "Ada" },
    });
    expect(await call("test_input_required_result_multiple_inputs")).toMatch(/^100: .*greeting.* Ada \(1 roots\)$/);
    expect(await call("test_input_required_result_multi_round")).toBe("Ada likes red.");
  });

  it("is asked in the middle of progress", async () => {
    session.fill = () => ({ action: "accept", content: { ok: true } });
    const heard: unknown[] = [];
    const onprogress = (progress: unknown) => heard.push(progress);
    const { content } = await client.callTool({ name: "test_streaming_elicitation" }, { onprogress });
    expect(content).toEqual([{ type: "text", text: "Went on." }]);
    // In the modern era the client itself reports the rounds it makes as progress.
    expect(heard[0]).toEqual({ progress: 1, total: 2 });
  });

  it("is asked by a prompt", async () => {
    session.fill = () => ({ action: "accept", content: { context: "a test" } });
    const { messages } = await client.getPrompt({ name: "test_input_required_result_prompt" });
    expect(messages).toEqual([{ role: "user", content: { type: "text", text: "The context is a test." } }]);
  });

  it.each(resources)("reads %s", async (uri, contents) => {
    expect((await client.readResource({ uri })).contents).toEqual([{ uri, ...contents }]);
  });

  it.each(prompts)("gets %s", async (name, args, messages) => {
    expect((await client.getPrompt({ name, arguments: args })).messages).toEqual(messages);
  });

  it("has arguments completed", async () => {
    const prompt = { type: "ref/prompt", name: "test_prompt_with_arguments" } as const;
    const ofPrompt = await client.complete({ ref: prompt, argument: { name: "arg1", value: "test" } });
    expect(ofPrompt.completion.values).toEqual(["testing", "tests"]);
    const template = { type: "ref/resource", uri: "test://template/{id}/data" } as const;
    const ofTemplate = await client.complete({ ref: template, argument: { name: "id", value: "12" } });
    expect(ofTemplate.completion.values).toEqual(["12", "123"]);
  });

  it("stops a call", async () => {
    const abort = new AbortController();
    const started = createLog<unknown>();
    const slow = client.callTool(
      { name: "slow", arguments: { ms: 60_000, steps: 1000 } },
      { signal: abort.signal, onprogress: started.add },
    );
    slow.catch(() => {});
    await started.count(1);
    expect(await call("inflight")).toBe('{"running":1}');
    abort.abort("enough");
    await expect(slow).rejects.toThrow("enough");
    while ((await call("inflight")) !== '{"running":0}');
  });

  it("gets 200 answers at once, each to what it asked", async () => {
    const messages = Array.from({ length: 200 }, (_, index) => `message ${index}`);
    expect(await Promise.all(messages.map((message) => call("echo", { message })))).toEqual(messages);
  });

  it("leaves no process behind", async () => {
    const short = await open(mode);
    expect(isRunning(short.pid)).toBe(true);
    await short.client.close();
    expect(isRunning(short.pid)).toBe(false);
  });
});

describe("what only the legacy era has", () => {
  let session: Session;
  let client: Client;

  beforeAll(async () => {
    session = await open("legacy");
    ({ client } = session);
  });
  afterAll(() => client.close());

  it("a ping", async () => {
    expect(await client.ping()).toEqual({});
  });

  it("a log level for all calls", async () => {
    const heard = logOf(client);
    await client.setLoggingLevel("error");
    await session.call("test_logging_tool");
    await client.setLoggingLevel("debug");
    await session.call("test_logging_tool");
    expect(heard.items).toEqual(["error", "debug", "info", "error"]);
  });

  it("changes that are announced unasked, and subscriptions one by one", async () => {
    const changes = changesOf(client);
    const uri = "test://watched-resource";
    await session.call("test_trigger_resource_update");
    await session.call("bump");
    await client.subscribeResource({ uri });
    await session.call("test_trigger_resource_update");
    await client.unsubscribeResource({ uri });
    await session.call("test_trigger_resource_update");
    await session.call("test_trigger_prompt_change");
    expect(await changes.count(3)).toEqual(["tools", uri, "prompts"]);
  });

  it("an error of its own for a missing resource, which the client takes for what it is", async () => {
    await expect(client.readResource({ uri: "test://nothing" })).rejects.toBeInstanceOf(ResourceNotFoundError);
  });
});

describe("what only the modern era has", () => {
  let session: Session;
  let client: Client;

  beforeAll(async () => {
    session = await open("auto");
    ({ client } = session);
  });
  afterAll(() => client.close());

  it("discovery, which a client that may choose prefers", async () => {
    expect(client.getProtocolEra()).toBe("modern");
    const discovered = await client.discover();
    expect(discovered.supportedVersions).toContain("2026-07-28");
    expect(discovered).toMatchObject(caching);
  });

  it("lists and resources that say how long they may be kept", async () => {
    expect(await client.listTools()).toMatchObject(caching);
    expect(await client.listPrompts()).toMatchObject(caching);
    expect(await client.listResources()).toMatchObject(caching);
    expect(await client.listResourceTemplates()).toMatchObject(caching);
    expect(await client.readResource({ uri: "test://static-text" })).toMatchObject(caching);
  });

  it("a log level for each call, and silence without", async () => {
    const heard = logOf(client);
    const name = "test_logging_tool";
    await client.callTool({ name });
    await client.callTool({ name, _meta: { [LOG_LEVEL_META_KEY]: "info" } });
    expect(heard.items).toEqual(["info", "error"]);
  });

  it("questions that the caller answers by hand", async () => {
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

  it("subscriptions that hear only what they asked for", async () => {
    const changes = changesOf(client);
    const uri = "test://watched-resource";
    await session.call("test_trigger_resource_update");
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
    expect(subscription.honoredFilter).toEqual({ toolsListChanged: true, resourceSubscriptions: [uri] });
    await session.call("test_trigger_prompt_change");
    await session.call("bump");
    await session.call("test_trigger_resource_update");
    expect(await changes.count(2)).toEqual(["tools", uri]);
    await subscription.close();
    expect(await subscription.closed).toBe("local");
    await session.call("bump");
    await client.discover();
    expect(changes.items).toEqual(["tools", uri]);
  });

  it("a missing resource as invalid params", async () => {
    const uri = "test://nothing";
    await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32602, data: { uri } });
  });

  it("a subscription that the server ends when it goes", async () => {
    const other = await open({ pin: "2026-07-28" });
    const subscription = await other.client.listen({ toolsListChanged: true });
    process.kill(other.pid, "SIGTERM");
    expect(await subscription.closed).toBe("graceful");
    await other.client.close();
  });
});

const caching = { ttlMs: expect.any(Number), cacheScope: expect.stringMatching(/^(public|private)$/) };

/** The levels of the log messages a client hears. */
function logOf(client: Client): Log<string> {
  const heard = createLog<string>();
  client.setNotificationHandler("notifications/message", ({ params }) => heard.add(params.level));
  return heard;
}

/** The changes a client hears of: lists by their kind, resources by their URI. */
function changesOf(client: Client): Log<string> {
  const heard = createLog<string>();
  client.setNotificationHandler("notifications/tools/list_changed", () => heard.add("tools"));
  client.setNotificationHandler("notifications/prompts/list_changed", () => heard.add("prompts"));
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => heard.add(params.uri));
  return heard;
}
