import { describe, expect, it } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import { revisions } from "../../model/revision.ts";

const form = { message: "m", requestedSchema: {} };
const sample = { messages: [], maxTokens: 1 };

describe.each(revisions)("decodeQuestion of %s", (revision) => {
  const { decodeQuestion } = codecFor(revision);

  it.each([
    ["elicitation/create", form],
    ["elicitation/create", { ...form, mode: "form", unknown: 1 }],
    ["elicitation/create", { mode: "url", message: "m", url: "u", elicitationId: "e" }],
    ["sampling/createMessage", sample],
    ["sampling/createMessage", { ...sample, messages: [{ role: "user", content: { type: "new" } }] }],
    ["roots/list", {}],
  ] as const)("reads %s %j as it is", (method, params) => {
    const decoded = decodeQuestion(method, params);
    expect(decoded).toEqual({ ok: true, value: { method, params } });
    expect(decoded.ok && decoded.value.params).toBe(params);
  });

  it.each([
    ["elicitation/create", {}, "params.message must be a string"],
    ["elicitation/create", { message: "m" }, "params.requestedSchema must be an object"],
    ["elicitation/create", { ...form, mode: "url" }, "params.url must be a string"],
    ["elicitation/create", { ...form, mode: "voice" }, "params.mode must be form or url"],
    ["elicitation/create", { ...form, mode: null }, "params.mode must be form or url"],
    ["sampling/createMessage", { messages: [] }, "params.maxTokens must be a number"],
    ["sampling/createMessage", { maxTokens: 1 }, "params.messages must be an array"],
    ["sampling/createMessage", { ...sample, tools: {} }, "params.tools must be an array"],
    ["sampling/createMessage", { ...sample, messages: [1] }, "params.messages[0] must be an object"],
    [
      "sampling/createMessage",
      { ...sample, messages: [{ role: "system", content: [] }] },
      "params.messages[0].role must be user or assistant",
    ],
    [
      "sampling/createMessage",
      { ...sample, messages: [{ role: "user", content: [{}] }] },
      "params.messages[0].content[0].type must be a string",
    ],
    [
      "sampling/createMessage",
      { ...sample, messages: [{ role: "user", content: "hi" }] },
      "params.messages[0].content must be an object",
    ],
    [
      "sampling/createMessage",
      { ...sample, messages: [{ role: "assistant", content: { type: "tool_use", id: 1 } }] },
      "params.messages[0].content.id must be a string",
    ],
    [
      "sampling/createMessage",
      { ...sample, messages: [{ role: "user", content: { type: "tool_result", toolUseId: "1" } }] },
      "params.messages[0].content.content must be an array",
    ],
  ])("refuses %s %j", (method, params, message) => {
    expect(decodeQuestion(method, params)).toEqual({ ok: false, failure: { code: "invalid-params", message } });
  });

  it.each(["ping", "toString", "__proto__"])("does not know %s", (method) => {
    expect(decodeQuestion(method, {})).toMatchObject({ failure: { code: "method-not-found" } });
  });
});
