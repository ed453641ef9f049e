import type { JsonObject } from "../../json/json.ts";
import type { ProviderFormat } from "../bridge.ts";

/** What the API of Gemini takes and gives, as far as tools and conversations need it. */
export interface GeminiFormat extends ProviderFormat {
  readonly tools: GeminiFunction[];
  readonly message: GeminiContent;
  readonly request: GeminiRequest;
  readonly reply: GeminiReply;
}

/** A function declaration. All of them are one tool: `{ functionDeclarations: kit.tools }`. */
export interface GeminiFunction {
  readonly name: string;
  readonly description: string;
  /** An {@link OpenApiSchema}; absent when there are no arguments. The SDK of Google has classes of its own for it. */
  readonly parameters?: object;
  readonly parametersJsonSchema?: JsonObject;
}

export interface GeminiContent {
  readonly role: "user" | "model";
  readonly parts: GeminiPart[];
}

export interface GeminiPart {
  readonly text?: string;
  readonly inlineData?: { readonly mimeType: string; readonly data: string };
  readonly functionCall?: { readonly name: string; readonly args: Record<string, unknown>; readonly id?: string };
  readonly functionResponse?: {
    readonly name: string;
    readonly response: Record<string, unknown>;
    readonly id?: string;
  };
  readonly thoughtSignature?: string;
}

/** For `generateContent`. */
export interface GeminiRequest {
  readonly contents: GeminiContent[];
  readonly config: {
    readonly maxOutputTokens: number;
    readonly systemInstruction?: string;
    readonly temperature?: number;
    readonly stopSequences?: string[];
    readonly tools?: { readonly functionDeclarations: GeminiFunction[] }[];
    /** Says whether functions may or must be called. */
    readonly toolConfig?: object;
  };
}

/** A response. Only what is read of it is named. */
export interface GeminiReply {
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly object[] };
    readonly finishReason?: string;
  }[];
  readonly modelVersion?: string;
  readonly responseId?: string;
  readonly promptFeedback?: { readonly blockReason?: string };
}
