import type { SamplingContent, ToolResultContent } from "../../model/input.ts";
import { safeId, type Turn } from "../conversation.ts";
import { createKeepsakes, type Keepsakes } from "../keepsakes.ts";
import { describeMedia, type MediaPart, type Part, toParts } from "../result-parts.ts";
import type {
  AnthropicAssistantBlock,
  AnthropicImage,
  AnthropicImageType,
  AnthropicMessage,
  AnthropicText,
  AnthropicThought,
  AnthropicToolResult,
  AnthropicUserBlock,
} from "./format.ts";

/** The thoughts that came before a block. They have to be there when it goes back. */
export const thoughts: Keepsakes<readonly AnthropicThought[]> = createKeepsakes();

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

/** The API wants to hear of results before anything else. */
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
