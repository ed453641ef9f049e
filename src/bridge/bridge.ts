import type { JsonObject } from "../json/json.ts";
import type {
  CreateMessageParams,
  CreateMessageResult,
  SamplingMessage,
  ToolResultContent,
} from "../protocol/input.ts";

/**
 * Converts tools, messages and calls to the format of one provider, and back. Plain data in and out; it sends nothing.
 */
export interface Toolkit<F extends ProviderFormat> {
  /** The definitions of the tools, in the order in which they were given. */
  readonly tools: F["tools"];
  /** Tools that the provider does not accept. The other tools can be used without them. */
  readonly skipped: readonly SkippedTool[];
  /** Input constraints that the definitions for the provider leave out. Arguments are still validated against them. */
  readonly notes: readonly SchemaNote[];
  /** The request that makes the model answer, without the name of the model. Tools in `params` are ignored. */
  request(params: CreateMessageParams): F["request"];
  /** A conversation, without its system prompt. */
  messages(messages: readonly SamplingMessage[]): F["message"][];
  /** The calls in a reply, validated against the input schemas of the servers. */
  calls(reply: F["reply"]): Promise<readonly ToolCall[]>;
  /** The results of the calls in one reply. Pass all of them at once: a provider rejects a missing result. */
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

/** A schema keyword that the definition for the provider approximates or leaves out. */
export interface SchemaNote {
  readonly tool: string;
  /** JSON Pointer into the input schema of the tool: where the keyword stands. */
  readonly pointer: string;
  readonly keyword: string;
  readonly message: string;
}

/** A call that can be made, or one that is invalid: only the latter has `problem`. */
export type ToolCall = ReadyCall | FaultyCall;

export interface ReadyCall {
  /** The provider's id of the call, or a generated one when the provider sends none. */
  readonly id: string;
  /** The name of the tool at its server. */
  readonly name: string;
  readonly input: JsonObject;
  readonly problem?: undefined;
}

export interface FaultyCall {
  readonly id: string;
  /** As the model wrote it when there is no such tool. */
  readonly name: string;
  readonly input?: undefined;
  /** A message for the model that says what is wrong, where, and by which keyword. */
  readonly problem: string;
}

/** The result of a call, with the name of its tool, which some providers require. */
export interface NamedResult extends ToolResultContent {
  readonly name: string;
}
