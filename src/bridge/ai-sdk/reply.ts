import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import type { CreateMessageResult, SamplingContent } from "../../model/input.ts";
import { answerOf, toolUse } from "../conversation.ts";
import type { Offers } from "../offers.ts";
import type { RawCall } from "../read-call.ts";
import type { AiSdkReasoning, AiSdkReply, ProviderOptions } from "./format.ts";
import { traces } from "./messages.ts";

/** The calls in a reply. Tools that the provider has run are none. */
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
    content.push(isPlain ? said : traces.keep(said, { before, ...(options !== undefined && { options }) }));
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

/** What a provider gave with a part is what it wants back. */
function optionsOf(metadata: Json | undefined): ProviderOptions | undefined {
  return isObject(metadata) ? (metadata as ProviderOptions) : undefined;
}
