import type { ProviderFormat } from "../bridge.ts";

/** What the Responses API of OpenAI takes and gives, as far as tools and conversations need it. */
export interface OpenAiResponsesFormat extends ProviderFormat {
  readonly tools: OpenAiResponsesTool[];
  readonly message: OpenAiResponsesItem;
  readonly request: OpenAiResponsesRequest;
  readonly reply: OpenAiResponsesReply;
}

export interface OpenAiResponsesTool {
  readonly type: "function";
  readonly name: string;
  readonly description: string;
  readonly parameters: { [keyword: string]: unknown };
  readonly strict: boolean;
}

/** One item of the input. */
export type OpenAiResponsesItem =
  | { readonly role: "user"; readonly content: OpenAiResponsesPart[] }
  | { readonly role: "assistant"; readonly content: string }
  | OpenAiResponsesCall
  | { readonly type: "function_call_output"; readonly call_id: string; readonly output: string | OpenAiResponsesPart[] }
  | OpenAiResponsesReasoning;

export type OpenAiResponsesPart =
  | { readonly type: "input_text"; readonly text: string }
  | { readonly type: "input_image"; readonly detail: "auto"; readonly image_url: string };

export interface OpenAiResponsesCall {
  readonly type: "function_call";
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
  readonly id?: string;
}

/** Reasoning items are sent back unchanged. */
export interface OpenAiResponsesReasoning {
  readonly type: "reasoning";
  readonly id: string;
  readonly summary: { readonly type: "summary_text"; readonly text: string }[];
  readonly encrypted_content?: string | null;
}

/** Without `temperature`, which newer models reject, and without stop sequences, which this API lacks. */
export interface OpenAiResponsesRequest {
  readonly input: OpenAiResponsesItem[];
  readonly max_output_tokens: number;
  readonly instructions?: string;
  readonly tools?: OpenAiResponsesTool[];
  readonly tool_choice?: "auto" | "required" | "none";
}

/** A response. Only what is read of it is named. */
export interface OpenAiResponsesReply {
  readonly model: string;
  readonly output: readonly { readonly type: string }[];
  readonly status?: string;
  readonly incomplete_details?: { readonly reason?: string } | null;
  readonly error?: { readonly message: string } | null;
}
