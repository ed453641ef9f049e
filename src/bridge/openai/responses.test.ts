import { describe, expect, it } from "vitest";
import type { Tool } from "../../protocol/tool.ts";
import { runToolCalls } from "../run-tool-calls.ts";
import { type OpenAiResponsesReply, openaiResponses } from "./index.ts";

const buy: Tool = {
  name: "shop:buy",
  description: "Buys something",
  inputSchema: {
    type: "object",
    properties: { sku: { type: "string" }, note: { type: "string" } },
    required: ["sku"],
    additionalProperties: false,
  },
};
const kit = openaiResponses([buy]);

function reply(output: readonly object[], more: object = {}): OpenAiResponsesReply {
  const others = { id: "resp_1", object: "response", output_text: "", error: null, incomplete_details: null };
  return {
    ...others,
    model: "gpt-test",
    status: "completed",
    output: output as OpenAiResponsesReply["output"],
    ...more,
  };
}

const reasoning = {
  type: "reasoning",
  id: "rs_1",
  summary: [{ type: "summary_text", text: "Hm." }],
  encrypted_content: "ZW5j",
};
const called = {
  type: "function_call",
  id: "fc_1",
  call_id: "call_1",
  name: "shop__buy",
  arguments: '{"sku":"a"}',
  status: "completed",
};
const said = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Sure", annotations: [] }],
};

describe("openaiResponses", () => {
  it("describes tools, and says whether they are strict", async () => {
    expect(kit.tools).toEqual([
      {
        type: "function",
        name: "shop__buy",
        description: "Buys something",
        parameters: buy.inputSchema,
        strict: false,
      },
    ]);
    const strict = openaiResponses([buy], { strict: true });
    expect(strict.tools).toMatchObject([{ strict: true, parameters: { required: ["sku", "note"] } }]);
    const given = { ...called, arguments: '{"sku":"a","note":null}' };
    expect(await strict.calls(reply([given]))).toEqual([{ id: "call_1", name: "shop:buy", input: { sku: "a" } }]);
    expect((await kit.calls(reply([given])))[0]?.problem).toContain("/note must be string");
  });

  it("reads calls, and nothing but calls", async () => {
    const others = [reasoning, said, { type: "web_search_call", id: "ws_1", status: "completed" }];
    expect(await kit.calls(reply([...others, called]))).toEqual([
      { id: "call_1", name: "shop:buy", input: { sku: "a" } },
    ]);
  });

  it("writes results as text, or in parts when there are pictures", async () => {
    const calls = await kit.calls(reply([called, { ...called, call_id: "call_2" }, { ...called, call_id: "call_3" }]));
    const results = await runToolCalls(calls, async () => ({
      content: [
        { type: "text", text: "Here" },
        { type: "image", data: "AAAA", mimeType: "image/png" },
        { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      ],
    }));
    const [first, second, third] = results;
    if (first === undefined || second === undefined || third === undefined) throw new Error("there are three");
    const text = { ...second, content: second.content.slice(0, 1), isError: true };
    const parts = [
      { type: "input_text", text: "Here" },
      { type: "input_image", detail: "auto", image_url: "data:image/png;base64,AAAA" },
      { type: "input_text", text: "[audio/wav audio, 3 bytes, not shown]" },
    ];
    expect(kit.results([first, text, { ...third, isError: true }])).toEqual([
      { type: "function_call_output", call_id: "call_1", output: parts },
      { type: "function_call_output", call_id: "call_2", output: "Error: Here" },
      { type: "function_call_output", call_id: "call_3", output: [{ type: "input_text", text: "Error:" }, ...parts] },
    ]);
  });

  it("answers, and sends thoughts back where they were", () => {
    const answer = kit.reply(reply([reasoning, said, called]));
    expect(answer).toEqual({
      role: "assistant",
      content: [
        { type: "text", text: "Sure" },
        { type: "tool_use", id: "call_1", name: "shop:buy", input: { sku: "a" } },
      ],
      model: "gpt-test",
      stopReason: "toolUse",
    });
    expect(kit.messages([{ role: "assistant", content: answer.content }])).toEqual([
      reasoning,
      { role: "assistant", content: "Sure" },
      { type: "function_call", id: "fc_1", call_id: "call_1", name: "shop__buy", arguments: '{"sku":"a"}' },
    ]);
    expect(kit.messages([{ role: "assistant", content: structuredClone(answer.content) }])).toHaveLength(2);
  });

  it.each<[object, string]>([
    [{}, "endTurn"],
    [{ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }, "maxTokens"],
    [{ status: "incomplete", incomplete_details: { reason: "content_filter" } }, "content_filter"],
    [{ output: [{ ...said, content: [{ type: "refusal", refusal: "No" }] }] }, "refusal"],
  ])("says why it ended: %j", (more, stopReason) => {
    expect(kit.reply(reply([said], more)).stopReason).toBe(stopReason);
  });

  it("has no answer when the model has failed", () => {
    const failed = reply([], { status: "failed", error: { code: "server_error", message: "Overloaded" } });
    expect(() => kit.reply(failed)).toThrow("the model has failed: Overloaded");
  });

  it("makes a whole request", () => {
    const messages = [{ role: "user", content: { type: "image", data: "AAAA", mimeType: "image/gif" } }] as const;
    const params = { messages, maxTokens: 9, systemPrompt: "Be brief", stopSequences: ["END"] };
    expect(kit.request({ ...params, toolChoice: { mode: "required" } })).toEqual({
      input: [
        { role: "user", content: [{ type: "input_image", detail: "auto", image_url: "data:image/gif;base64,AAAA" }] },
      ],
      ...{ max_output_tokens: 9, instructions: "Be brief", tools: kit.tools, tool_choice: "required" },
    });
  });
});
