import type { SamplingContent, ToolResultContent } from "../../model/input.ts";
import { namesOfResults, type Turn } from "../conversation.ts";
import { createKeepsakes, type Keepsakes } from "../keepsakes.ts";
import type { AiSdkFile, AiSdkMessage, AiSdkReasoning, AiSdkResult, AiSdkText, ProviderOptions } from "./format.ts";
import { toOutput } from "./tool.ts";

/** What belongs to a part of a reply: the thoughts before it, and what its provider wants back with it. */
export interface Traces {
  readonly before: readonly AiSdkReasoning[];
  readonly options?: ProviderOptions;
}

export const traces: Keepsakes<Traces> = createKeepsakes();

/** A conversation for the AI SDK. Results are messages of their own. */
export function toModelMessages(turns: readonly Turn[], aliasOf: (name: string) => string): AiSdkMessage[] {
  const names = namesOfResults(turns);
  const nameOf = (result: ToolResultContent): string => aliasOf(names.get(result) ?? result.toolUseId);
  return turns.flatMap(({ role, content }) =>
    role === "user" ? userMessages(content, nameOf) : assistantMessage(content, aliasOf),
  );
}

function userMessages(
  content: readonly SamplingContent[],
  nameOf: (result: ToolResultContent) => string,
): readonly AiSdkMessage[] {
  const results = content.flatMap((block) => (block.type === "tool_result" ? [toResult(block, nameOf(block))] : []));
  const parts = content.flatMap(plainParts);
  return [
    ...(results.length === 0 ? [] : [{ role: "tool" as const, content: results }]),
    ...(parts.length === 0 ? [] : [{ role: "user" as const, content: parts }]),
  ];
}

function toResult(result: ToolResultContent, toolName: string): AiSdkResult {
  return { type: "tool-result", toolCallId: result.toolUseId, toolName, output: toOutput(result) };
}

function assistantMessage(
  content: readonly SamplingContent[],
  aliasOf: (name: string) => string,
): readonly AiSdkMessage[] {
  const parts = content.flatMap((block): (AiSdkMessage & { role: "assistant" })["content"] => {
    const { before = [], options } = traces.find(block) ?? {};
    const extra = options === undefined ? {} : { providerOptions: options };
    if (block.type !== "tool_use") return [...before, ...plainParts(block).map((part) => ({ ...part, ...extra }))];
    const { id, name, input } = block;
    return [...before, { type: "tool-call", toolCallId: id, toolName: aliasOf(name), input, ...extra }];
  });
  return parts.length === 0 ? [] : [{ role: "assistant", content: parts }];
}

function plainParts(block: SamplingContent): readonly (AiSdkText | AiSdkFile)[] {
  if (block.type === "text") return block.text === "" ? [] : [{ type: "text", text: block.text }];
  if (block.type !== "image" && block.type !== "audio") return [];
  return [{ type: "file", data: block.data, mediaType: block.mimeType }];
}
