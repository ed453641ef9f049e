import type { JsonObject } from "../json/json.ts";
import type {
  CreateMessageParams,
  CreateMessageResult,
  SamplingMessage,
  ToolResultContent,
} from "../protocol/input.ts";

/** Tools in the words of one provider, and the way back. Plain data in and out; nothing is sent anywhere. */
export interface Toolkit<F extends ProviderFormat> {
  /** The definitions of the tools, in the order in which they were given. */
  readonly tools: F["tools"];
  /** Tools that the provider cannot take. Without them the others can be used. */
  readonly skipped: readonly SkippedTool[];
  /** What the provider is not told about the arguments of a tool. It is checked on the way back all the same. */
  readonly notes: readonly SchemaNote[];
  /** What to send to have the model answer, but for the name of the model. Tools in `params` are left aside. */
  request(params: CreateMessageParams): F["request"];
  /** A conversation, without its system prompt. */
  messages(messages: readonly SamplingMessage[]): F["message"][];
  /** What the model wants to have done, checked against the schemas that the servers gave. */
  calls(reply: F["reply"]): Promise<readonly ToolCall[]>;
  /** What came of the calls in one reply. Give all of them at once; a provider misses those that are left out. */
  results(results: readonly NamedResult[]): F["message"][];
  /**
   * The reply as the answer to a sampling request, or as the next message of a
   * conversation. Arguments are not checked. Throws `invalid-response` when there
   * is no reply in it, or when arguments are not even JSON.
   */
  reply(reply: F["reply"]): CreateMessageResult;
}

/** The types that differ between providers. */
export interface ProviderFormat {
  readonly tools: unknown;
  readonly message: unknown;
  readonly request: unknown;
  readonly reply: unknown;
}

export interface ToolkitOptions {
  /** Whether {@link Toolkit.calls} checks arguments against the schema of the tool. Default true. */
  readonly validate?: boolean | undefined;
  /** Longer descriptions of tools are cut, which is noted. Default: as long as they are. */
  readonly maxDescriptionLength?: number | undefined;
  /** Further tools are skipped. Default: what the provider allows. */
  readonly maxTools?: number | undefined;
}

export interface SkippedTool {
  readonly name: string;
  /** Why it cannot be offered, for people. */
  readonly reason: string;
}

/** One thing that a provider is told less exactly, or not at all. */
export interface SchemaNote {
  readonly tool: string;
  /** JSON Pointer into the input schema of the tool: where the keyword stands. */
  readonly pointer: string;
  readonly keyword: string;
  readonly message: string;
}

/** A call that can be made, or one with which something is wrong. `problem` tells them apart. */
export type ToolCall = ReadyCall | FaultyCall;

export interface ReadyCall {
  /** Of the provider; made here where it gives none. */
  readonly id: string;
  /** The name that the server gave the tool. */
  readonly name: string;
  readonly input: JsonObject;
  readonly problem?: undefined;
}

export interface FaultyCall {
  readonly id: string;
  /** As the model wrote it when there is no such tool. */
  readonly name: string;
  readonly input?: undefined;
  /** For the model to read and mend: what is wrong, where, and by which keyword. */
  readonly problem: string;
}

/** The result of a call, with the name of the tool, which some providers want to hear again. */
export interface NamedResult extends ToolResultContent {
  readonly name: string;
}
