import { isObject, type Json } from "../json/json.ts";
import type {
  Annotations,
  AudioContent,
  Content,
  EmbeddedResource,
  ImageContent,
  ResourceLink,
  TextContent,
} from "../model/content.ts";
import type { ResourceContents } from "../model/resource.ts";
import { toBase64 } from "../std/base64.ts";

/** Bytes, or text that is base64 already. */
export type Binary = Uint8Array | string;

/** A block of text. */
export function text(value: string, annotations?: Annotations): TextContent {
  return { type: "text", text: value, ...(annotations && { annotations }) };
}

/** A picture: `image(bytes, "image/png")`. */
export function image(data: Binary, mimeType: string, annotations?: Annotations): ImageContent {
  return { type: "image", data: base64Of(data), mimeType, ...(annotations && { annotations }) };
}

/** A sound: `audio(bytes, "audio/wav")`. */
export function audio(data: Binary, mimeType: string, annotations?: Annotations): AudioContent {
  return { type: "audio", data: base64Of(data), mimeType, ...(annotations && { annotations }) };
}

/** A resource carried in the content itself. */
export function embed(resource: ResourceContents, annotations?: Annotations): EmbeddedResource {
  return { type: "resource", resource, ...(annotations && { annotations }) };
}

/** A pointer to a resource that the client may read. */
export function link(uri: string, name: string, more: Omit<ResourceLink, "type" | "uri" | "name"> = {}): ResourceLink {
  return { type: "resource_link", uri, name, ...more };
}

/** True for one block of content: an object with a known `type` and what that type needs. */
export function isContent(value: unknown): value is Content {
  if (!isObject(value)) return false;
  switch (value.type) {
    case "text":
      return typeof value.text === "string";
    case "image":
    case "audio":
      return typeof value.data === "string" && typeof value.mimeType === "string";
    case "resource":
      return isEmbeddable(value.resource);
    case "resource_link":
      return typeof value.uri === "string" && typeof value.name === "string";
    default:
      return false;
  }
}

function isEmbeddable(resource: Json | undefined): boolean {
  if (!isObject(resource) || typeof resource.uri !== "string") return false;
  return typeof resource.text === "string" || typeof resource.blob === "string";
}

function base64Of(data: Binary): string {
  return typeof data === "string" ? data : toBase64(data);
}
