import { describe, expect, it } from "vitest";
import type { SamplingMessage } from "../../protocol/input.ts";
import type { Tool } from "../../protocol/tool.ts";
import { runToolCalls } from "../run-tool-calls.ts";
import { toolLoop } from "../tool-loop.ts";
import { type AnthropicReply, anthropic } from "./index.ts";

const tools: readonly Tool[] = [
  {
    name: "shop:buy",
    title: "Buy",
    description: "Buys something",
    inputSchema: { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] },
  },
  { name: "now", inputSchema: { type: "object" } },
];
const kit = anthropic(tools);

/** A reply as the API gives it, with members that nobody reads here. */
function reply(content: readonly object[], stop_reason: string | null = "end_turn"): AnthropicReply {
  const others = { id: "msg_01", type: "message", role: "assistant", stop_sequence: null, usage: { input_tokens: 9 } };
  return { ...others, model: "claude-test", stop_reason, content: content as AnthropicReply["content"] };
}

const thinking = { type: "thinking", thinking: "Hm.", signature: "c2ln" };
const use = { type: "tool_use", id: "toolu_01", name: "shop__buy", input: { sku: "a" }, caller: { type: "direct" } };

describe("anthropic", () => {
  it("describes tools", () => {
    expect(kit.tools).toEqual([
      {
        name: "shop__buy",
        description: "Buys something",
        input_schema: { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] },
      },
      { name: "now", description: "", input_schema: { type: "object" } },
    ]);
    expect(kit.skipped).toEqual([]);
    expect(kit.notes).toEqual([]);
  });

  it("writes a conversation", () => {
    const messages: readonly SamplingMessage[] = [
      {
        role: "user",
        content: [
          { type: "text", text: "Look" },
          { type: "text", text: " " },
          { type: "image", data: "AAAA", mimeType: "image/png" },
          { type: "image", data: "AAAA", mimeType: "image/tiff" },
          { type: "audio", data: "AAAA", mimeType: "audio/wav" },
        ],
      },
      { role: "assistant", content: { type: "tool_use", id: "a.1", name: "shop:buy", input: { sku: "a" } } },
      {
        role: "user",
        content: [
          { type: "text", text: "and this" },
          {
            type: "tool_result",
            toolUseId: "a.1",
            content: [
              { type: "text", text: "bought" },
              { type: "image", data: "AAAA", mimeType: "image/webp" },
              { type: "resource_link", name: "bill", uri: "shop://bill" },
            ],
          },
        ],
      },
      { role: "assistant", content: { type: "text", text: "" } },
    ];
    const [, called] = kit.messages(messages);
    const id = called?.role === "assistant" && called.content[0]?.type === "tool_use" ? called.content[0].id : "";
    expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(kit.messages(messages)).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "Look" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
          { type: "text", text: "[image/tiff image, 3 bytes, not shown]" },
          { type: "text", text: "[audio/wav audio, 3 bytes, not shown]" },
        ],
      },
      { role: "assistant", content: [{ type: "tool_use", id, name: "shop__buy", input: { sku: "a" } }] },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: id,
            content: [
              { type: "text", text: "bought" },
              { type: "image", source: { type: "base64", media_type: "image/webp", data: "AAAA" } },
              { type: "text", text: "[resource bill: shop://bill]" },
            ],
          },
          { type: "text", text: "and this" },
        ],
      },
    ]);
  });

  it("reads calls, and nothing but calls", async () => {
    const server = { type: "server_tool_use", id: "srvtoolu_01", name: "web_search", input: {} };
    const content = [
      thinking,
      { type: "text", text: "Sure." },
      server,
      use,
      { ...use, id: "toolu_02", name: "now", input: {} },
    ];
    expect(await kit.calls(reply(content, "tool_use"))).toEqual([
      { id: "toolu_01", name: "shop:buy", input: { sku: "a" } },
      { id: "toolu_02", name: "now", input: {} },
    ]);
    expect(await kit.calls(reply([{ type: "text", text: "No." }]))).toEqual([]);
  });

  it("writes all results of a reply as one message", async () => {
    const calls = await kit.calls(reply([use, { ...use, id: "toolu_02", input: {} }], "tool_use"));
    const results = await runToolCalls(calls, async () => ({ content: [], structuredContent: { order: 1 } }));
    expect(kit.results(results)).toEqual([
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_01", content: [{ type: "text", text: '{"order":1}' }] },
          {
            type: "tool_result",
            tool_use_id: "toolu_02",
            content: [{ type: "text", text: 'invalid arguments for shop__buy: must have a property "sku" (required)' }],
            is_error: true,
          },
        ],
      },
    ]);
    expect(kit.results([])).toEqual([]);
  });

  it.each([
    ["end_turn", "endTurn"],
    ["stop_sequence", "stopSequence"],
    ["max_tokens", "maxTokens"],
    ["tool_use", "toolUse"],
    ["refusal", "refusal"],
  ])("takes %s for %s", (reason, stopReason) => {
    expect(kit.reply(reply([{ type: "text", text: "Hi" }], reason))).toEqual({
      role: "assistant",
      content: { type: "text", text: "Hi" },
      model: "claude-test",
      stopReason,
    });
  });

  it("answers with text and calls, by the names of the servers", () => {
    const { content, stopReason } = kit.reply(reply([{ type: "text", text: "Sure." }, use], null));
    expect(content).toEqual([
      { type: "text", text: "Sure." },
      { type: "tool_use", id: "toolu_01", name: "shop:buy", input: { sku: "a" } },
    ]);
    expect(stopReason).toBeUndefined();
  });

  it("sends thoughts back where they were, and shows them to nobody else", () => {
    const redacted = { type: "redacted_thinking", data: "ZGF0YQ==" };
    const { content } = kit.reply(reply([thinking, { type: "text", text: "Sure." }, redacted, use], "tool_use"));
    expect(JSON.stringify(content)).not.toContain("Hm.");
    const back = kit.messages([{ role: "assistant", content }]);
    expect(back[0]?.content.map(({ type }) => type)).toEqual(["thinking", "text", "redacted_thinking", "tool_use"]);
    expect(back[0]?.content[0]).toEqual(thinking);
    const copied = kit.messages([{ role: "assistant", content: structuredClone(content) }]);
    expect(copied[0]?.content.map(({ type }) => type)).toEqual(["text", "tool_use"]);
  });

  it("makes a whole request", () => {
    const messages: readonly SamplingMessage[] = [{ role: "user", content: { type: "text", text: "Hi" } }];
    const sent = [{ role: "user", content: [{ type: "text", text: "Hi" }] }];
    const params = { messages, maxTokens: 9, systemPrompt: "Be brief", temperature: 1, stopSequences: ["END"] };
    expect(kit.request({ ...params, toolChoice: { mode: "required" } })).toEqual({
      ...{ messages: sent, max_tokens: 9, system: "Be brief", stop_sequences: ["END"] },
      ...{ tools: kit.tools, tool_choice: { type: "any" } },
    });
    const none = anthropic([]).request({ messages, maxTokens: 9, toolChoice: { mode: "none" } });
    expect(none).toEqual({ messages: sent, max_tokens: 9 });
  });

  it("serves a tool loop", async () => {
    const asked: unknown[] = [];
    const replies = [reply([thinking, use], "tool_use"), reply([{ type: "text", text: "Done" }])];
    const { result, turns } = await toolLoop({
      messages: [{ role: "user", content: { type: "text", text: "Buy a" } }],
      maxTokens: 9,
      tools,
      sample: async (params) => {
        asked.push(kit.request(params));
        return kit.reply(replies[asked.length - 1] ?? reply([]));
      },
      run: async (name, { sku }) => `${name} ${sku}`,
    });
    expect(turns).toBe(2);
    expect(result.content).toEqual({ type: "text", text: "Done" });
    expect(asked[1]).toMatchObject({
      messages: [
        { role: "user" },
        { role: "assistant", content: [thinking, { type: "tool_use", name: "shop__buy" }] },
        { role: "user", content: [{ type: "tool_result", content: [{ type: "text", text: "shop:buy a" }] }] },
      ],
    });
  });
});
