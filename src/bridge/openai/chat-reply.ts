import { asJson, isObject, type JsonObject } from "../../json/json.ts";
import { McpError } from "../../model/errors.ts";
import type { CreateMessageResult, SamplingContent } from "../../model/input.ts";
import { answerOf, toolUse } from "../conversation.ts";
import type { Offers } from "../offers.ts";
import type { RawCall } from "../read-call.ts";
import type { OpenAiChatReply } from "./chat-format.ts";

/** The calls in the first choice. */
export function chatCallsOf({ choices }: OpenAiChatReply): readonly RawCall[] {
  const calls = choices[0]?.message.tool_calls ?? [];
  return calls
    .map(asJson)
    .flatMap(({ id, function: called }) => (isObject(called) ? [rawCall(String(id), called)] : []));
}

function rawCall(id: string, { name, arguments: input }: JsonObject): RawCall {
  return { id, alias: String(name), input };
}

/** The first choice as an answer. A refusal is its text. */
export function toChatAnswer<P>(reply: OpenAiChatReply, offers: Offers<P>): CreateMessageResult {
  const [choice] = reply.choices;
  if (choice === undefined) throw new McpError("invalid-response", "the reply of the model has no choices");
  const { content, refusal } = choice.message;
  const said = [content, refusal].filter((text) => typeof text === "string" && text !== "");
  const blocks: readonly SamplingContent[] = [
    ...said.map((text) => ({ type: "text" as const, text: text ?? "" })),
    ...chatCallsOf(reply).map((raw) => toolUse(raw, offers)),
  ];
  const reason = choice.finish_reason ?? undefined;
  const isRefusal = typeof refusal === "string" && refusal !== "";
  const stopReason = isRefusal ? "refusal" : reason && (stopReasons.get(reason) ?? reason);
  return answerOf({ content: blocks, model: reply.model, stopReason });
}

const stopReasons: ReadonlyMap<string, string> = new Map([
  ["stop", "endTurn"],
  ["length", "maxTokens"],
  ["tool_calls", "toolUse"],
  ["function_call", "toolUse"],
]);
