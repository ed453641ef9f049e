import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import { McpError } from "../../model/errors.ts";
import type { CreateMessageResult, SamplingContent } from "../../model/input.ts";
import { answerOf, toolUse } from "../conversation.ts";
import type { Offers } from "../offers.ts";
import type { RawCall } from "../read-call.ts";
import type { OpenAiResponsesReasoning, OpenAiResponsesReply } from "./responses-format.ts";
import { type Traces, traces } from "./responses-items.ts";

/** The calls in a response. Tools that run at OpenAI are none. */
export function responseCallsOf({ output }: OpenAiResponsesReply): readonly RawCall[] {
  return output.map(asJson).flatMap((item) => (item.type === "function_call" ? [rawCall(item)] : []));
}

function rawCall({ call_id, name, arguments: input }: JsonObject): RawCall {
  return { id: String(call_id), alias: String(name), input };
}

/** A response as an answer. A refusal is its text. */
export function toResponseAnswer<P>(reply: OpenAiResponsesReply, offers: Offers<P>): CreateMessageResult {
  if (reply.status === "failed") {
    throw new McpError("invalid-response", `the model has failed: ${reply.error?.message ?? "it does not say why"}`);
  }
  const content: SamplingContent[] = [];
  let before: readonly OpenAiResponsesReasoning[] = [];
  for (const item of reply.output.map(asJson)) {
    if (item.type === "reasoning") before = [...before, toReasoning(item)];
    const [first, ...rest] = contentOf(item, offers);
    if (first === undefined) continue;
    content.push(kept(first, item, before), ...rest);
    before = [];
  }
  return answerOf({ content, model: reply.model, stopReason: stopReasonOf(reply, content) });
}

function contentOf<P>(item: JsonObject, offers: Offers<P>): readonly SamplingContent[] {
  if (item.type === "function_call") return [toolUse(rawCall(item), offers)];
  if (item.type !== "message" || !Array.isArray(item.content)) return [];
  return item.content.flatMap((part: Json): readonly SamplingContent[] => {
    const said = isObject(part) ? (part.text ?? part.refusal) : undefined;
    return typeof said === "string" ? [{ type: "text", text: said }] : [];
  });
}

function kept(content: SamplingContent, { type, id }: JsonObject, before: Traces["before"]): SamplingContent {
  const ownId = type === "function_call" && typeof id === "string" ? { id } : {};
  return before.length === 0 && ownId.id === undefined ? content : traces.keep(content, { before, ...ownId });
}

function toReasoning({ id, summary, encrypted_content: secret }: JsonObject): OpenAiResponsesReasoning {
  const texts = (Array.isArray(summary) ? summary : []).filter(isObject);
  return {
    type: "reasoning",
    id: String(id),
    summary: texts.map(({ text }) => ({ type: "summary_text", text: String(text) })),
    ...(typeof secret === "string" && { encrypted_content: secret }),
  };
}

function stopReasonOf(reply: OpenAiResponsesReply, content: readonly SamplingContent[]): string | undefined {
  const reason = reply.incomplete_details?.reason;
  if (reply.status === "incomplete") return reason === "max_output_tokens" ? "maxTokens" : (reason ?? "incomplete");
  if (isRefused(reply)) return "refusal";
  return content.some(({ type }) => type === "tool_use") ? "toolUse" : "endTurn";
}

function isRefused({ output }: OpenAiResponsesReply): boolean {
  return output.map(asJson).some(({ content }) => Array.isArray(content) && content.some(isRefusal));
}

function isRefusal(part: Json): boolean {
  return isObject(part) && part.type === "refusal";
}
