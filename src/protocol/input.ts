import type { Json, JsonObject } from "../json/json.ts";
import { type AudioContent, type Content, type ImageContent, isRole, type Role, type TextContent } from "./content.ts";
import type { Tool } from "./tool.ts";

/** Asks the user to fill a form. */
export interface ElicitFormParams {
  readonly mode?: "form";
  readonly message: string;
  /** A flat object of primitive fields. */
  readonly requestedSchema: JsonObject;
}

/** Asks the user to open a page. `accept` means consent, not completion. */
export interface ElicitUrlParams {
  readonly mode: "url";
  readonly message: string;
  readonly url: string;
  /** Legacy only; made by the codec when absent. */
  readonly elicitationId?: string;
}

export type ElicitParams = ElicitFormParams | ElicitUrlParams;

export interface ElicitResult {
  readonly action: "accept" | "decline" | "cancel";
  /** Only with `accept`, and only for forms. */
  readonly content?: JsonObject;
  readonly _meta?: JsonObject;
}

export interface ToolUseContent {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  readonly _meta?: JsonObject;
}

export interface ToolResultContent {
  readonly type: "tool_result";
  readonly toolUseId: string;
  readonly content: readonly Content[];
  readonly structuredContent?: Json;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
}

export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent;

export interface SamplingMessage {
  readonly role: Role;
  readonly content: SamplingContent | readonly SamplingContent[];
  readonly _meta?: JsonObject;
}

/** What is wrong with the roles of messages, naming the member, or undefined. */
export function roleProblem(messages: readonly SamplingMessage[]): string | undefined {
  const index = messages.findIndex(({ role }) => !isRole(role));
  if (index < 0) return undefined;
  const given = JSON.stringify(messages[index]?.role);
  return `messages[${index}].role must be user or assistant, not ${given}; instructions go in systemPrompt`;
}

export interface ModelPreferences {
  readonly hints?: readonly { readonly name?: string }[];
  readonly costPriority?: number;
  readonly speedPriority?: number;
  readonly intelligencePriority?: number;
}

export interface ToolChoice {
  readonly mode?: "auto" | "required" | "none";
}

/** Asks the model of the host for a completion. */
export interface CreateMessageParams {
  readonly messages: readonly SamplingMessage[];
  readonly maxTokens: number;
  readonly modelPreferences?: ModelPreferences;
  readonly systemPrompt?: string;
  readonly includeContext?: "none" | "thisServer" | "allServers";
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  readonly metadata?: JsonObject;
  readonly tools?: readonly Tool[];
  readonly toolChoice?: ToolChoice;
}

export interface CreateMessageResult {
  readonly role: Role;
  readonly content: SamplingContent | readonly SamplingContent[];
  readonly model: string;
  /** `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or another text of the provider. */
  readonly stopReason?: string;
  readonly _meta?: JsonObject;
}

/** A folder that the client lets the server access. */
export interface Root {
  /** Starts with `file://`. */
  readonly uri: string;
  readonly name?: string;
  readonly _meta?: JsonObject;
}

export interface ListRootsResult {
  readonly roots: readonly Root[];
  readonly _meta?: JsonObject;
}

/** What a server may ask of the client, with the shape of the answer. */
export interface Questions {
  "elicitation/create": { params: ElicitParams; answer: ElicitResult };
  "sampling/createMessage": { params: CreateMessageParams; answer: CreateMessageResult };
  "roots/list": { params: JsonObject; answer: ListRootsResult };
}

export type QuestionMethod = keyof Questions;

/** One question. `switch (question.method)` narrows `params`. */
export type Question = {
  [Q in QuestionMethod]: { readonly method: Q; readonly params: Questions[Q]["params"] };
}[QuestionMethod];

/** The answer to a question, as the client sent it: not yet checked. */
export type QuestionAnswer = JsonObject;
