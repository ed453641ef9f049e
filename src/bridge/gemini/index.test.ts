import { describe, expect, it } from "vitest";
import type { Tool } from "../../protocol/tool.ts";
import { runToolCalls } from "../run-tool-calls.ts";
import { type GeminiReply, gemini, type OpenApiSchema } from "./index.ts";

const tools: readonly Tool[] = [
  {
    name: "shop:buy",
    description: "Buys something",
    inputSchema: { type: "object", properties: { "sku-id": { type: "string" } }, required: ["sku-id"] },
  },
  { name: "2fast", inputSchema: { type: "object", properties: {} } },
];
const kit = gemini(tools);
const [buy, fast] = kit.tools.map(({ name }) => name);
const { required: [sku = ""] = [] } = (kit.tools[0]?.parameters ?? {}) as OpenApiSchema;

function reply(parts: readonly object[], finishReason = "STOP"): GeminiReply {
  const others = { usageMetadata: { totalTokenCount: 9 } };
  const content = { ...{ role: "model" }, parts };
  return { ...others, candidates: [{ content, finishReason }], modelVersion: "gemini-test" };
}

const called = (name: string | undefined, args?: object, more: object = {}) => ({
  functionCall: { name, args, ...more },
});

describe("gemini", () => {
  it("declares functions, without parameters when there are none", () => {
    expect(buy).toBe("shop__buy");
    expect(fast).toMatch(/^_2fast_[a-z2-7]{8}$/);
    expect(sku).toMatch(/^sku_id_[a-z2-7]{8}$/);
    expect(kit.tools).toEqual([
      {
        name: "shop__buy",
        description: "Buys something",
        parameters: {
          type: "OBJECT",
          properties: { [sku]: { type: "STRING", description: 'named "sku-id"' } },
          required: [sku],
        },
      },
      { name: fast, description: "" },
    ]);
  });

  it("declares them in JSON Schema when asked to", () => {
    const { tools: declared } = gemini(tools, { schema: "json-schema" });
    expect(declared).toMatchObject([
      { name: "shop__buy", parametersJsonSchema: { type: "object", required: [sku] } },
      { parametersJsonSchema: { type: "object", properties: {} } },
    ]);
    expect(declared[0]).not.toHaveProperty("parameters");
  });

  it("reads calls, and gives them ids that stay the same", async () => {
    const one = reply([
      { text: "Hm", thought: true },
      called(buy, { [sku]: "a" }),
      called(fast),
      called(buy, { [sku]: "a" }, { id: "g1" }),
    ]);
    const calls = await kit.calls(one);
    expect(calls).toEqual([
      { id: expect.stringMatching(/^plugbay_/), name: "shop:buy", input: { "sku-id": "a" } },
      { id: expect.stringMatching(/^plugbay_/), name: "2fast", input: {} },
      { id: "g1", name: "shop:buy", input: { "sku-id": "a" } },
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(3);
    expect(await kit.calls(structuredClone(one))).toEqual(calls);
    expect((await kit.calls({ ...one, responseId: "other" }))[0]?.id).not.toBe(calls[0]?.id);
    expect(await kit.calls({})).toEqual([]);
  });

  it("writes results by name, with ids only where Gemini gave them, and media after them", async () => {
    const calls = await kit.calls(reply([called(buy, { [sku]: "a" }), called(fast, {}, { id: "g2" })]));
    const results = await runToolCalls(calls, async (name) => {
      if (name === "2fast") throw new Error("slow down");
      return {
        content: [
          { type: "text", text: "Here" },
          { type: "image", data: "AAAA", mimeType: "image/png" },
        ],
      };
    });
    expect(kit.results(results)).toEqual([
      {
        role: "user",
        parts: [
          { functionResponse: { name: "shop__buy", response: { output: "Here\n[image below]" } } },
          { functionResponse: { name: fast, id: "g2", response: { error: "slow down" } } },
          { inlineData: { mimeType: "image/png", data: "AAAA" } },
        ],
      },
    ]);
  });

  it("finds the names of results in the conversation", () => {
    const contents = kit.messages([
      {
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "audio", data: "AAAA", mimeType: "audio/wav" },
        ],
      },
      { role: "assistant", content: { type: "tool_use", id: "t1", name: "shop:buy", input: { "sku-id": "a" } } },
      { role: "user", content: { type: "tool_result", toolUseId: "t1", content: [{ type: "text", text: "ok" }] } },
      { role: "assistant", content: { type: "text", text: "" } },
    ]);
    expect(contents).toEqual([
      { role: "user", parts: [{ text: "Hi" }, { inlineData: { mimeType: "audio/wav", data: "AAAA" } }] },
      { role: "model", parts: [{ functionCall: { name: "shop__buy", args: { "sku-id": "a" }, id: "t1" } }] },
      { role: "user", parts: [{ functionResponse: { name: "shop__buy", id: "t1", response: { output: "ok" } } }] },
    ]);
  });

  it("sends signatures back with the parts they came with", () => {
    const { content } = kit.reply(
      reply([{ ...called(buy, { [sku]: "a" }), thoughtSignature: "c2ln" }, called(buy, { [sku]: "b" })]),
    );
    const conversation = [{ role: "assistant" as const, content }];
    expect(kit.messages(conversation)[0]?.parts.map(({ thoughtSignature }) => thoughtSignature)).toEqual([
      "c2ln",
      undefined,
    ]);
    const stored = structuredClone(conversation);
    expect(kit.messages(stored)[0]?.parts.some((part) => "thoughtSignature" in part)).toBe(false);
    const lenient = gemini(tools, { skipSignatures: true });
    expect(lenient.messages(stored)[0]?.parts.map(({ thoughtSignature }) => thoughtSignature)).toEqual([
      "skip_thought_signature_validator",
      undefined,
    ]);
    expect(lenient.messages(conversation)[0]?.parts[0]?.thoughtSignature).toBe("c2ln");
  });

  it("answers with texts, media and calls, but not with thoughts", () => {
    const parts = [
      { text: "Hm", thought: true },
      { text: "Look" },
      { inlineData: { mimeType: "image/png", data: "AAAA" } },
      { text: "" },
      called(fast),
    ];
    expect(kit.reply(reply(parts))).toEqual({
      role: "assistant",
      content: [
        { type: "text", text: "Look" },
        { type: "image", data: "AAAA", mimeType: "image/png" },
        { type: "tool_use", id: expect.any(String), name: "2fast", input: {} },
      ],
      model: "gemini-test",
      stopReason: "toolUse",
    });
    expect(kit.reply(reply([{ text: "Hi" }])).stopReason).toBe("endTurn");
    expect(kit.reply(reply([{ text: "Hi" }], "MAX_TOKENS")).stopReason).toBe("maxTokens");
    expect(kit.reply(reply([], "SAFETY"))).toMatchObject({ content: [], stopReason: "SAFETY" });
  });

  it("has no answer when there is no candidate", () => {
    expect(() => kit.reply({ promptFeedback: { blockReason: "SAFETY" } })).toThrow(
      "the reply of the model has no candidates: SAFETY",
    );
  });

  it("makes a whole request", () => {
    const messages = [{ role: "user", content: { type: "text", text: "Hi" } }] as const;
    const params = { messages, maxTokens: 9, systemPrompt: "Be brief", stopSequences: ["END"], temperature: 0 };
    expect(kit.request({ ...params, toolChoice: { mode: "required" } })).toEqual({
      contents: [{ role: "user", parts: [{ text: "Hi" }] }],
      config: {
        ...{ maxOutputTokens: 9, systemInstruction: "Be brief", temperature: 0, stopSequences: ["END"] },
        tools: [{ functionDeclarations: kit.tools }],
        toolConfig: { functionCallingConfig: { mode: "ANY" } },
      },
    });
    expect(gemini([]).request({ messages, maxTokens: 9 }).config).toEqual({ maxOutputTokens: 9 });
  });
});
