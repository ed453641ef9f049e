import { isObject, type JsonObject } from "../../json/json.ts";
import { type Attempt, type Change, type Dialect, derive, ofType, without } from "../../protocol/codec/dialect.ts";
import { refuseFor } from "./older-shapes.ts";
import { r2025_03_26 } from "./r2025-03-26.ts";

/** Sound was not a kind of content. The reader learns that there was some. */
const audioAsText: Change = ({ mimeType, annotations }) => ({
  type: "text",
  text: `[${mimeType}, left out: the client cannot play it]`,
  ...(annotations !== undefined && { annotations }),
});

/** A model asked about sound that it was never given would answer nonsense. */
const noAudio: Attempt = (params) => {
  const index = Array.isArray(params.messages) ? params.messages.findIndex(hasAudio) : -1;
  if (index < 0) return { ok: true, value: params };
  return refuseFor(`params.messages[${index}].content`, "2025-03-26", { sampling: {} });
};

function hasAudio(message: unknown): message is JsonObject {
  return isObject(message) && isObject(message.content) && message.content.type === "audio";
}

/** There was no flag for completion: a client had to try. */
const maybeCompletions: Change = (capabilities) => ({ completions: {}, ...capabilities });

/** 2024-11-05, the first revision: tools without hints, no audio, progress without words. */
export const r2024_11_05: Dialect = derive("2024-11-05", r2025_03_26, {
  serverCapabilities: without("completions"),
  impliedCapabilities: maybeCompletions,
  tool: without("annotations"),
  block: ofType("audio", audioAsText),
  progress: without("message"),
  sampling: noAudio,
});
