import { describe, expect, it } from "vitest";
import type { Tool } from "../../protocol/tool.ts";
import { runToolCalls } from "../run-tool-calls.ts";
import { type OpenAiChatReply, openaiChat } from "./index.ts";

const tools: readonly Tool[] = [
  {
    name: "shop:buy",
    description: "Buys something",
    inputSchema: {
      type: "object",
      properties: { sku: { type: "string" }, qty: { type: "integer" } },
      required: ["sku"],
    },
  },
  { name: "look", inputSchema: { type: "object", additionalProperties: true } },
];
const kit = openaiChat(tools);

function reply(message: object, finish_reason = "stop"): OpenAiChatReply {
  const choice = {
    index: 0,
    logprobs: null,
    finish_reason,
    message: { role: "assistant", content: null, refusal: null, ...message },
  };
  return { ...{ id: "chatcmpl-1", object: "chat.completion", created: 1 }, model: "gpt-test", choices: [choice] };
}

const call = (id: string, name: string, input: string) => ({
  id,
  type: "function",
  function: { name, arguments: input },
});

describe("openaiChat", () => {
  it("describes tools", () => {
    const parameters = {
      type: "object",
      properties: { sku: { type: "string" }, qty: { type: "integer" } },
      required: ["sku"],
    };
    expect(kit.tools).toEqual([
      { type: "function", function: { name: "shop__buy", description: "Buys something", parameters } },
      {
        type: "function",
        function: { name: "look", description: "", parameters: { type: "object", additionalProperties: true } },
      },
    ]);
  });

  it("holds the model to a schema where that is possible, and notes where not", async () => {
    const strict = openaiChat(tools, { strict: true });
    expect(strict.tools.map((tool) => tool.function.strict)).toEqual([true, false]);
    expect(strict.tools[0]?.function.parameters).toEqual({
      type: "object",
      properties: { sku: { type: "string" }, qty: { type: ["integer", "null"] } },
      required: ["sku", "qty"],
      additionalProperties: false,
    });
    expect(strict.notes).toMatchObject([
      { tool: "shop:buy", keyword: "additionalProperties" },
      { tool: "look", pointer: "", keyword: "additionalProperties", message: expect.stringContaining("not strict") },
    ]);
    const given = reply({ tool_calls: [call("1", "shop__buy", '{"sku":"a","qty":null}')] }, "tool_calls");
    expect(await strict.calls(given)).toEqual([{ id: "1", name: "shop:buy", input: { sku: "a" } }]);
  });

  it("offers no more tools than OpenAI takes", () => {
    const many = Array.from({ length: 130 }, (_, n) => ({ name: `t${n}`, inputSchema: {} }));
    expect(openaiChat(many).tools).toHaveLength(128);
    expect(openaiChat(many).skipped).toHaveLength(2);
    expect(openaiChat(many, { maxTools: 200 }).tools).toHaveLength(130);
  });

  it("reads calls", async () => {
    const tool_calls = [
      call("call_1", "shop__buy", '{"sku":"a","qty":2}'),
      { id: "call_2", type: "custom", custom: { name: "own", input: "x" } },
      call("call_3", "shop__buy", '{"sku":"a","qt'),
    ];
    expect(await kit.calls(reply({ tool_calls }, "length"))).toEqual([
      { id: "call_1", name: "shop:buy", input: { sku: "a", qty: 2 } },
      { id: "call_3", name: "shop:buy", problem: "the arguments for shop__buy are not valid JSON" },
    ]);
    expect(await kit.calls(reply({ content: "Hi" }))).toEqual([]);
    expect(await kit.calls({ model: "m", choices: [] })).toEqual([]);
  });

  it("writes results as text, and what else they hold after them", async () => {
    const tool_calls = [call("call_1", "look", "{}"), call("call_2", "look", "{}")];
    const calls = await kit.calls(reply({ tool_calls }, "tool_calls"));
    let runs = 0;
    const results = await runToolCalls(calls, async () => {
      if (runs++ > 0) throw new Error("too dark");
      return {
        content: [
          { type: "text", text: "Here" },
          { type: "image", data: "AAAA", mimeType: "image/png" },
          { type: "audio", data: "AAAA", mimeType: "audio/mpeg" },
          { type: "audio", data: "AAAA", mimeType: "audio/ogg" },
        ],
      };
    });
    expect(kit.results(results)).toEqual([
      {
        role: "tool",
        tool_call_id: "call_1",
        content: "Here\n[image below]\n[audio below]\n[audio/ogg audio, 3 bytes, not shown]",
      },
      { role: "tool", tool_call_id: "call_2", content: "Error: too dark" },
      {
        role: "user",
        content: [
          { type: "text", text: "From the result of call_1:" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
          { type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } },
        ],
      },
    ]);
  });

  it("writes a conversation", () => {
    const id = `fc_${"0".repeat(50)}`;
    const messages = kit.messages([
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "audio", data: "AAAA", mimeType: "audio/wav" },
          { type: "image", data: "AAAA", mimeType: "image/svg+xml" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Sure" },
          { type: "tool_use", id, name: "shop:buy", input: { sku: "a" } },
        ],
      },
      { role: "user", content: { type: "tool_result", toolUseId: id, content: [{ type: "text", text: "ok" }] } },
      { role: "assistant", content: { type: "image", data: "AAAA", mimeType: "image/png" } },
    ]);
    const short = messages[2]?.role === "tool" ? messages[2].tool_call_id : "";
    expect(short).toMatch(/^fc_0+_[a-z2-7]{8}$/);
    expect(short.length).toBeLessThanOrEqual(40);
    expect(messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
          { type: "text", text: "[image/svg+xml image, 3 bytes, not shown]" },
        ],
      },
      { role: "assistant", content: "Sure", tool_calls: [call(short, "shop__buy", '{"sku":"a"}')] },
      { role: "tool", tool_call_id: short, content: "ok" },
      { role: "assistant", content: "[image/png image, 3 bytes, not shown]" },
    ]);
  });

  it.each([
    ["stop", "endTurn"],
    ["length", "maxTokens"],
    ["tool_calls", "toolUse"],
    ["content_filter", "content_filter"],
  ])("takes %s for %s", (reason, stopReason) => {
    expect(kit.reply(reply({ content: "Hi" }, reason)).stopReason).toBe(stopReason);
  });

  it("answers with text, calls or a refusal", () => {
    const both = kit.reply(
      reply({ content: "Sure", tool_calls: [call("1", "shop__buy", '{"sku":"a"}')] }, "tool_calls"),
    );
    expect(both).toEqual({
      role: "assistant",
      content: [
        { type: "text", text: "Sure" },
        { type: "tool_use", id: "1", name: "shop:buy", input: { sku: "a" } },
      ],
      model: "gpt-test",
      stopReason: "toolUse",
    });
    expect(kit.reply(reply({ refusal: "I will not" }))).toMatchObject({
      content: { type: "text", text: "I will not" },
      stopReason: "refusal",
    });
    expect(kit.reply(reply({ tool_calls: [call("1", "gone", '{"a":1}')] }))).toMatchObject({
      content: { type: "tool_use", id: "1", name: "gone", input: { a: 1 } },
    });
  });

  it("has no answer without a choice, or with arguments that are no JSON", () => {
    expect(() => kit.reply({ model: "m", choices: [] })).toThrow(expect.objectContaining({ code: "invalid-response" }));
    const cut = reply({ tool_calls: [call("1", "shop__buy", '{"sku":')] }, "length");
    expect(() => kit.reply(cut)).toThrow(
      "the model made a call that cannot be read: the arguments for shop__buy are not valid JSON",
    );
  });

  it("makes a whole request", () => {
    const messages = [{ role: "user", content: { type: "text", text: "Hi" } }] as const;
    const user = { role: "user", content: [{ type: "text", text: "Hi" }] };
    const params = { messages, maxTokens: 9, systemPrompt: "Be brief", stopSequences: ["END"], temperature: 1 };
    expect(kit.request({ ...params, toolChoice: { mode: "none" } })).toEqual({
      messages: [{ role: "system", content: "Be brief" }, user],
      ...{ max_completion_tokens: 9, stop: ["END"], tools: kit.tools, tool_choice: "none" },
    });
    expect(openaiChat([]).request({ messages, maxTokens: 9, toolChoice: { mode: "auto" } })).toEqual({
      messages: [user],
      max_completion_tokens: 9,
    });
  });
});
