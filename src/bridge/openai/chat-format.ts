import type { JsonObject } from "../../json/json.ts";
import type { ProviderFormat } from "../bridge.ts";

/** What the Chat Completions API of OpenAI takes and gives, as far as tools and conversations need it. */
export interface OpenAiChatFormat extends ProviderFormat {
  readonly tools: OpenAiChatTool[];
  readonly message: OpenAiChatMessage;
  readonly request: OpenAiChatRequest;
  readonly reply: OpenAiChatReply;
}

export interface OpenAiChatTool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: JsonObject;
    readonly strict?: boolean;
  };
}

export type OpenAiChatMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: OpenAiChatPart[] }
  | {
      readonly role: "assistant";
      readonly content: string | null;
      readonly tool_calls?: OpenAiChatCall[];
    }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string };

export type OpenAiChatPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } }
  | { readonly type: "input_audio"; readonly input_audio: { readonly data: string; readonly format: "wav" | "mp3" } };

export interface OpenAiChatCall {
  readonly type: "function";
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** Temperature is not in it: newer models refuse it. */
export interface OpenAiChatRequest {
  readonly messages: OpenAiChatMessage[];
  readonly max_completion_tokens: number;
  readonly stop?: string[];
  readonly tools?: OpenAiChatTool[];
  readonly tool_choice?: "auto" | "required" | "none";
}

/** A completion. Only what is read of it is named. */
export interface OpenAiChatReply {
  readonly model: string;
  readonly choices: readonly {
    readonly finish_reason: string | null;
    readonly message: {
      readonly content?: string | null;
      readonly refusal?: string | null;
      readonly tool_calls?: readonly { readonly id: string; readonly type: string }[] | null;
    };
  }[];
}
