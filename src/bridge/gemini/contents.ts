import { canonicalText } from "../../json/canonical.ts";
import { asJson, isObject, type JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import type { CreateMessageResult, SamplingContent, ToolResultContent, ToolUseContent } from "../../protocol/input.ts";
import { shortHash } from "../../std/short-hash.ts";
import { createProviderMetadata, type Offers, type ProviderMetadata } from "../offers.ts";
import { answerOf, namesOfResults, type RawCall, type Turn, toolUse } from "../read-call.ts";
import { type MediaPart, type Part, textOf, textPart, toParts } from "../result-parts.ts";
import type { GeminiContent, GeminiPart, GeminiReply } from "./format.ts";

/** The thought signature of a part. Newer models reject a call without its signature. */
const signatures: ProviderMetadata<string> = createProviderMetadata();

interface ContentsOptions {
  aliasOf(name: string): string;
  /** What to send for the first call of a turn whose signature is not known. */
  readonly unsigned?: string;
}

/** A conversation for Gemini. Images and audio in tool results follow the results of their turn. */
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

/** The calls of the first candidate. */
export function geminiCallsOf(reply: GeminiReply): readonly RawCall[] {
  return partsOf(reply).flatMap((part, index) => rawCalls(part, index, reply));
}

/** A part as a call, or undefined when it is not one. Gemini omits arguments of a call without any. */
function rawCalls(
  { functionCall: call }: JsonObject,
  index: number,
  { responseId = "" }: GeminiReply,
): readonly RawCall[] {
  if (!isObject(call)) return [];
  const { id, name, args } = call;
  const made = makeId(responseId, String(index), String(name), canonicalText(args ?? null));
  return [{ id: typeof id === "string" && id !== "" ? id : made, alias: String(name), input: args ?? {} }];
}

/** The first candidate as an answer, without its thoughts. */
export function toGeminiAnswer<P>(reply: GeminiReply, offers: Offers<P>): CreateMessageResult {
  const [candidate] = reply.candidates ?? [];
  if (candidate === undefined) {
    const reason = reply.promptFeedback?.blockReason;
    throw new McpError("invalid-response", `the reply of the model has no candidates${reason ? `: ${reason}` : ""}`);
  }
  const content = partsOf(reply).flatMap((part, index) => {
    const said = contentOf(part, rawCalls(part, index, reply), offers);
    const { thoughtSignature: signature } = part;
    return said.map((block) => (typeof signature === "string" ? signatures.save(block, signature) : block));
  });
  const stopReason = stopReasonOf(candidate.finishReason, content);
  return answerOf({ content, model: reply.modelVersion ?? "gemini", stopReason });
}

function partsOf({ candidates }: GeminiReply): readonly JsonObject[] {
  return (candidates?.[0]?.content?.parts ?? []).map(asJson);
}

function contentOf<P>(part: JsonObject, calls: readonly RawCall[], offers: Offers<P>): readonly SamplingContent[] {
  if (calls.length > 0) return calls.map((raw) => toolUse(raw, offers));
  if (part.thought === true) return [];
  if (typeof part.text === "string") return part.text === "" ? [] : [{ type: "text", text: part.text }];
  return isObject(part.inlineData) ? mediaContent(part.inlineData) : [];
}

function mediaContent({ mimeType, data }: JsonObject): readonly SamplingContent[] {
  const [type] = String(mimeType).split("/");
  if (type !== "image" && type !== "audio") return [];
  return [{ type, data: String(data), mimeType: String(mimeType) }];
}

function stopReasonOf(reason: string | undefined, content: readonly SamplingContent[]): string | undefined {
  if (reason === "MAX_TOKENS") return "maxTokens";
  if (reason !== "STOP") return reason;
  return content.some(({ type }) => type === "tool_use") ? "toolUse" : "endTurn";
}

const prefix = "plugbay_";

/** An id for a call that came without one: the same for the same call in the same response. */
function makeId(...facts: readonly string[]): string {
  return prefix + shortHash(JSON.stringify(facts));
}

function isMadeId(id: string): boolean {
  return id.startsWith(prefix);
}
