import type { JsonObject } from "../../json/json.ts";
import type { CallToolResult } from "../../protocol/tool.ts";
import type { StandardConverter, StandardSchema } from "../../schema/standard-schema.ts";
import type { ProviderFormat } from "../bridge.ts";

/** What the AI SDK takes and gives, as far as tools and conversations need it. */
export interface AiSdkFormat extends ProviderFormat {
  readonly tools: Record<string, AiSdkTool>;
  readonly message: AiSdkMessage;
  readonly request: AiSdkRequest;
  readonly reply: AiSdkReply;
}

export interface AiSdkTool {
  readonly description: string;
  readonly title?: string;
  /** Converts arguments to the form of the tool's input schema, and validates them. */
  readonly inputSchema: AiSdkSchema;
  /** Present when the toolkit was created with `run`. */
  readonly execute?: (input: JsonObject, options: AiSdkRun) => Promise<CallToolResult>;
  /** Converts the output of the tool to content for the model. */
  readonly toModelOutput: (options: { readonly output: CallToolResult }) => AiSdkOutput;
}

/** A Standard Schema that knows its JSON Schema. */
export interface AiSdkSchema {
  readonly "~standard": StandardSchema<JsonObject>["~standard"] & { readonly jsonSchema: StandardConverter };
}

export interface AiSdkRun {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal | undefined;
}

export type AiSdkOutput =
  | { type: "text"; value: string }
  | { type: "error-text"; value: string }
  | { type: "content"; value: AiSdkOutputPart[] };

export type AiSdkOutputPart =
  | { type: "text"; text: string }
  | { type: "image-data"; data: string; mediaType: string }
  | { type: "file-data"; data: string; mediaType: string };

export type AiSdkMessage =
  | { role: "user"; content: (AiSdkText | AiSdkFile)[] }
  | { role: "assistant"; content: (AiSdkText | AiSdkFile | AiSdkReasoning | AiSdkCall)[] }
  | { role: "tool"; content: AiSdkResult[] };

export interface AiSdkText {
  type: "text";
  text: string;
}

export interface AiSdkFile {
  type: "file";
  data: string;
  mediaType: string;
}

/** Reasoning parts are sent back unchanged. */
export interface AiSdkReasoning {
  type: "reasoning";
  text: string;
  providerOptions?: ProviderOptions;
}

export interface AiSdkCall {
  type: "tool-call";
  toolCallId: string;
  toolName: string;
  input: unknown;
  providerOptions?: ProviderOptions;
}

export interface AiSdkResult {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output: AiSdkOutput;
}

/** Metadata that a provider needs back with a part of a message. */
export type ProviderOptions = Record<string, { [key: string]: ProviderValue }>;

type ProviderValue = null | string | number | boolean | { [key: string]: ProviderValue | undefined } | ProviderValue[];

/** For `generateText` and `streamText`. */
export interface AiSdkRequest {
  readonly messages: AiSdkMessage[];
  readonly maxOutputTokens: number;
  readonly system?: string;
  readonly temperature?: number;
  readonly stopSequences?: string[];
  readonly tools?: Record<string, AiSdkTool>;
  readonly toolChoice?: "auto" | "required" | "none";
}

/** The result of `generateText`, or of one of its steps. Only the members that are read are declared. */
export interface AiSdkReply {
  readonly content: readonly { readonly type: string }[];
  readonly finishReason?: string;
  readonly response?: { readonly modelId?: string };
}
