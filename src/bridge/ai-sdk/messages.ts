import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import type { CreateMessageResult, SamplingContent, ToolResultContent } from "../../protocol/input.ts";
import { createProviderMetadata, type Offers, type ProviderMetadata } from "../offers.ts";
import { answerOf, namesOfResults, type RawCall, type Turn, toolUse } from "../read-call.ts";
import type {
  AiSdkFile,
  AiSdkMessage,
  AiSdkReasoning,
  AiSdkReply,
  AiSdkResult,
  AiSdkText,
  ProviderOptions,
} from "./format.ts";
import { toOutput } from "./tool.ts";

/** Metadata of a part of a reply: the reasoning parts before it, and the provider metadata to send back with it. */
interface Traces {
  readonly before: readonly AiSdkReasoning[];
  readonly options?: ProviderOptions;
}

const traces: ProviderMetadata<Traces> = createProviderMetadata();

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

/** The tool calls in a reply, without those that the provider has executed itself. */
export function aiSdkCallsOf({ content }: AiSdkReply): readonly RawCall[] {
  return content.map(asJson).flatMap((part) => (isCall(part) ? [rawCall(part)] : []));
}

function isCall({ type, providerExecuted }: JsonObject): boolean {
  return type === "tool-call" && providerExecuted !== true;
}

/** A call that the AI SDK could not read has an error instead of arguments. */
function rawCall({ toolCallId, toolName, input, invalid, error }: JsonObject): RawCall {
  const call = { id: String(toolCallId), alias: String(toolName), input };
  if (invalid !== true) return call;
  const reason: unknown = error;
  return { ...call, problem: reason instanceof Error ? reason.message : "the arguments cannot be read" };
}

/** A reply as an answer. */
export function toAiSdkAnswer<P>(reply: AiSdkReply, offers: Offers<P>): CreateMessageResult {
  const content: SamplingContent[] = [];
  let before: readonly AiSdkReasoning[] = [];
  for (const part of reply.content.map(asJson)) {
    const options = optionsOf(part.providerMetadata);
    if (part.type === "reasoning")
      before = [...before, { type: "reasoning", text: String(part.text), ...withOptions(options) }];
    const said = contentOf(part, offers);
    if (said === undefined) continue;
    const isPlain = before.length === 0 && options === undefined;
    content.push(isPlain ? said : traces.save(said, { before, ...(options !== undefined && { options }) }));
    before = [];
  }
  const { finishReason: reason, response } = reply;
  const stopReason = reason === undefined ? undefined : (stopReasons.get(reason) ?? reason);
  return answerOf({ content, model: response?.modelId ?? "unknown", stopReason });
}

const stopReasons: ReadonlyMap<string, string> = new Map([
  ["stop", "endTurn"],
  ["length", "maxTokens"],
  ["tool-calls", "toolUse"],
]);

function contentOf<P>(part: JsonObject, offers: Offers<P>): SamplingContent | undefined {
  if (isCall(part)) return toolUse(rawCall(part), offers);
  if (part.type === "text" && typeof part.text === "string") return { type: "text", text: part.text };
  return part.type === "file" && isObject(part.file) ? mediaContent(part.file) : undefined;
}

function mediaContent({ mediaType, base64 }: JsonObject): SamplingContent | undefined {
  const [type] = String(mediaType).split("/");
  if (type !== "image" && type !== "audio") return undefined;
  return { type, data: String(base64), mimeType: String(mediaType) };
}

function withOptions(options: ProviderOptions | undefined): { readonly providerOptions?: ProviderOptions } {
  return options === undefined ? {} : { providerOptions: options };
}

/** Provider metadata of a part is sent back unchanged with that part. */
function optionsOf(metadata: Json | undefined): ProviderOptions | undefined {
  return isObject(metadata) ? (metadata as ProviderOptions) : undefined;
}
