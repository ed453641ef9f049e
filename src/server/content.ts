import { anObject, aString, byType, type Check, optional } from "../json/check.ts";
import { isObject } from "../json/json.ts";
import type {
  Annotations,
  AudioContent,
  EmbeddedResource,
  ImageContent,
  ResourceContents,
  ResourceLink,
  TextContent,
} from "../protocol/content.ts";
import { isBase64, toBase64 } from "../std/base64.ts";
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
export function embeddedResource(resource: ResourceContents, annotations?: Annotations): EmbeddedResource {
  return { type: "resource", resource, ...(annotations && { annotations }) };
}

/** A pointer to a resource that the client may read. */
export function resourceLink(uri: string, name: string, more: LinkDetails = {}): ResourceLink {
  return { type: "resource_link", uri, name, ...defined(more) };
}

type LinkDetails = OrUndefined<Omit<ResourceLink, "type" | "uri" | "name">>;

function base64Of(data: Binary): string {
  return typeof data === "string" ? data : toBase64(data);
}

/** The problem with bytes where they cannot be encoded. */
export const NOT_BYTES = ", not bytes: use image(), audio(), or embed() with base64";

type Bytes = ArrayBuffer | ArrayBufferView;

export function isBytes(value: unknown): value is Bytes {
  return value instanceof ArrayBuffer || ArrayBuffer.isView(value);
}

const aBase64: Check = (value: unknown) => {
  if (typeof value === "string" && isBase64(value)) return undefined;
  const detail = String(value).startsWith("data:") ? " alone, not a data: URL" : "";
  return ` must be base64${isBytes(value) ? NOT_BYTES : detail}`;
};

const media = anObject({ data: aBase64, mimeType: aString });
const contents = { uri: aString, mimeType: optional(aString) };
const textContents = anObject({ ...contents, text: aString });
const blobContents = anObject({ ...contents, blob: aBase64 });

/** Contents of a resource: text, or a blob. */
export const aContents: Check = (value) =>
  isObject(value) && value.blob !== undefined ? blobContents(value) : textContents(value);

/** One block of content: an object with a known `type` and what that type needs. */
export const aBlock: Check = byType({
  text: anObject({ text: aString }),
  image: media,
  audio: media,
  resource: anObject({ resource: aContents }),
  resource_link: anObject({ uri: aString, name: aString }),
});

/** What a block of each type is for. */
const payloads: Readonly<Record<string, unknown>> = {
  text: "text",
  image: "data",
  audio: "data",
  resource: "resource",
  resource_link: "uri",
};

/** True for a value that is meant as a block: it has a known `type`, and a member of that type. */
export function isBlockLike(value: unknown): boolean {
  const payload = isObject(value) && payloads[String(value.type)];
  return typeof payload === "string" && Object.hasOwn(value as object, payload);
}
