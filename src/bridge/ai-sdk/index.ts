/// <reference path="../../index.ts" preserve="true" />
import type { JsonObject } from "../../json/json.ts";
import type { CreateMessageParams } from "../../protocol/input.ts";
import type { Tool } from "../../protocol/tool.ts";
import type { NameRule } from "../alias.ts";
import type { Toolkit, ToolkitOptions } from "../bridge.ts";
import { type Lowering, plainLowering } from "../lower/lower.ts";
import { createOffers } from "../offers.ts";
import { readCall, type Turn } from "../read-call.ts";
import { createToolkit } from "../run-tool-calls.ts";
import type { AiSdkFormat, AiSdkMessage, AiSdkRequest, AiSdkTool } from "./format.ts";
import { aiSdkCallsOf, toAiSdkAnswer, toModelMessages } from "./messages.ts";
import { type AiSdkRunTool, toTool } from "./tool.ts";

/*
 * What the AI SDK asks for, in versions 6 and 7:
 *
 * tools            a record by name; `inputSchema` marked by Symbol.for("vercel.ai.schema"), with `jsonSchema` and `validate`
 * schemas          as the provider behind it takes them; so no composition at the root, items for arrays, patterns that are portable
 * execute          gets what `validate` gave; what it returns reaches the model by `toModelOutput`
 * results          text, error-text, or content with image-data and file-data
 */

export interface AiSdkOptions extends ToolkitOptions {
  /** Runs a tool, so that the AI SDK can. Without it, calls are left to you. */
  readonly run?: AiSdkRunTool | undefined;
}

const argumentNames: NameRule = { safe: /^[A-Za-z_][A-Za-z0-9_]{0,63}$/, unsafe: /[^A-Za-z0-9_]/g, maxLength: 64 };

const toolNames: NameRule = { safe: /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, unsafe: /[^A-Za-z0-9_-]/g, maxLength: 64 };

const lowering: Lowering<JsonObject> = plainLowering({ portablePatterns: true, itemsRequired: true }, argumentNames);

/** Tools for `generateText`, `streamText` and agents of the AI SDK. */
export function aiSdk(tools: readonly Tool[], options: AiSdkOptions = {}): Toolkit<AiSdkFormat> {
  const { validate = true, run, ...limits } = options;
  const offers = createOffers(tools, { ...limits, lowering, names: toolNames });
  const definitions = Object.fromEntries(
    offers.list.map((offer) => {
      const { alias } = offer;
      return [alias, toTool(offer, (input) => readCall({ id: "", alias, input }, offers, validate), run)];
    }),
  );
  const messagesOf = (turns: readonly Turn[]): AiSdkMessage[] => toModelMessages(turns, offers.aliasOf);
  return createToolkit({
    offers,
    validate,
    tools: definitions,
    request: (params, messages) => toRequest(params, definitions, messages),
    messagesOf,
    callsOf: aiSdkCallsOf,
    toAnswer: toAiSdkAnswer,
  });
}

function toRequest(
  params: CreateMessageParams,
  tools: Record<string, AiSdkTool>,
  messages: AiSdkMessage[],
): AiSdkRequest {
  const { maxTokens, systemPrompt, temperature, stopSequences, toolChoice } = params;
  const hasTools = Object.keys(tools).length > 0;
  return {
    messages,
    maxOutputTokens: maxTokens,
    ...(systemPrompt !== undefined && { system: systemPrompt }),
    ...(temperature !== undefined && { temperature }),
    ...(stopSequences !== undefined && { stopSequences: [...stopSequences] }),
    ...(hasTools && { tools }),
    ...(hasTools && toolChoice?.mode !== undefined && { toolChoice: toolChoice.mode }),
  };
}

export type { StandardConverter, StandardIssue, StandardResult, StandardSchema } from "../../schema/standard-schema.ts";
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
export type { AiSdkRunTool } from "./tool.ts";
