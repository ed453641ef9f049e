import type { Question, QuestionAnswer, QuestionMethod } from "../../src/protocol/input.ts";
import { _meta, annotations, blocks, results } from "./examples.ts";

/** Questions that every revision with their method can ask. */
export const plainQuestions: readonly Question[] = [
  {
    method: "elicitation/create",
    params: {
      mode: "form",
      message: "Which?",
      requestedSchema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: {
          name: { type: "string", title: "Name", minLength: 1, maxLength: 9, format: "email", default: "a@b.c" },
          count: { type: "integer", minimum: 0, maximum: 9, default: 3 },
          sure: { type: "boolean", default: true },
          size: { type: "string", enum: ["s", "m"], default: "s" },
          color: {
            type: "string",
            title: "Color",
            oneOf: [
              { const: "r", title: "Red" },
              { const: "g", title: "Green" },
            ],
            default: "r",
          },
          old: { type: "string", enum: ["a"], enumNames: ["A"] },
        },
        required: ["name"],
      },
    },
  },
  {
    method: "sampling/createMessage",
    params: {
      messages: [
        { role: "user", content: { type: "text", text: "hi", annotations, _meta }, _meta },
        { role: "assistant", content: [{ type: "image", data: "aGk=", mimeType: "image/png" }] },
      ],
      maxTokens: 10,
      modelPreferences: { hints: [{ name: "m" }], costPriority: 0.1, speedPriority: 0.2, intelligencePriority: 0.3 },
      systemPrompt: "s",
      includeContext: "none",
      temperature: 0.5,
      stopSequences: ["."],
      metadata: { a: 1 },
    },
  },
  { method: "roots/list", params: {} },
];

/** Questions that came with 2025-11-25. */
export const richQuestions: readonly Question[] = [
  { method: "elicitation/create", params: { mode: "url", message: "Sign", url: "https://example.com/sign" } },
  {
    method: "elicitation/create",
    params: {
      message: "Which ones?",
      requestedSchema: {
        type: "object",
        properties: {
          plain: { type: "array", items: { type: "string", enum: ["a", "b"] }, minItems: 1, default: ["a"] },
          titled: { type: "array", items: { anyOf: [{ const: "a", title: "A" }] }, maxItems: 2 },
        },
      },
    },
  },
  {
    method: "sampling/createMessage",
    params: {
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "weather?" },
            { type: "text", text: "please" },
          ],
        },
        { role: "assistant", content: { type: "tool_use", id: "1", name: "weather", input: { city: "X" }, _meta } },
        {
          role: "user",
          content: [
            { type: "tool_result", toolUseId: "1", content: [...blocks], structuredContent: 20, isError: false },
          ],
        },
      ],
      maxTokens: 10,
      tools: results["tools/list"].tools,
      toolChoice: { mode: "auto" },
    },
  },
];

export const answers: { readonly [Q in QuestionMethod]: QuestionAnswer } = {
  "elicitation/create": { action: "accept", content: { name: "a", count: 3, sure: true } },
  "sampling/createMessage": {
    role: "assistant",
    content: { type: "text", text: "hi", annotations, _meta },
    model: "m",
    stopReason: "endTurn",
  },
  "roots/list": { roots: [{ uri: "file:///a", name: "a", _meta }] },
};
