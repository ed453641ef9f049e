import type { SamplingContent, ToolResultContent, ToolUseContent } from "../../model/input.ts";
import { namesOfResults, type Turn } from "../conversation.ts";
import { createKeepsakes, type Keepsakes } from "../keepsakes.ts";
import { type MediaPart, type Part, textOf, textPart, toParts } from "../result-parts.ts";
import { isMadeId } from "./call-id.ts";
import type { GeminiContent, GeminiPart } from "./format.ts";

/** The signature of the thoughts that led to a part. Newer models refuse a call without its signature. */
export const signatures: Keepsakes<string> = createKeepsakes();

export interface ContentsOptions {
  aliasOf(name: string): string;
  /** What to send for the first call of a turn whose signature is not known. */
  readonly unsigned?: string;
}

/** A conversation for Gemini. Pictures and sounds that tools gave follow the results of their turn. */
export function toContents(turns: readonly Turn[], options: ContentsOptions): GeminiContent[] {
  const names = namesOfResults(turns);
  return turns
    .map(
      ({ role, content }): GeminiContent =>
        role === "user"
          ? { role, parts: userParts(content, (result) => options.aliasOf(names.get(result) ?? result.toolUseId)) }
          : { role: "model", parts: modelParts(content, options) },
    )
    .filter(({ parts }) => parts.length > 0);
}

function userParts(content: readonly SamplingContent[], aliasOf: (result: ToolResultContent) => string): GeminiPart[] {
  const results = content.flatMap((block) => (block.type === "tool_result" ? [block] : []));
  const media = results.flatMap((result) => toParts(result).flatMap((part) => (part.kind === "text" ? [] : [part])));
  return [
    ...results.map((result) => responsePart(result, aliasOf(result))),
    ...media.map(inlinePart),
    ...content.flatMap((block) => plainParts(block)),
  ];
}

function responsePart(result: ToolResultContent, name: string): GeminiPart {
  const text = textOf(toParts(result).map(mentioned));
  const response = result.isError === true ? { error: text } : { output: text };
  return { functionResponse: { name, response, ...givenId(result.toolUseId) } };
}

function mentioned(part: Part): Part {
  return part.kind === "text" ? part : textPart(`[${part.kind} below]`);
}

/** Ids that were made here mean nothing to Gemini. */
function givenId(id: string): { readonly id?: string } {
  return isMadeId(id) ? {} : { id };
}

function modelParts(content: readonly SamplingContent[], options: ContentsOptions): GeminiPart[] {
  const first = content.find(({ type }) => type === "tool_use");
  return content.flatMap((block) => {
    const signature = signatures.find(block) ?? (block === first ? options.unsigned : undefined);
    const signed = signature === undefined ? {} : { thoughtSignature: signature };
    if (block.type === "tool_use") return [{ ...callPart(block, options), ...signed }];
    return plainParts(block).map((part) => ({ ...part, ...signed }));
  });
}

function callPart({ id, name, input }: ToolUseContent, { aliasOf }: ContentsOptions): GeminiPart {
  return { functionCall: { name: aliasOf(name), args: { ...input }, ...givenId(id) } };
}

function plainParts(block: SamplingContent): readonly GeminiPart[] {
  if (block.type === "text") return block.text === "" ? [] : [{ text: block.text }];
  return block.type === "image" || block.type === "audio" ? [inlinePart({ ...block, kind: block.type })] : [];
}

function inlinePart({ mimeType, data }: MediaPart): GeminiPart {
  return { inlineData: { mimeType, data } };
}
