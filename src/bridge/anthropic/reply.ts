import { asJson, isObject, type JsonObject } from "../../json/json.ts";
import type { CreateMessageResult, SamplingContent } from "../../model/input.ts";
import { answerOf, toolUse } from "../conversation.ts";
import type { Offers } from "../offers.ts";
import type { RawCall } from "../read-call.ts";
import type { AnthropicReply, AnthropicThought } from "./format.ts";
import { thoughts } from "./messages.ts";

/** The calls in a reply. Tools that run at Anthropic are none. */
export function rawCallsOf(reply: AnthropicReply): readonly RawCall[] {
  return blocksOf(reply).flatMap((block) => (block.type === "tool_use" ? [rawCall(block)] : []));
}

/** A reply as an answer. */
export function toAnswer<P>(reply: AnthropicReply, offers: Offers<P>): CreateMessageResult {
  const content: SamplingContent[] = [];
  let before: readonly AnthropicThought[] = [];
  for (const block of blocksOf(reply)) {
    const thought = thoughtOf(block);
    if (thought !== undefined) before = [...before, thought];
    const said = contentOf(block, offers);
    if (said === undefined) continue;
    content.push(before.length === 0 ? said : thoughts.keep(said, before));
    before = [];
  }
  const { stop_reason: reason, model } = reply;
  return answerOf({ content, model, stopReason: reason === null ? undefined : (stopReasons.get(reason) ?? reason) });
}

const stopReasons: ReadonlyMap<string, string> = new Map([
  ["end_turn", "endTurn"],
  ["stop_sequence", "stopSequence"],
  ["max_tokens", "maxTokens"],
  ["tool_use", "toolUse"],
]);

function blocksOf({ content }: AnthropicReply): readonly JsonObject[] {
  return content.map(asJson).filter(isObject);
}

function rawCall({ id, name, input }: JsonObject): RawCall {
  return { id: String(id), alias: String(name), input };
}

function contentOf<P>(block: JsonObject, offers: Offers<P>): SamplingContent | undefined {
  if (block.type === "tool_use") return toolUse(rawCall(block), offers);
  return block.type === "text" && typeof block.text === "string" ? { type: "text", text: block.text } : undefined;
}

function thoughtOf({ type, thinking, signature, data }: JsonObject): AnthropicThought | undefined {
  if (type === "thinking") return { type, thinking: String(thinking), signature: String(signature) };
  return type === "redacted_thinking" ? { type, data: String(data) } : undefined;
}
