import type {
  Annotations,
  AudioContent,
  EmbeddedResource,
  ImageContent,
  ResourceContents,
  ResourceLink,
  TextContent,
} from "../model/content.ts";
import { toBase64 } from "../std/base64.ts";
import { defined, type OrUndefined } from "../std/defined.ts";

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
export function link(uri: string, name: string, more: LinkDetails = {}): ResourceLink {
  return { type: "resource_link", uri, name, ...defined(more) };
}

type LinkDetails = OrUndefined<Omit<ResourceLink, "type" | "uri" | "name">>;

function base64Of(data: Binary): string {
  return typeof data === "string" ? data : toBase64(data);
}
