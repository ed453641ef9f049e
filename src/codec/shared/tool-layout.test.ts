import { expect, it } from "vitest";
import { codecFor } from "../../../test/support/codecs.ts";
import type { Json } from "../../json/json.ts";

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
