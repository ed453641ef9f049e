import { canonicalText } from "../../json/canonical.ts";
import { asJson, isObject, type JsonObject } from "../../json/json.ts";
import { McpError } from "../../model/errors.ts";
import type { CreateMessageResult, SamplingContent } from "../../model/input.ts";
import { answerOf, toolUse } from "../conversation.ts";
import type { Offers } from "../offers.ts";
import type { RawCall } from "../read-call.ts";
import { makeId } from "./call-id.ts";
import { signatures } from "./contents.ts";
import type { GeminiReply } from "./format.ts";

/** The calls of the first candidate. */
export function geminiCallsOf(reply: GeminiReply): readonly RawCall[] {
  return partsOf(reply).flatMap((part, index) => rawCalls(part, index, reply));
}

/** A part as a call, if it is one. Gemini leaves out arguments when there are none. */
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

/** The first candidate as an answer. Its thoughts are left out. */
export function toGeminiAnswer<P>(reply: GeminiReply, offers: Offers<P>): CreateMessageResult {
  const [candidate] = reply.candidates ?? [];
  if (candidate === undefined) {
    const reason = reply.promptFeedback?.blockReason;
    throw new McpError("invalid-response", `the reply of the model has no candidates${reason ? `: ${reason}` : ""}`);
  }
  const content = partsOf(reply).flatMap((part, index) => {
    const said = contentOf(part, rawCalls(part, index, reply), offers);
    const { thoughtSignature: signature } = part;
    return said.map((block) => (typeof signature === "string" ? signatures.keep(block, signature) : block));
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
