import { asSchema, generateText, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { describe, expect, it } from "vitest";
import type { CallToolResult, Tool } from "../../protocol/tool.ts";
import { type AiSdkReply, aiSdk } from "./index.ts";

// The AI SDK is the real one; only the model behind it is made up.

const tools: readonly Tool[] = [
  {
    name: "shop:buy",
    title: "Buy",
    description: "Buys something",
    inputSchema: { type: "object", properties: { "sku-id": { type: "string", minLength: 2 } }, required: ["sku-id"] },
  },
];
const [sku = ""] = Object.keys(parametersOf(aiSdk(tools)));

function parametersOf(kit: ReturnType<typeof aiSdk>): object {
  const schema = kit.tools.shop__buy?.inputSchema["~standard"].jsonSchema.input({ target: "draft-2020-12" });
  return (schema?.properties ?? {}) as object;
}

type Content = Awaited<ReturnType<MockLanguageModelV3["doGenerate"]>>["content"];

/** A model that gives one answer after the other. */
function modelOf(...answers: readonly Content[]): MockLanguageModelV3 {
  const count = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
  let turn = 0;
  return new MockLanguageModelV3({
    modelId: "made-up",
    doGenerate: async () => {
      const content = answers[turn++] ?? [];
      const unified = content.some(({ type }) => type === "tool-call") ? "tool-calls" : "stop";
      const usage = { inputTokens: count, outputTokens: count };
      return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
    },
  });
}

const call = (input: object, more: object = {}) =>
  ({ type: "tool-call", toolCallId: "c1", toolName: "shop__buy", input: JSON.stringify(input), ...more }) as const;

describe("aiSdk", () => {
  it("is taken by the AI SDK as it is", async () => {
    const kit = aiSdk(tools);
    const tool = kit.tools.shop__buy;
    expect(tool).toMatchObject({ description: "Buys something", title: "Buy" });
    expect(tool).not.toHaveProperty("execute");
    expect(sku).toMatch(/^sku_id_[a-z2-7]{8}$/);
    const schema = asSchema(tool?.inputSchema);
    expect(await schema.jsonSchema).toEqual({
      type: "object",
      properties: { [sku]: { type: "string", minLength: 2, description: 'named "sku-id"' } },
      required: [sku],
    });
    expect(await schema.validate?.({ [sku]: "ab" })).toEqual({ success: true, value: { "sku-id": "ab" } });
    expect(await schema.validate?.({ [sku]: "a" })).toMatchObject({ success: false });
  });

  it("has the AI SDK run tools, and shows the model what they gave", async () => {
    const ran: unknown[] = [];
    const result: CallToolResult = {
      content: [
        { type: "text", text: "Bought" },
        { type: "image", data: "AAAA", mimeType: "image/png" },
        { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      ],
    };
    const kit = aiSdk(tools, {
      run: async (name, input, { toolCallId, abortSignal }) => {
        ran.push([name, input, toolCallId, abortSignal?.aborted]);
        return result;
      },
    });
    const model = modelOf([call({ [sku]: "ab" })], [{ type: "text", text: "Done" }]);
    const { signal } = new AbortController();
    const { text, steps } = await generateText({
      ...{ model, tools: kit.tools, prompt: "Buy", stopWhen: stepCountIs(3), abortSignal: signal },
    });
    expect(text).toBe("Done");
    expect(ran).toEqual([["shop:buy", { "sku-id": "ab" }, "c1", false]]);
    expect(steps[0]?.toolResults[0]?.output).toEqual(result);
    const shown = model.doGenerateCalls[1]?.prompt.at(-1)?.content[0];
    expect(shown).toMatchObject({
      type: "tool-result",
      output: {
        type: "content",
        value: [
          { type: "text", text: "Bought" },
          { type: "image-data", data: "AAAA", mediaType: "image/png" },
          { type: "file-data", data: "AAAA", mediaType: "audio/wav" },
        ],
      },
    });
  });

  it("tells the model what is wrong with its arguments", async () => {
    const kit = aiSdk(tools, { run: async () => ({ content: [] }) });
    const model = modelOf([call({ [sku]: "a" })], [{ type: "text", text: "Sorry" }]);
    const reply = await generateText({ model, tools: kit.tools, prompt: "Buy", stopWhen: stepCountIs(3) });
    expect(JSON.stringify(model.doGenerateCalls[1]?.prompt)).toContain("/sku-id");
    const [first] = reply.steps;
    const [faulty] = await kit.calls(first ?? reply);
    expect(faulty).toMatchObject({ id: "c1", name: "shop:buy" });
    expect(faulty?.problem).toContain("/sku-id");
  });

  it("leaves calls to you when it was not told how to run them", async () => {
    const kit = aiSdk(tools);
    const reply = await generateText({ model: modelOf([call({ [sku]: "ab" })]), tools: kit.tools, prompt: "Buy" });
    expect(await kit.calls(reply)).toEqual([{ id: "c1", name: "shop:buy", input: { "sku-id": "ab" } }]);
    expect(kit.reply(reply)).toEqual({
      role: "assistant",
      content: { type: "tool_use", id: "c1", name: "shop:buy", input: { "sku-id": "ab" } },
      model: "made-up",
      stopReason: "toolUse",
    });
  });

  it("writes conversations that the AI SDK sends", async () => {
    const kit = aiSdk(tools);
    const model = modelOf([{ type: "text", text: "Bye" }]);
    const request = kit.request({
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Hi" },
            { type: "image", data: "AAAA", mimeType: "image/png" },
          ],
        },
        { role: "assistant", content: { type: "tool_use", id: "c1", name: "shop:buy", input: { "sku-id": "ab" } } },
        {
          role: "user",
          content: { type: "tool_result", toolUseId: "c1", content: [{ type: "text", text: "no" }], isError: true },
        },
      ],
      maxTokens: 9,
      systemPrompt: "Be brief",
      temperature: 0,
      toolChoice: { mode: "none" },
    });
    expect((await generateText({ model, ...request })).text).toBe("Bye");
    expect(model.doGenerateCalls[0]).toMatchObject({
      maxOutputTokens: 9,
      temperature: 0,
      toolChoice: { type: "none" },
    });
    expect(model.doGenerateCalls[0]?.prompt).toMatchObject([
      { role: "system", content: "Be brief" },
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "file", data: "AAAA", mediaType: "image/png" },
        ],
      },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "shop__buy" }] },
      {
        role: "tool",
        content: [{ type: "tool-result", toolName: "shop__buy", output: { type: "error-text", value: "no" } }],
      },
    ]);
  });

  it("writes results by name", () => {
    const kit = aiSdk(tools);
    const result = {
      type: "tool_result",
      toolUseId: "c1",
      name: "shop:buy",
      content: [],
      structuredContent: { a: 1 },
    } as const;
    expect(kit.results([result])).toEqual([
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "c1", toolName: "shop__buy", output: { type: "text", value: '{"a":1}' } },
        ],
      },
    ]);
  });

  it("sends thoughts, and what a provider gave with a call, back to it", async () => {
    const kit = aiSdk(tools);
    const providerMetadata = { google: { thoughtSignature: "c2ln" } };
    const thought = { type: "reasoning", text: "Hm.", providerMetadata: { anthropic: { signature: "c2ln" } } } as const;
    const model = modelOf([thought, call({ [sku]: "ab" }, { providerMetadata })]);
    const { content } = kit.reply(await generateText({ model, tools: kit.tools, prompt: "Buy" }));
    expect(JSON.stringify(content)).not.toContain("Hm.");
    expect(kit.messages([{ role: "assistant", content }])).toMatchObject([
      {
        content: [
          { type: "reasoning", text: "Hm.", providerOptions: { anthropic: { signature: "c2ln" } } },
          { type: "tool-call", providerOptions: providerMetadata },
        ],
      },
    ]);
    expect(kit.messages([{ role: "assistant", content: structuredClone(content) }])[0]?.content).toHaveLength(1);
  });

  it("does not take tools that a provider ran for calls", async () => {
    const content = [{ type: "tool-call", providerExecuted: true, toolCallId: "p", toolName: "web", input: {} }];
    const reply: AiSdkReply = { content, finishReason: "stop" };
    expect(await aiSdk(tools).calls(reply)).toEqual([]);
    expect(aiSdk(tools).reply(reply)).toMatchObject({ content: [], stopReason: "endTurn" });
  });
});
