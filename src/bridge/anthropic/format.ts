import type { Json, JsonObject } from "../../json/json.ts";
import type { ProviderFormat } from "../bridge.ts";

/** What the Messages API of Anthropic takes and gives, as far as tools and conversations need it. */
export interface AnthropicFormat extends ProviderFormat {
  readonly tools: AnthropicTool[];
  readonly message: AnthropicMessage;
  readonly request: AnthropicRequest;
  readonly reply: AnthropicReply;
}

export interface AnthropicTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: AnthropicInputSchema;
}

export interface AnthropicInputSchema {
  readonly type: "object";
  readonly properties?: JsonObject;
  readonly required?: string[];
  readonly [keyword: string]: Json | undefined;
}

export type AnthropicMessage =
  | { readonly role: "user"; readonly content: AnthropicUserBlock[] }
  | { readonly role: "assistant"; readonly content: AnthropicAssistantBlock[] };

export type AnthropicUserBlock = AnthropicText | AnthropicImage | AnthropicToolResult;

export type AnthropicAssistantBlock = AnthropicText | AnthropicToolUse | AnthropicThought;

export interface AnthropicText {
  readonly type: "text";
  readonly text: string;
}

export interface AnthropicImage {
  readonly type: "image";
  readonly source: { readonly type: "base64"; readonly media_type: AnthropicImageType; readonly data: string };
}

export type AnthropicImageType = "image/jpeg" | "image/png" | "image/gif" | "image/webp";

export interface AnthropicToolUse {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
}

export interface AnthropicToolResult {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content?: (AnthropicText | AnthropicImage)[];
  readonly is_error?: boolean;
}

/** Thinking blocks are sent back unchanged. */
export type AnthropicThought =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string };

/** Without `temperature`, which newer models reject. */
export interface AnthropicRequest {
  readonly max_tokens: number;
  readonly messages: AnthropicMessage[];
  readonly system?: string;
  readonly stop_sequences?: string[];
  readonly tools?: AnthropicTool[];
  readonly tool_choice?: { readonly type: "auto" | "any" | "none" };
}

/** A message of the model. Only the members that are read are declared. */
export interface AnthropicReply {
  readonly model: string;
  readonly content: readonly { readonly type: string }[];
  readonly stop_reason: string | null;
}
