import type { JsonObject } from "../../json/json.ts";
import type { CreateMessageParams } from "../../model/input.ts";
import type { Tool } from "../../model/tool.ts";
import type { Toolkit } from "../bridge.ts";
import type { Turn } from "../conversation.ts";
import { createToolkit } from "../create-toolkit.ts";
import { createOffers, type Offer } from "../offers.ts";
import type { OpenAiChatFormat, OpenAiChatMessage, OpenAiChatRequest, OpenAiChatTool } from "./chat-format.ts";
import { toChatMessages } from "./chat-messages.ts";
import { chatCallsOf, toChatAnswer } from "./chat-reply.ts";
import { loweringFor, maxTools, type OpenAiOptions } from "./schema.ts";

/** Tools for the Chat Completions API of OpenAI, and for the many others that speak it. */
export function openaiChat(tools: readonly Tool[], options: OpenAiOptions = {}): Toolkit<OpenAiChatFormat> {
  const { validate = true, strict = false, ...limits } = options;
  const offers = createOffers(tools, { maxTools, ...limits, lowering: loweringFor(strict) });
  const definitions = offers.list.map((offer) => toTool(offer, strict));
  const messagesOf = (turns: readonly Turn[]): OpenAiChatMessage[] => toChatMessages(turns, offers.aliasOf);
  return createToolkit({
    offers,
    validate,
    tools: definitions,
    request: (params, messages) => toRequest(params, definitions, messages),
    messagesOf,
    callsOf: chatCallsOf,
    toAnswer: toChatAnswer,
  });
}

function toTool({ alias, description, lowered }: Offer<JsonObject>, strict: boolean): OpenAiChatTool {
  const { parameters, isStrict } = lowered;
  return {
    type: "function",
    function: { name: alias, description, parameters, ...(strict && { strict: isStrict }) },
  };
}

function toRequest(
  params: CreateMessageParams,
  tools: OpenAiChatTool[],
  messages: readonly OpenAiChatMessage[],
): OpenAiChatRequest {
  const { maxTokens, systemPrompt, stopSequences, toolChoice } = params;
  const system: readonly OpenAiChatMessage[] =
    systemPrompt === undefined ? [] : [{ role: "system", content: systemPrompt }];
  return {
    messages: [...system, ...messages],
    max_completion_tokens: maxTokens,
    ...(stopSequences !== undefined && { stop: [...stopSequences] }),
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && toolChoice?.mode !== undefined && { tool_choice: toolChoice.mode }),
  };
}
