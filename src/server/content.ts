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

const blockTypes: ReadonlySet<unknown> = new Set(["text", "image", "audio", "resource", "resource_link"]);

/** True for one block of content: an object with a known `type` and what that type needs. */
export function isContent(value: unknown): value is Content {
  if (typeof value !== "object" || value === null || !("type" in value) || !blockTypes.has(value.type)) return false;
  switch (value.type) {
    case "text":
      return "text" in value && typeof value.text === "string";
    case "resource":
      return "resource" in value && typeof value.resource === "object";
    case "resource_link":
      return "uri" in value && typeof value.uri === "string";
    default:
      return "data" in value && typeof value.data === "string" && "mimeType" in value;
  }
}

function base64Of(data: Binary): string {
  return typeof data === "string" ? data : toBase64(data);
}
