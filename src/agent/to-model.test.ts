import { describe, expect, it } from "vitest";
import { anthropic } from "../bridge/anthropic/index.ts";
import { openaiChat } from "../bridge/openai/index.ts";
import { toolLoop } from "../bridge/tool-loop.ts";
import type { Tool } from "../protocol/tool.ts";
import { toModel } from "./run-tools.ts";

const add: Tool = {
  name: "calc:add",
  inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
};

/** A reply of the Chat Completions API that calls tools with these arguments. */
const calling = (...texts: readonly string[]) => ({
  model: "gpt",
  choices: [
    {
      finish_reason: "tool_calls",
      message: {
        role: "assistant" as const,
        content: null,
        tool_calls: texts.map((text, index) => ({
          id: `c${index}`,
          type: "function" as const,
          function: { name: "calc__add", arguments: text },
        })),
      },
    },
  ],
});
const saying = (content: string) => ({
  model: "gpt",
  choices: [{ finish_reason: "stop", message: { role: "assistant" as const, content } }],
});

describe("a model of a bridge", () => {
  it("runs what can be run, and tells the model of the rest", async () => {
    const requests: string[] = [];
    const ran: unknown[] = [];
    const replies = [calling('{"a":1}', '{"a":"x"}', '{"a":'), saying("mended")];
    const { result, messages } = await toolLoop({
      messages: [{ role: "user", content: { type: "text", text: "add" } }],
      maxTokens: 50,
      tools: [add],
      sample: toModel(openaiChat, async (request) => {
        requests.push(JSON.stringify(request));
        return replies[requests.length - 1] ?? saying("");
      }),
      run: async (name, input) => {
        ran.push([name, input]);
        return "2";
      },
    });
    expect(result.content).toMatchObject({ text: "mended" });
    expect(ran).toEqual([["calc:add", { a: 1 }]]);
    expect(messages[2]?.content).toMatchObject([
      { toolUseId: "c0", content: [{ text: "2" }] },
      { toolUseId: "c1", isError: true, content: [{ text: expect.stringContaining("/a") }] },
      { toolUseId: "c2", isError: true, content: [{ text: expect.stringContaining("not valid JSON") }] },
    ]);
    expect(requests[1]).toContain("not valid JSON");
    expect("problems" in result).toBe(false);
  });

  it("gives a reply without problems as the bridge reads it", async () => {
    const model = toModel(anthropic, async () => ({
      model: "claude",
      stop_reason: "end_turn",
      content: [{ type: "text", text: "hi" }],
    }));
    const reply = await model({ messages: [], maxTokens: 5 }, { signal: new AbortController().signal });
    expect(reply).toMatchObject({ content: { type: "text", text: "hi" }, stopReason: "endTurn" });
  });

  it("rejects when there is no reply at all", async () => {
    const model = toModel(openaiChat, async () => ({ model: "gpt", choices: [] }));
    await expect(model({ messages: [], maxTokens: 5 }, { signal: new AbortController().signal })).rejects.toMatchObject(
      { code: "invalid-response" },
    );
  });
});
