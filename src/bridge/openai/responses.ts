import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import type {
  CreateMessageParams,
  CreateMessageResult,
  SamplingContent,
  ToolResultContent,
} from "../../protocol/input.ts";
import type { Tool } from "../../protocol/tool.ts";
import type { Toolkit } from "../bridge.ts";
import { createProviderMetadata, type Offer, type Offers, type ProviderMetadata } from "../offers.ts";
import { answerOf, type RawCall, safeId, type Turn, toolUse } from "../read-call.ts";
import { describeMedia, type Part, textOf, textPart, toParts } from "../result-parts.ts";
import { createToolkit } from "../run-tool-calls.ts";
import { errorText, imageUrl, type OpenAiOptions, offersOf } from "./media.ts";
import type {
  OpenAiResponsesFormat,
  OpenAiResponsesItem,
  OpenAiResponsesPart,
  OpenAiResponsesReasoning,
  OpenAiResponsesReply,
  OpenAiResponsesRequest,
  OpenAiResponsesTool,
} from "./responses-format.ts";

/** Tools for the Responses API of OpenAI. */
export function openaiResponses(tools: readonly Tool[], options: OpenAiOptions = {}): Toolkit<OpenAiResponsesFormat> {
  const { validate = true } = options;
  const offers = offersOf(tools, options);
  const definitions = offers.list.map(toTool);
  const itemsOf = (turns: readonly Turn[]): OpenAiResponsesItem[] => toItems(turns, offers.aliasOf);
  return createToolkit({
    offers,
    validate,
    tools: definitions,
    request: (params, messages) => toRequest(params, definitions, messages),
    messagesOf: itemsOf,
    callsOf: responseCallsOf,
    toAnswer: toResponseAnswer,
  });
}

/** Here strict is what happens when nothing is said, so it is said either way. */
function toTool({ alias, description, lowered }: Offer<JsonObject>): OpenAiResponsesTool {
  return {
    type: "function",
    name: alias,
    description,
    parameters: { ...lowered.parameters },
    strict: lowered.isStrict,
  };
}

function toRequest(
  params: CreateMessageParams,
  tools: OpenAiResponsesTool[],
  input: OpenAiResponsesItem[],
): OpenAiResponsesRequest {
  const { maxTokens, systemPrompt, toolChoice } = params;
  return {
    input,
    max_output_tokens: maxTokens,
    ...(systemPrompt !== undefined && { instructions: systemPrompt }),
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && toolChoice?.mode !== undefined && { tool_choice: toolChoice.mode }),
  };
}

/** The tool calls in a response, without those of tools that run at OpenAI. */
function responseCallsOf({ output }: OpenAiResponsesReply): readonly RawCall[] {
  return output.map(asJson).flatMap((item) => (item.type === "function_call" ? [rawCall(item)] : []));
}

function rawCall({ call_id, name, arguments: input }: JsonObject): RawCall {
  return { id: String(call_id), alias: String(name), input };
}

/** A response as an answer. A refusal is its text. */
function toResponseAnswer<P>(reply: OpenAiResponsesReply, offers: Offers<P>): CreateMessageResult {
  if (reply.status === "failed") {
    throw new McpError("invalid-response", `the model has failed: ${reply.error?.message ?? "it does not say why"}`);
  }
  const content: SamplingContent[] = [];
  let before: readonly OpenAiResponsesReasoning[] = [];
  for (const item of reply.output.map(asJson)) {
    if (item.type === "reasoning") before = [...before, toReasoning(item)];
    const [first, ...rest] = contentOf(item, offers);
    if (first === undefined) continue;
    content.push(kept(first, item, before), ...rest);
    before = [];
  }
  return answerOf({ content, model: reply.model, stopReason: stopReasonOf(reply, content) });
}

function contentOf<P>(item: JsonObject, offers: Offers<P>): readonly SamplingContent[] {
  if (item.type === "function_call") return [toolUse(rawCall(item), offers)];
  if (item.type !== "message" || !Array.isArray(item.content)) return [];
  return item.content.flatMap((part: Json): readonly SamplingContent[] => {
    const said = isObject(part) ? (part.text ?? part.refusal) : undefined;
    return typeof said === "string" ? [{ type: "text", text: said }] : [];
  });
}

function kept(content: SamplingContent, { type, id }: JsonObject, before: Traces["before"]): SamplingContent {
  const ownId = type === "function_call" && typeof id === "string" ? { id } : {};
  return before.length === 0 && ownId.id === undefined ? content : traces.save(content, { before, ...ownId });
}

function toReasoning({ id, summary, encrypted_content: secret }: JsonObject): OpenAiResponsesReasoning {
  const texts = (Array.isArray(summary) ? summary : []).filter(isObject);
  return {
    type: "reasoning",
    id: String(id),
    summary: texts.map(({ text }) => ({ type: "summary_text", text: String(text) })),
    ...(typeof secret === "string" && { encrypted_content: secret }),
  };
}

function stopReasonOf(reply: OpenAiResponsesReply, content: readonly SamplingContent[]): string | undefined {
  const reason = reply.incomplete_details?.reason;
  if (reply.status === "incomplete") return reason === "max_output_tokens" ? "maxTokens" : (reason ?? "incomplete");
  if (isRefused(reply)) return "refusal";
  return content.some(({ type }) => type === "tool_use") ? "toolUse" : "endTurn";
}

function isRefused({ output }: OpenAiResponsesReply): boolean {
  return output.map(asJson).some(({ content }) => Array.isArray(content) && content.some(isRefusal));
}

function isRefusal(part: Json): boolean {
  return isObject(part) && part.type === "refusal";
}

/** Metadata of a piece of a response: the reasoning items before it, and its own id. */
interface Traces {
  readonly before: readonly OpenAiResponsesReasoning[];
  readonly id?: string;
}

const traces: ProviderMetadata<Traces> = createProviderMetadata();

/** A conversation as items for the Responses API. There is no sound in it: sounds are described. */
function toItems(turns: readonly Turn[], aliasOf: (name: string) => string): OpenAiResponsesItem[] {
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
