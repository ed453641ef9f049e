import type { MediaPart } from "../result-parts.ts";

/** A picture as a URL that holds it. Undefined for what is no picture that OpenAI takes. */
export function imageUrl({ kind, mimeType, data }: MediaPart): string | undefined {
  return kind === "image" && imageTypes.has(mimeType) ? `data:${mimeType};base64,${data}` : undefined;
}

const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** The format of a sound, if it is one that OpenAI takes. */
export function audioFormat({ kind, mimeType }: MediaPart): "wav" | "mp3" | undefined {
  return kind === "audio" ? audioFormats.get(mimeType) : undefined;
}

const audioFormats: ReadonlyMap<string, "wav" | "mp3"> = new Map([
  ["audio/wav", "wav"],
  ["audio/x-wav", "wav"],
  ["audio/wave", "wav"],
  ["audio/mpeg", "mp3"],
  ["audio/mp3", "mp3"],
]);
