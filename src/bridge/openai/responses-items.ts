import type { SamplingContent, ToolResultContent } from "../../model/input.ts";
import { safeId, type Turn } from "../conversation.ts";
import { createKeepsakes, type Keepsakes } from "../keepsakes.ts";
import { describeMedia, type Part, textOf, textPart, toParts } from "../result-parts.ts";
import { errorText } from "./error-text.ts";
import { imageUrl } from "./media.ts";
import type { OpenAiResponsesItem, OpenAiResponsesPart, OpenAiResponsesReasoning } from "./responses-format.ts";

/** What belongs to a piece of a response: the thoughts before it, and its own id. */
export interface Traces {
  readonly before: readonly OpenAiResponsesReasoning[];
  readonly id?: string;
}

export const traces: Keepsakes<Traces> = createKeepsakes();

/** A conversation as items for the Responses API. There is no sound in it: sounds are described. */
export function toItems(turns: readonly Turn[], aliasOf: (name: string) => string): OpenAiResponsesItem[] {
  return turns.flatMap(({ role, content }) =>
    role === "user" ? userItems(content) : content.flatMap((block) => assistantItems(block, aliasOf)),
  );
}

function userItems(content: readonly SamplingContent[]): readonly OpenAiResponsesItem[] {
  const results = content.flatMap((block) => (block.type === "tool_result" ? [toOutput(block)] : []));
  const parts = content.flatMap(partsOf).map(toInput);
  return [...results, ...(parts.length === 0 ? [] : [{ role: "user" as const, content: parts }])];
}

function partsOf(block: SamplingContent): readonly Part[] {
  return block.type === "tool_use" || block.type === "tool_result" ? [] : toParts({ content: [block] });
}

function toOutput(result: ToolResultContent): OpenAiResponsesItem {
  const parts = toParts(result);
  const call_id = safeId(result.toolUseId, maxIdLength);
  const isText = parts.every((part) => part.kind === "text" || imageUrl(part) === undefined);
  const failed: readonly Part[] = result.isError === true ? [textPart("Error:")] : [];
  const output = isText ? errorText(textOf(parts), result) : [...failed, ...parts].map(toInput);
  return { type: "function_call_output", call_id, output };
}

const maxIdLength = 64;

function toInput(part: Part): OpenAiResponsesPart {
  if (part.kind === "text") return { type: "input_text", text: part.text };
  const url = imageUrl(part);
  if (url === undefined) return { type: "input_text", text: describeMedia(part) };
  return { type: "input_image", detail: "auto", image_url: url };
}

function assistantItems(block: SamplingContent, aliasOf: (name: string) => string): readonly OpenAiResponsesItem[] {
  const { before = [], id: itemId } = traces.find(block) ?? {};
  if (block.type === "tool_use") {
    const { id, name, input } = block;
    const call = { call_id: safeId(id, maxIdLength), name: aliasOf(name), arguments: JSON.stringify(input) };
    return [...before, { type: "function_call", ...call, ...(itemId !== undefined && { id: itemId }) }];
  }
  const said = textOf(partsOf(block));
  return said === "" ? [] : [...before, { role: "assistant", content: said }];
}
