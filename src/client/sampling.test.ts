import { describe, expect, it } from "vitest";
import type { SamplingContent, SamplingMessage } from "../protocol/input.ts";
import { checkSampling } from "./request-handlers.ts";

const text: SamplingContent = { type: "text", text: "x" };
const use = (id: string): SamplingContent => ({ type: "tool_use", id, name: "buy", input: {} });
const result = (toolUseId: string): SamplingContent => ({ type: "tool_result", toolUseId, content: [] });
const says = (role: "user" | "assistant", ...content: SamplingContent[]): SamplingMessage => ({ role, content });

const check = (...messages: SamplingMessage[]) => checkSampling({ messages, maxTokens: 1 }, { sampling: {} });

describe("roles", () => {
  it("of messages are user or assistant (F132)", () => {
    const bad = { role: "system", content: text } as unknown as SamplingMessage;
    expect(() => check(says("user", text), bad)).toThrow(
      expect.objectContaining({
        code: "invalid-params",
        message: 'messages[1].role must be user or assistant, not "system"; instructions go in systemPrompt',
      }),
    );
  });
});

describe("checkSampling", () => {
  it("accepts tool uses that the next message answers, all of them and nothing else", () => {
    check({ role: "user", content: text });
    check(says("user", text), says("assistant", text, use("a"), use("b")), says("user", result("b"), result("a")));
  });

  it.each<[string, SamplingMessage[]]>([
    [
      "messages[1] mixes tool results with other content",
      [says("assistant", use("a")), says("user", result("a"), text)],
    ],
    ["messages[1] lacks the result of tool use b", [says("assistant", use("a"), use("b")), says("user", result("a"))]],
    ["messages[1] lacks the result of tool use a", [says("assistant", use("a"))]],
    ["messages[0] has a result for unknown tool use a", [says("user", result("a"))]],
  ])("C57: refuses: %s", (message, messages) => {
    expect(() => check(...messages)).toThrow(expect.objectContaining({ code: "invalid-params", message }));
  });
});
