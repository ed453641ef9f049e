import { canonicalText } from "../json/canonical.ts";
import type { Json } from "../json/json.ts";
import { parseJson } from "../json/parse.ts";
import type { Content, ResourceContents, ResourceLink } from "../protocol/content.ts";

/** A part of a tool result, in one of the few kinds that providers support. */
export type Part = TextPart | MediaPart;

export interface TextPart {
  readonly kind: "text";
  readonly text: string;
}

export interface MediaPart {
  readonly kind: "image" | "audio";
  /** Base64. */
  readonly data: string;
  readonly mimeType: string;
}

/**
 * The result of a tool in parts. Resources become text or media where they are
 * that, and are described where not. Structured content is added as text, unless
 * a text already is its JSON.
 */
export function toParts(result: {
  readonly content: readonly Content[];
  readonly structuredContent?: Json;
}): readonly Part[] {
  const { content, structuredContent } = result;
  const parts = content.map(toPart);
  if (structuredContent === undefined || parts.some((part) => isJsonOf(part, structuredContent))) return parts;
  return [...parts, textPart(JSON.stringify(structuredContent))];
}

/** All texts as one, with media described. For where nothing but text can be. */
export function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === "text" ? part.text : describeMedia(part))).join("\n");
}

export function textPart(text: string): TextPart {
  return { kind: "text", text };
}

/** A description of media that the provider cannot show: `[image/tiff image, 12 kB, not shown]`. */
export function describeMedia({ kind, mimeType, data }: MediaPart): string {
  return `[${oneLine(mimeType)} ${kind}, ${sizeOf(data)}, not shown]`;
}

function toPart(content: Content): Part {
  switch (content.type) {
    case "text":
      return textPart(content.text);
    case "image":
    case "audio":
      return { kind: content.type, data: content.data, mimeType: content.mimeType };
    case "resource":
      return resourcePart(content.resource);
    case "resource_link":
      return textPart(linkText(content));
    default:
      return textPart(`[content of unknown type, not shown]`);
  }
}

function resourcePart(resource: ResourceContents): Part {
  if ("text" in resource) return textPart(resource.text);
  const { uri, mimeType = "application/octet-stream", blob } = resource;
  const [kind] = mimeType.split("/");
  if (kind === "image" || kind === "audio") return { kind, data: blob, mimeType };
  return textPart(`[resource ${oneLine(uri)}: ${oneLine(mimeType)}, ${sizeOf(blob)}, not shown]`);
}

function linkText({ name, uri, mimeType, description }: ResourceLink): string {
  const type = mimeType === undefined ? "" : ` (${oneLine(mimeType)})`;
  return `[resource ${oneLine(name)}: ${oneLine(uri)}${type}]${description === undefined ? "" : ` ${oneLine(description)}`}`;
}

function isJsonOf(part: Part, structured: Json): boolean {
  if (part.kind !== "text") return false;
  const parsed = parseJson(part.text);
  return parsed.ok && canonicalText(parsed.value) === canonicalText(structured);
}

/** How much a base64 text holds. */
function sizeOf(data: string): string {
  const bytes = Math.floor((data.replace(/=+$/, "").length * 3) / 4);
  return bytes < 1000 ? `${bytes} bytes` : `${Math.round(bytes / 1000)} kB`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ");
}
