import { describe, expect, it } from "vitest";
import { redactMessage } from "./redact-message.ts";

const plain = (text: string): string => text;

describe("redactMessage", () => {
  it("hides members by name, at any depth", () => {
    const message = { params: { arguments: { apiKey: "abc", pin: 1234, nested: [{ password: { value: "x" } }] } } };
    expect(redactMessage(message, plain)).toEqual({
      params: {
        arguments: { apiKey: "[REDACTED]", pin: "[REDACTED]", nested: [{ password: { value: "[REDACTED]" } }] },
      },
    });
  });

  it("hides credentials in texts, and what the mask knows", () => {
    const mask = (text: string): string => text.replaceAll("hunter2", "***");
    const message = { text: "authorization: Bearer abcdefghijkl and ghp_abcdefghijklmnop, hunter2" };
    expect(redactMessage(message, mask)).toEqual({ text: "authorization: Bearer [REDACTED] and [REDACTED], ***" });
  });

  it("leaves the protocol and schemas as they are", () => {
    const message = {
      _meta: { progressToken: 7 },
      tools: [{ inputSchema: { type: "object", properties: { token: { type: "string" } }, required: ["token"] } }],
    };
    expect(redactMessage(message, plain)).toEqual(message);
  });
});
