import { isObject } from "../json/json.ts";
import type { Cacheable, Result } from "../model/methods.ts";
import type { BlobResourceContents, ResourceContents, TextResourceContents } from "../model/resource.ts";
import { toBase64 } from "../std/base64.ts";

type ReadSettings = Pick<Cacheable, "ttlMs" | "cacheScope"> & { readonly mimeType?: string };

/** The result that the value of `read` stands for; undefined when it is nothing. */
export function toReadResult(
  value: unknown,
  uri: string,
  { ttlMs, cacheScope, mimeType }: ReadSettings,
): Result<"resources/read"> | undefined {
  const parts = partsOf(value);
  if (parts.length === 0) return undefined;
  return {
    ...(ttlMs !== undefined && { ttlMs }),
    ...(cacheScope !== undefined && { cacheScope }),
    ...(isFull(value) && value),
    contents: parts.map((part) => toContents(part, uri, mimeType)),
  };
}

function partsOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (isFull(value)) return value.contents;
  const isList = Array.isArray(value) && value.length > 0 && value.every((part) => isBytes(part) || isPart(part));
  return isList ? value : [value];
}

function isFull(value: unknown): value is { readonly contents: readonly unknown[] } {
  return isObject(value) && Array.isArray(value.contents);
}

function toContents(part: unknown, uri: string, mimeType: string | undefined): ResourceContents {
  if (typeof part === "string") return { uri, mimeType: mimeType ?? "text/plain", text: part };
  if (isBytes(part)) return { uri, mimeType: mimeType ?? "application/octet-stream", blob: toBase64(bytesOf(part)) };
  if (isPart(part)) return { ...(mimeType !== undefined && { mimeType }), ...part, uri: part.uri ?? uri };
  const text = JSON.stringify(part);
  if (text === undefined) throw new Error(`resource ${uri} is a ${typeof part}`);
  return { uri, mimeType: mimeType ?? "application/json", text };
}

type Bytes = ArrayBuffer | ArrayBufferView;

function isBytes(value: unknown): value is Bytes {
  return value instanceof ArrayBuffer || ArrayBuffer.isView(value);
}

function bytesOf(bytes: Bytes): Uint8Array {
  if (bytes instanceof ArrayBuffer) return new Uint8Array(bytes);
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Contents that may leave out their URI. */
type Part = (Omit<TextResourceContents, "uri"> | Omit<BlobResourceContents, "uri">) & { readonly uri?: string };

const partMembers: ReadonlySet<string> = new Set(["uri", "mimeType", "text", "blob", "_meta"]);

/** Contents have these members and no others: any other object is JSON that happens to have a text. */
function isPart(value: unknown): value is Part {
  if (!isObject(value) || (typeof value.text !== "string" && typeof value.blob !== "string")) return false;
  return Object.keys(value).every((key) => partMembers.has(key));
}
