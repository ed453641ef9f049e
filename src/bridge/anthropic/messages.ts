import { asJson, isObject, type JsonObject } from "../../json/json.ts";
import type { CreateMessageResult, SamplingContent, ToolResultContent } from "../../protocol/input.ts";
import { createProviderMetadata, type Offers, type ProviderMetadata } from "../offers.ts";
import { answerOf, type RawCall, safeId, type Turn, toolUse } from "../read-call.ts";
import { describeMedia, type MediaPart, type Part, toParts } from "../result-parts.ts";
import type {
  AnthropicAssistantBlock,
  AnthropicImage,
  AnthropicImageType,
  AnthropicMessage,
  AnthropicReply,
  AnthropicText,
  AnthropicThought,
  AnthropicToolResult,
  AnthropicUserBlock,
} from "./format.ts";

/** The thinking blocks before a block. The API requires them when the block is sent back. */
const thoughts: ProviderMetadata<readonly AnthropicThought[]> = createProviderMetadata();

/** A conversation for the Messages API. Messages of which nothing can be shown are left out. */
export function toMessages(turns: readonly Turn[], aliasOf: (name: string) => string): AnthropicMessage[] {
  return turns
    .map(
      ({ role, content }): AnthropicMessage =>
        role === "user"
          ? { role, content: resultsFirst(content.flatMap(toUserBlocks)) }
          : { role, content: content.flatMap((block) => toAssistantBlocks(block, aliasOf)) },
    )
    .filter(({ content }) => content.length > 0);
}

/** The API requires tool results before any other content of a message. */
function resultsFirst(blocks: readonly AnthropicUserBlock[]): AnthropicUserBlock[] {
  const isResult = (block: AnthropicUserBlock): boolean => block.type === "tool_result";
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))];
}

function toUserBlocks(block: SamplingContent): readonly AnthropicUserBlock[] {
  switch (block.type) {
    case "text":
      return texts(block.text);
    case "image":
    case "audio":
      return media({ kind: block.type, data: block.data, mimeType: block.mimeType });
    case "tool_result":
      return [toToolResult(block)];
    case "tool_use":
      return [];
  }
}

function toToolResult(result: ToolResultContent): AnthropicToolResult {
  const content = toParts(result).flatMap(toBlocks);
  return {
    type: "tool_result",
    tool_use_id: safeId(result.toolUseId, maxIdLength),
    ...(content.length > 0 && { content }),
    ...(result.isError === true && { is_error: true }),
  };
}

const maxIdLength = 128;

function toAssistantBlocks(
  block: SamplingContent,
  aliasOf: (name: string) => string,
): readonly AnthropicAssistantBlock[] {
  const before = thoughts.find(block) ?? [];
  switch (block.type) {
    case "text":
      return [...before, ...texts(block.text)];
    case "tool_use": {
      const { id, name, input } = block;
      return [...before, { type: "tool_use", id: safeId(id, maxIdLength), name: aliasOf(name), input }];
    }
    case "image":
    case "audio":
      return texts(describeMedia({ kind: block.type, data: block.data, mimeType: block.mimeType }));
    case "tool_result":
      return [];
  }
}

function toBlocks(part: Part): readonly (AnthropicText | AnthropicImage)[] {
  return part.kind === "text" ? texts(part.text) : media(part);
}

/** Text of nothing but space is refused by the API. */
function texts(text: string): readonly AnthropicText[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

function media(part: MediaPart): readonly (AnthropicText | AnthropicImage)[] {
  const { mimeType, data } = part;
  if (!isImageType(mimeType)) return texts(describeMedia(part));
  return [{ type: "image", source: { type: "base64", media_type: mimeType, data } }];
}

function isImageType(type: string): type is AnthropicImageType {
  return ["image/jpeg", "image/png", "image/gif", "image/webp"].includes(type);
}

/** The tool calls in a reply, without those of tools that run at Anthropic. */
export function rawCallsOf(reply: AnthropicReply): readonly RawCall[] {
  return blocksOf(reply).flatMap((block) => (block.type === "tool_use" ? [rawCall(block)] : []));
}

/** A reply as an answer. */
export function toAnswer<P>(reply: AnthropicReply, offers: Offers<P>): CreateMessageResult {
  const content: SamplingContent[] = [];
  let before: readonly AnthropicThought[] = [];
  for (const block of blocksOf(reply)) {
    const thought = thoughtOf(block);
    if (thought !== undefined) before = [...before, thought];
    const said = contentOf(block, offers);
    if (said === undefined) continue;
    content.push(before.length === 0 ? said : thoughts.save(said, before));
    before = [];
  }
  const { stop_reason: reason, model } = reply;
  return answerOf({ content, model, stopReason: reason === null ? undefined : (stopReasons.get(reason) ?? reason) });
}

const stopReasons: ReadonlyMap<string, string> = new Map([
  ["end_turn", "endTurn"],
  ["stop_sequence", "stopSequence"],
  ["max_tokens", "maxTokens"],
  ["tool_use", "toolUse"],
]);

function blocksOf({ content }: AnthropicReply): readonly JsonObject[] {
  return content.map(asJson).filter(isObject);
}

function rawCall({ id, name, input }: JsonObject): RawCall {
  return { id: String(id), alias: String(name), input };
}

function contentOf<P>(block: JsonObject, offers: Offers<P>): SamplingContent | undefined {
  if (block.type === "tool_use") return toolUse(rawCall(block), offers);
  return block.type === "text" && typeof block.text === "string" ? { type: "text", text: block.text } : undefined;
}

function thoughtOf({ type, thinking, signature, data }: JsonObject): AnthropicThought | undefined {
  if (type === "thinking") return { type, thinking: String(thinking), signature: String(signature) };
  return type === "redacted_thinking" ? { type, data: String(data) } : undefined;
}
