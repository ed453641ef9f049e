import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CreateMessageRequestSchema,
  type ElicitRequest,
  ElicitRequestSchema,
  type ElicitResult,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isRunning } from "../fixtures/children/processes.ts";
import { createLog } from "./support/events.ts";
import { choices, chosen, defaults, listed, plainTools, prompts, resources } from "./support/expected.ts";
import { everything } from "./support/places.ts";

// The client of the official SDK, version 1, against our server in a child
// process. It checks every message with schemas of its own.

const transport = new StdioClientTransport({ ...everything, stderr: "ignore" });
const client = new Client(
  { name: "official", version: "1" },
  { capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: { listChanged: true } } },
);
let fill: (form: ElicitRequest["params"]) => ElicitResult = () => ({ action: "cancel" });

beforeAll(async () => {
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => fill(params));
  client.setRequestHandler(CreateMessageRequestSchema, ({ params: { messages, maxTokens } }) => ({
    model: "parrot",
    role: "assistant",
    content: { type: "text", text: `${maxTokens}: ${JSON.stringify(messages[0]?.content)}` },
  }));
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///home", name: "Home" }] }));
  await client.connect(transport);
});
afterAll(() => client.close());

/** Calls a tool and gives the text it returns. */
async function call(name: string, args?: Record<string, unknown>): Promise<string> {
  const { content } = await client.callTool({ name, ...(args && { arguments: args }) });
  return (content as { text?: string }[]).map(({ text }) => text).join("");
}

describe("the session", () => {
  it("introduces the server", () => {
    expect(client.getServerVersion()).toEqual({ name: "plugbay-everything", version: "1.0.0", title: "Everything" });
    expect(client.getInstructions()).toMatch(/^A server for tests/);
    expect(client.getServerCapabilities()).toEqual({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      completions: {},
      logging: {},
    });
  });

  it("answers a ping", async () => {
    expect(await client.ping()).toEqual({});
  });
});

describe("lists", () => {
  it("are complete", async () => {
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([...plainTools.map(([name]) => name), "add", "slow", "bump"]));
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(listed.resources);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(listed.templates);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(listed.prompts);
  });

  it("announce that they changed", async () => {
    const changed = createLog<string>();
    client.setNotificationHandler(ToolListChangedNotificationSchema, ({ method }) => changed.add(method));
    const isListed = async () => (await client.listTools()).tools.some(({ name }) => name === "bumped");
    expect(await call("bump")).toBe("added");
    await changed.count(1);
    expect(await isListed()).toBe(true);
    expect(await call("bumped")).toBe("I am here.");
    expect(await call("bump")).toBe("removed");
    await changed.count(2);
    expect(await isListed()).toBe(false);
  });
});

describe("tools", () => {
  it.each(plainTools)("%s", async (name, content) => {
    expect(await client.callTool({ name })).toEqual({ content });
  });

  it("report an error the model can read", async () => {
    expect(await client.callTool({ name: "test_error_handling" })).toEqual({
      content: [{ type: "text", text: "This tool intentionally returns an error for testing" }],
      isError: true,
    });
  });

  it("refuse arguments that do not fit, in words", async () => {
    const { isError, content } = await client.callTool({ name: "add", arguments: { a: "1", b: 2 } });
    expect(isError).toBe(true);
    expect(content).toMatchObject([{ text: expect.stringContaining("invalid arguments for add: /a") }]);
  });

  it("return structured content that the client checks", async () => {
    await client.listTools();
    expect(await client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).toEqual({
      content: [{ type: "text", text: '{"sum":3}' }],
      structuredContent: { sum: 3 },
    });
  });

  it("are unknown when they are not there", async () => {
    await expect(client.callTool({ name: "nobody" })).rejects.toMatchObject({ code: -32602 });
  });

  it("report progress", async () => {
    const heard: unknown[] = [];
    const onprogress = (progress: unknown) => heard.push(progress);
    await client.callTool({ name: "test_tool_with_progress" }, undefined, { onprogress });
    expect(heard).toEqual(
      [0, 50, 100].map((progress) => ({
        progress,
        total: 100,
        message: `Completed step ${progress} of 100`,
      })),
    );
  });

  it("log what the level allows", async () => {
    const heard = createLog<unknown>();
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => heard.add(params));
    expect(await client.setLoggingLevel("error")).toEqual({});
    await call("test_logging_tool");
    expect(heard.items).toEqual([{ level: "error", data: "error message" }]);
    await client.setLoggingLevel("debug");
    await call("test_tool_with_logging");
    expect(heard.items.slice(1)).toEqual(
      ["Tool execution started", "Tool processing data", "Tool execution completed"].map((data) => ({
        level: "info",
        data,
      })),
    );
  });
});

describe("questions", () => {
  it("to the model", async () => {
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
  ])("to the user, who answers %j", async (reply, text) => {
    fill = (form) => {
      expect(form).toEqual({
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

  it("to the user, with defaults", async () => {
    fill = () => ({ action: "accept", content: {} });
    expect(await call("test_elicitation_sep1034_defaults")).toBe(
      `Elicitation completed: action=accept, content=${JSON.stringify(defaults)}`,
    );
  });

  it("to the user, with every kind of choice", async () => {
    fill = (form) => {
      expect(form).toMatchObject({ requestedSchema: { properties: choices } });
      return { action: "accept", content: chosen };
    };
    expect(await call("test_elicitation_sep1330_enums")).toBe(
      `Elicitation completed: action=accept, content=${JSON.stringify(chosen)}`,
    );
  });

  it("for the roots", async () => {
    expect(await call("test_input_required_result_list_roots")).toBe("Roots: file:///home");
  });

  it("several at once, and one after the other", async () => {
    fill = ({ message }) => ({
      action: "accept",
      content: message.includes("color") ? { color: "red" } : { name: "Ada" },
    });
    expect(await call("test_input_required_result_multiple_inputs")).toMatch(/^100: .*greeting.* Ada \(1 roots\)$/);
    expect(await call("test_input_required_result_multi_round")).toBe("Ada likes red.");
  });

  it("of a prompt", async () => {
    fill = () => ({ action: "accept", content: { context: "a test" } });
    const { messages } = await client.getPrompt({ name: "test_input_required_result_prompt" });
    expect(messages).toEqual([{ role: "user", content: { type: "text", text: "The context is a test." } }]);
  });
});

describe("resources", () => {
  it.each(resources)("%s", async (uri, contents) => {
    expect(await client.readResource({ uri })).toEqual({ contents: [{ uri, ...contents }] });
  });

  it("that are not there have an error of their own", async () => {
    const uri = "test://nothing";
    await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32002, data: { uri } });
  });

  it("tell subscribers of updates, and nobody else", async () => {
    const updates = createLog<string>();
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => updates.add(params.uri));
    const uri = "test://watched-resource";
    await call("test_trigger_resource_update");
    expect(await client.subscribeResource({ uri })).toEqual({});
    await call("test_trigger_resource_update");
    await updates.count(1);
    expect(await client.unsubscribeResource({ uri })).toEqual({});
    await call("test_trigger_resource_update");
    await client.ping();
    expect(updates.items).toEqual([uri]);
  });
});

describe("prompts and completion", () => {
  it.each(prompts)("%s", async (name, args, messages) => {
    expect((await client.getPrompt({ name, arguments: args })).messages).toEqual(messages);
  });

  it("complete arguments of prompts and templates", async () => {
    const prompt = { type: "ref/prompt", name: "test_prompt_with_arguments" } as const;
    const ofPrompt = await client.complete({ ref: prompt, argument: { name: "arg1", value: "test" } });
    expect(ofPrompt.completion.values).toEqual(["testing", "tests"]);
    const template = { type: "ref/resource", uri: "test://template/{id}/data" } as const;
    const ofTemplate = await client.complete({ ref: template, argument: { name: "id", value: "12" } });
    expect(ofTemplate.completion.values).toEqual(["12", "123"]);
  });
});

describe("under strain", () => {
  it("stops a call that is cancelled", async () => {
    const abort = new AbortController();
    const started = createLog<unknown>();
    const slow = client.callTool({ name: "slow", arguments: { ms: 60_000, steps: 1000 } }, undefined, {
      signal: abort.signal,
      onprogress: started.add,
    });
    slow.catch(() => {});
    await started.count(1);
    expect(await call("inflight")).toBe('{"running":1}');
    abort.abort("enough");
    await expect(slow).rejects.toThrow("enough");
    while ((await call("inflight")) !== '{"running":0}');
  });

  it("answers 200 calls at once, each to whom it belongs", async () => {
    const messages = Array.from({ length: 200 }, (_, index) => `message ${index}`);
    expect(await Promise.all(messages.map((message) => call("echo", { message })))).toEqual(messages);
  });

  it("carries a result of 10 MB", async () => {
    expect(await call("big", { bytes: 10_000_000 })).toHaveLength(10_000_000);
  });

  it("leaves no process behind when it is closed", async () => {
    const other = new StdioClientTransport({ ...everything, stderr: "ignore" });
    const short = new Client({ name: "official", version: "1" });
    await short.connect(other);
    const pid = other.pid ?? 0;
    expect(isRunning(pid)).toBe(true);
    await short.close();
    expect(isRunning(pid)).toBe(false);
  });
});
