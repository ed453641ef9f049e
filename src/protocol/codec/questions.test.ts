import { describe, expect, it } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import type { Json } from "../../json/json.ts";
import { revisions } from "../revision.ts";

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

const use = (id: string) => ({ type: "tool_use", id, name: "n", input: {} });
const answer = (toolUseId: string) => ({ type: "tool_result", toolUseId, content: [] });
const text = { type: "text", text: "t" };
const user = (content: Json) => ({ role: "user", content });
const assistant = (content: Json) => ({ role: "assistant", content });

function problemOf(messages: Json): string | undefined {
  const decoded = codecFor("2025-11-25").decodeQuestion("sampling/createMessage", { maxTokens: 1, messages });
  if (decoded.ok) return undefined;
  expect(decoded.failure.code).toBe("invalid-params");
  return decoded.failure.message;
}

it.each<[string, Json]>([
  ["no messages", []],
  ["plain talk", [user(text), assistant([text, text])]],
  ["a call and its answer", [user(text), assistant(use("1")), user(answer("1"))]],
  ["two calls, answered in another order", [assistant([text, use("1"), use("2")]), user([answer("2"), answer("1")])]],
])("accepts %s", (_, messages) => {
  expect(problemOf(messages)).toBeUndefined();
});

it.each<[string, Json, string]>([
  [
    "answers mixed with text",
    [assistant(use("1")), user([answer("1"), text])],
    "params.messages[1] mixes tool results with other content",
  ],
  [
    "an answer from the assistant",
    [assistant(answer("1"))],
    "params.messages[0] must be of the user to hold tool results",
  ],
  [
    "a call that is not answered",
    [assistant([use("1"), use("2")]), user(answer("1"))],
    "params.messages[1] does not answer the tool call 2",
  ],
  [
    "an answer nobody called for",
    [user(text), user(answer("1"))],
    "params.messages[1] answers 1, which the message before did not call",
  ],
  ["a call at the end", [user(text), assistant(use("1"))], "params.messages ends before the tool call 1 is answered"],
])("refuses %s", (_, messages, problem) => {
  expect(problemOf(messages)).toBe(problem);
});

it("judges a crowded conversation in linear time", () => {
  const ids = Array.from({ length: 40_000 }, (_, index) => String(index));
  expect(problemOf([assistant(ids.map(use)), user(ids.reverse().map(answer))])).toBeUndefined();
});
