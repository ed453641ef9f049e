/// <reference path="../../index.ts" preserve="true" />
import type { CreateMessageParams } from "../../protocol/input.ts";
import type { Tool } from "../../protocol/tool.ts";
import type { NameRule } from "../alias.ts";
import type { Toolkit, ToolkitOptions } from "../bridge.ts";
import { type Lowering, plainLowering } from "../lower/lower.ts";
import { createOffers, type Offer } from "../offers.ts";
import type { Turn } from "../read-call.ts";
import { createToolkit } from "../run-tool-calls.ts";
import type { AnthropicFormat, AnthropicInputSchema, AnthropicRequest, AnthropicTool } from "./format.ts";
import { rawCallsOf, toAnswer, toMessages } from "./messages.ts";

/*
 * What the Messages API asks for:
 *
 * names of tools        [a-zA-Z0-9_-]{1,128}; 64 in other places
 * names of arguments    [a-zA-Z0-9_.-]{1,64}, at the root only
 * input_schema          JSON Schema 2020-12 with `type: "object"`, and no oneOf, allOf or anyOf at the root
 * tool_result           before all else in its message; text and images in it, and is_error
 * images                JPEG, PNG, GIF, WebP; no sound
 * text                  more than space
 * thinking              goes back unchanged, before the call it led to
 */

const argumentNames: NameRule = { safe: /^[A-Za-z0-9_.-]{1,64}$/, unsafe: /[^A-Za-z0-9_.-]/g, maxLength: 64 };

const lowering: Lowering<AnthropicInputSchema> = (schema) => {
  const lowered = plainLowering({ portablePatterns: false, itemsRequired: false }, argumentNames)(schema);
  return lowered && { ...lowered, parameters: { ...lowered.parameters, type: "object" } as AnthropicInputSchema };
};

/** Tools for the Messages API of Anthropic. */
export function anthropic(tools: readonly Tool[], options: ToolkitOptions = {}): Toolkit<AnthropicFormat> {
  const { validate = true, ...limits } = options;
  const offers = createOffers(tools, { ...limits, lowering });
  const definitions = offers.list.map(toTool);
  const messagesOf = (turns: readonly Turn[]): AnthropicFormat["message"][] => toMessages(turns, offers.aliasOf);
  return createToolkit({
    offers,
    validate,
    tools: definitions,
    request: (params, messages) => toRequest(params, definitions, messages),
    messagesOf,
    callsOf: rawCallsOf,
    toAnswer,
  });
}

function toTool({ alias, description, lowered }: Offer<AnthropicInputSchema>): AnthropicTool {
  return { name: alias, description, input_schema: lowered.parameters };
}

function toRequest(
  params: CreateMessageParams,
  tools: AnthropicTool[],
  messages: AnthropicFormat["message"][],
): AnthropicRequest {
  const { maxTokens, systemPrompt, stopSequences, toolChoice } = params;
  return {
    max_tokens: maxTokens,
    messages,
    ...(systemPrompt !== undefined && { system: systemPrompt }),
    ...(stopSequences !== undefined && { stop_sequences: [...stopSequences] }),
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && toolChoice?.mode !== undefined && { tool_choice: choices[toolChoice.mode] }),
  };
}

const choices = { auto: { type: "auto" }, required: { type: "any" }, none: { type: "none" } } as const;

export type {
  FaultyCall,
  NamedResult,
  ReadyCall,
  SchemaNote,
  SkippedTool,
  ToolCall,
  Toolkit,
  ToolkitOptions,
} from "../bridge.ts";
export type * from "./format.ts";
