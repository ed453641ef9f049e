import type { JsonObject } from "../../json/json.ts";
import type { CreateMessageParams } from "../../model/input.ts";
import type { Tool } from "../../model/tool.ts";
import type { Toolkit } from "../bridge.ts";
import type { Turn } from "../conversation.ts";
import { createToolkit } from "../create-toolkit.ts";
import { createOffers, type Offer } from "../offers.ts";
import type {
  OpenAiResponsesFormat,
  OpenAiResponsesItem,
  OpenAiResponsesRequest,
  OpenAiResponsesTool,
} from "./responses-format.ts";
import { toItems } from "./responses-items.ts";
import { responseCallsOf, toResponseAnswer } from "./responses-reply.ts";
import { loweringFor, maxTools, type OpenAiOptions } from "./schema.ts";

/** Tools for the Responses API of OpenAI. */
export function openaiResponses(tools: readonly Tool[], options: OpenAiOptions = {}): Toolkit<OpenAiResponsesFormat> {
  const { validate = true, strict = false, ...limits } = options;
  const offers = createOffers(tools, { maxTools, ...limits, lowering: loweringFor(strict) });
  const definitions = offers.list.map(toTool);
  const itemsOf = (turns: readonly Turn[]): OpenAiResponsesItem[] => toItems(turns, offers.aliasOf);
  return createToolkit({
    offers,
    validate,
    tools: definitions,
    request: (params, messages) => toRequest(params, definitions, messages),
    messagesOf: itemsOf,
    callsOf: responseCallsOf,
    toAnswer: toResponseAnswer,
  });
}

/** Here strict is what happens when nothing is said, so it is said either way. */
function toTool({ alias, description, lowered }: Offer<JsonObject>): OpenAiResponsesTool {
  return {
    type: "function",
    name: alias,
    description,
    parameters: { ...lowered.parameters },
    strict: lowered.isStrict,
  };
}

function toRequest(
  params: CreateMessageParams,
  tools: OpenAiResponsesTool[],
  input: OpenAiResponsesItem[],
): OpenAiResponsesRequest {
  const { maxTokens, systemPrompt, toolChoice } = params;
  return {
    input,
    max_output_tokens: maxTokens,
    ...(systemPrompt !== undefined && { instructions: systemPrompt }),
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && toolChoice?.mode !== undefined && { tool_choice: toolChoice.mode }),
  };
}
