import { asJson, isObject, type JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import type {
  CreateMessageParams,
  CreateMessageResult,
  SamplingContent,
  ToolResultContent,
  ToolUseContent,
} from "../../protocol/input.ts";
import type { Tool } from "../../protocol/tool.ts";
import type { Toolkit } from "../bridge.ts";
import type { Offer, Offers } from "../offers.ts";
import { answerOf, type RawCall, safeId, type Turn, toolUse } from "../read-call.ts";
import { describeMedia, type MediaPart, type Part, textOf, textPart, toParts } from "../result-parts.ts";
import { createToolkit } from "../run-tool-calls.ts";
import type {
  OpenAiChatCall,
  OpenAiChatFormat,
  OpenAiChatMessage,
  OpenAiChatPart,
  OpenAiChatReply,
  OpenAiChatRequest,
  OpenAiChatTool,
} from "./chat-format.ts";
import { audioFormat, errorText, imageUrl, type OpenAiOptions, offersOf } from "./media.ts";

/** Tools for the Chat Completions API of OpenAI, and for the many others that speak it. */
export function openaiChat(tools: readonly Tool[], options: OpenAiOptions = {}): Toolkit<OpenAiChatFormat> {
  const { validate = true, strict = false } = options;
  const offers = offersOf(tools, options);
  const definitions = offers.list.map((offer) => toTool(offer, strict));
  const messagesOf = (turns: readonly Turn[]): OpenAiChatMessage[] => toChatMessages(turns, offers.aliasOf);
  return createToolkit({
    offers,
    validate,
    tools: definitions,
    request: (params, messages) => toRequest(params, definitions, messages),
    messagesOf,
    callsOf: chatCallsOf,
    toAnswer: toChatAnswer,
  });
}

function toTool({ alias, description, lowered }: Offer<JsonObject>, strict: boolean): OpenAiChatTool {
  const { parameters, isStrict } = lowered;
  return {
    type: "function",
    function: { name: alias, description, parameters, ...(strict && { strict: isStrict }) },
  };
}

function toRequest(
  params: CreateMessageParams,
  tools: OpenAiChatTool[],
  messages: readonly OpenAiChatMessage[],
): OpenAiChatRequest {
  const { maxTokens, systemPrompt, stopSequences, toolChoice } = params;
  const system: readonly OpenAiChatMessage[] =
    systemPrompt === undefined ? [] : [{ role: "system", content: systemPrompt }];
  return {
    messages: [...system, ...messages],
    max_completion_tokens: maxTokens,
    ...(stopSequences !== undefined && { stop: [...stopSequences] }),
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && toolChoice?.mode !== undefined && { tool_choice: toolChoice.mode }),
  };
}

/** The calls in the first choice. */
function chatCallsOf({ choices }: OpenAiChatReply): readonly RawCall[] {
  const calls = choices[0]?.message.tool_calls ?? [];
  return calls
    .map(asJson)
    .flatMap(({ id, function: called }) => (isObject(called) ? [rawCall(String(id), called)] : []));
}

function rawCall(id: string, { name, arguments: input }: JsonObject): RawCall {
  return { id, alias: String(name), input };
}

/** The first choice as an answer. A refusal is its text. */
function toChatAnswer<P>(reply: OpenAiChatReply, offers: Offers<P>): CreateMessageResult {
  const [choice] = reply.choices;
  if (choice === undefined) throw new McpError("invalid-response", "the reply of the model has no choices");
  const { content, refusal } = choice.message;
  const said = [content, refusal].filter((text) => typeof text === "string" && text !== "");
  const blocks: readonly SamplingContent[] = [
    ...said.map((text) => ({ type: "text" as const, text: text ?? "" })),
    ...chatCallsOf(reply).map((raw) => toolUse(raw, offers)),
  ];
  const reason = choice.finish_reason ?? undefined;
  const isRefusal = typeof refusal === "string" && refusal !== "";
  const stopReason = isRefusal ? "refusal" : reason && (stopReasons.get(reason) ?? reason);
  return answerOf({ content: blocks, model: reply.model, stopReason });
}

const stopReasons: ReadonlyMap<string, string> = new Map([
  ["stop", "endTurn"],
  ["length", "maxTokens"],
  ["tool_calls", "toolUse"],
  ["function_call", "toolUse"],
]);

/**
 * A conversation for Chat Completions.
 *
 * A tool message holds text only. Images and audio in tool results follow all results of their turn in a user message
 * that names their tool.
 */
function toChatMessages(turns: readonly Turn[], aliasOf: (name: string) => string): OpenAiChatMessage[] {
  return turns.flatMap(({ role, content }) =>
    role === "user" ? userMessages(content) : assistantMessage(content, aliasOf),
  );
}

function userMessages(content: readonly SamplingContent[]): readonly OpenAiChatMessage[] {
  const results = content.flatMap((block) => (block.type === "tool_result" ? [shownResult(block)] : []));
  const attached = results.flatMap(({ media, message }) =>
    media.length === 0
      ? []
      : [{ type: "text", text: `From the result of ${message.tool_call_id}:` } as const, ...media],
  );
  const parts = [...attached, ...content.flatMap(userParts)];
  return [
    ...results.map(({ message }) => message),
    ...(parts.length === 0 ? [] : [{ role: "user" as const, content: parts }]),
  ];
}

interface ShownResult {
  readonly message: OpenAiChatMessage & { readonly role: "tool" };
  readonly media: readonly OpenAiChatPart[];
}

function shownResult(result: ToolResultContent): ShownResult {
  const parts = toParts(result);
  const media = parts.flatMap((part) => (part.kind === "text" ? [] : (mediaPart(part) ?? [])));
  const text = textOf(
    parts.map((part) => (part.kind !== "text" && mediaPart(part) ? textPart(`[${part.kind} below]`) : part)),
  );
  const tool_call_id = safeId(result.toolUseId, maxIdLength);
  return { message: { role: "tool", tool_call_id, content: errorText(text, result) }, media };
}

const maxIdLength = 40;

function userParts(block: SamplingContent): readonly OpenAiChatPart[] {
  if (block.type === "text") return [{ type: "text", text: block.text }];
  if (block.type !== "image" && block.type !== "audio") return [];
  const part: MediaPart = { kind: block.type, data: block.data, mimeType: block.mimeType };
  return [mediaPart(part) ?? { type: "text", text: describeMedia(part) }];
}

function mediaPart(part: MediaPart): OpenAiChatPart | undefined {
  const url = imageUrl(part);
  if (url !== undefined) return { type: "image_url", image_url: { url } };
  const format = audioFormat(part);
  return format && { type: "input_audio", input_audio: { data: part.data, format } };
}

function assistantMessage(
  content: readonly SamplingContent[],
  aliasOf: (name: string) => string,
): readonly OpenAiChatMessage[] {
  const calls = content.flatMap((block) => (block.type === "tool_use" ? [toCall(block, aliasOf)] : []));
  const said = textOf(content.flatMap(assistantParts));
  if (calls.length === 0) return said === "" ? [] : [{ role: "assistant", content: said }];
  return [{ role: "assistant", content: said === "" ? null : said, tool_calls: calls }];
}

function assistantParts(block: SamplingContent): readonly Part[] {
  if (block.type === "text") return [textPart(block.text)];
  return block.type === "image" || block.type === "audio" ? [{ ...block, kind: block.type }] : [];
}

function toCall({ id, name, input }: ToolUseContent, aliasOf: (name: string) => string): OpenAiChatCall {
  return {
    type: "function",
    id: safeId(id, maxIdLength),
    function: { name: aliasOf(name), arguments: JSON.stringify(input) },
  };
}
