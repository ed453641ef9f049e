import type { SamplingContent, ToolResultContent, ToolUseContent } from "../../model/input.ts";
import { safeId, type Turn } from "../conversation.ts";
import { describeMedia, type MediaPart, type Part, textOf, textPart, toParts } from "../result-parts.ts";
import type { OpenAiChatCall, OpenAiChatMessage, OpenAiChatPart } from "./chat-format.ts";
import { errorText } from "./error-text.ts";
import { audioFormat, imageUrl } from "./media.ts";

/**
 * A conversation for Chat Completions.
 *
 * A tool message holds text only. Pictures and sounds that tools gave follow all
 * results of their turn in a user message, which says what they belong to.
 */
export function toChatMessages(turns: readonly Turn[], aliasOf: (name: string) => string): OpenAiChatMessage[] {
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
