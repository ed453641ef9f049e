/// <reference path="../../index.ts" preserve="true" />
import type { CreateMessageParams } from "../../protocol/input.ts";
import type { Tool } from "../../protocol/tool.ts";
import type { NameRule } from "../alias.ts";
import type { Toolkit, ToolkitOptions } from "../bridge.ts";
import { jsonSchemaLowering, type Lowering, openApiLowering } from "../lower/lower.ts";
import { createOffers, type Offer } from "../offers.ts";
import type { Turn } from "../read-call.ts";
import { createToolkit } from "../run-tool-calls.ts";
import { geminiCallsOf, toContents, toGeminiAnswer } from "./contents.ts";
import type { GeminiContent, GeminiFormat, GeminiFunction, GeminiRequest } from "./format.ts";

/*
 * What the API of Gemini asks for:
 *
 * names of functions    a letter or underscore first, then [a-zA-Z0-9_.-]; 64 characters
 * names of parameters   a letter or underscore first, then [a-zA-Z0-9_]; 64 characters
 * parameters            one type for each schema, or anyOf and nothing beside it; `nullable` instead of the type null;
 *                       lists of texts only, none of them empty; `date-time` as the only format of texts; arrays with items;
 *                       only declared properties required; no references, no additionalProperties; absent without arguments
 * parametersJsonSchema  types, format, enum of texts and numbers, items, prefixItems, anyOf, properties,
 *                       additionalProperties, required, minimum, maximum, minItems, maxItems; a cycle only where it is optional
 * ids of calls          optional
 * thoughtSignature      goes back unchanged, with the call it came with
 */

export interface GeminiOptions extends ToolkitOptions {
  /**
   * The format of parameters: the OpenAPI schema that all versions of the API accept, or the part of JSON Schema that
   * newer versions accept. Default `openapi`.
   */
  readonly schema?: "openapi" | "json-schema" | undefined;
  /**
   * Has Gemini accept calls of which no signature is known, such as those of
   * another provider, or of a conversation that was stored. Default false.
   */
  readonly skipSignatures?: boolean | undefined;
}

const functionNames: NameRule = { safe: /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, unsafe: /[^A-Za-z0-9_-]/g, maxLength: 64 };

const parameterNames: NameRule = { safe: /^[A-Za-z_][A-Za-z0-9_]{0,63}$/, unsafe: /[^A-Za-z0-9_]/g, maxLength: 64 };

const maxTools = 512;

/** The value that makes Gemini accept a call without a signature. */
const noSignature = "skip_thought_signature_validator";

const lowerings: Readonly<Record<"openapi" | "json-schema", Lowering<object>>> = {
  openapi: openApiLowering(parameterNames),
  "json-schema": jsonSchemaLowering(parameterNames),
};

/** Tools for the API of Gemini. */
export function gemini(tools: readonly Tool[], options: GeminiOptions = {}): Toolkit<GeminiFormat> {
  const { validate = true, schema = "openapi", skipSignatures = false, ...limits } = options;
  const offers = createOffers(tools, {
    ...limits,
    maxTools: limits.maxTools ?? maxTools,
    lowering: lowerings[schema],
    names: functionNames,
  });
  const declarations = offers.list.map((offer) => toFunction(offer, schema));
  const contentsOf = (turns: readonly Turn[]): GeminiContent[] =>
    toContents(turns, { aliasOf: offers.aliasOf, ...(skipSignatures && { unsigned: noSignature }) });
  return createToolkit({
    offers,
    validate,
    tools: declarations,
    request: (params, messages) => toRequest(params, declarations, messages),
    messagesOf: contentsOf,
    callsOf: geminiCallsOf,
    toAnswer: toGeminiAnswer,
  });
}

function toFunction({ alias, description, lowered }: Offer<object>, schema: "openapi" | "json-schema"): GeminiFunction {
  const { parameters, hasProperties } = lowered;
  if (schema === "json-schema") return { name: alias, description, parametersJsonSchema: { ...parameters } };
  return { name: alias, description, ...(hasProperties && { parameters }) };
}

function toRequest(params: CreateMessageParams, tools: GeminiFunction[], contents: GeminiContent[]): GeminiRequest {
  const { maxTokens, systemPrompt, temperature, stopSequences, toolChoice } = params;
  const mode = toolChoice?.mode;
  return {
    contents,
    config: {
      maxOutputTokens: maxTokens,
      ...(systemPrompt !== undefined && { systemInstruction: systemPrompt }),
      ...(temperature !== undefined && { temperature }),
      ...(stopSequences !== undefined && { stopSequences: [...stopSequences] }),
      ...(tools.length > 0 && { tools: [{ functionDeclarations: tools }] }),
      ...(tools.length > 0 && mode !== undefined && { toolConfig: { functionCallingConfig: { mode: modes[mode] } } }),
    },
  };
}

const modes = { auto: "AUTO", required: "ANY", none: "NONE" } as const;

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
export type { OpenApiSchema } from "../lower/emit-openapi.ts";
export type * from "./format.ts";
