import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { parseJson } from "../json/parse.ts";
import { replyJsonLimits } from "../json/shape.ts";
import type { Content } from "../protocol/content.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import type { Validator } from "../schema/validator.ts";
import { toBase64 } from "../std/base64.ts";
import type { Mask } from "../std/secrets.ts";
import { isJsonType, isTextType, mediaTypeOf } from "./media.ts";

/** Characters of a body that an error shows. */
const MAX_ERROR_TEXT = 4_096;

/** What reading a response takes. */
export interface ResponseReader {
  /** Where it came from, without its query. */
  readonly url: URL;
  /** Hides credentials of the request. */
  readonly mask: Mask;
  /** Checks JSON of a tool that says what it returns. */
  readonly output: Validator | undefined;
}

/** A body that was read. Text has credentials hidden that it repeats. */
export interface ResponseBody {
  readonly type: string;
  readonly data: { readonly text: string } | { readonly bytes: Uint8Array };
  /** There for JSON. */
  readonly json?: Json;
}

/**
 * The result of a tool: JSON as structured content, text, pictures and sounds as content, other bytes as a resource. A
 * status other than 2xx is an error that the model can read, with the beginning of the body.
 */
export async function readResult(response: Response, reader: ResponseReader): Promise<CallToolResult> {
  if (!response.ok) return { content: [{ type: "text", text: await errorText(response, reader.mask) }], isError: true };
  const body = await readBody(response, reader.mask);
  const { json } = body;
  const content = [contentOf(body, reader)];
  if (reader.output !== undefined) return checkedResult(json, content, reader.output);
  return { content, ...(isObject(json) && { structuredContent: json }) };
}

/** The body of a response, or its status where it has none. */
export async function readBody(response: Response, mask: Mask): Promise<ResponseBody> {
  const contentType = response.headers.get("content-type") ?? "";
  const type = mediaTypeOf(contentType);
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes.length === 0) return { type: "text/plain", data: { text: statusText(response) } };
  if (!isJsonType(type) && !isTextType(type) && type !== "") return { type, data: { bytes } };
  const text = mask(decode(bytes, contentType));
  const parsed = isJsonType(type) ? parseJson(text, replyJsonLimits) : undefined;
  return { type: type === "" ? "text/plain" : type, data: { text }, ...(parsed?.ok && { json: parsed.value }) };
}

function contentOf({ type, data }: ResponseBody, { url, mask }: ResponseReader): Content {
  if ("text" in data) return { type: "text", text: data.text };
  const blob = toBase64(data.bytes);
  if (type.startsWith("image/")) return { type: "image", data: blob, mimeType: type };
  if (type.startsWith("audio/")) return { type: "audio", data: blob, mimeType: type };
  return { type: "resource", resource: { uri: mask(`${url.origin}${url.pathname}`), mimeType: type, blob } };
}

/** The status of a response, and the beginning of its body where that is text. */
export async function errorText(response: Response, mask: Mask): Promise<string> {
  const contentType = response.headers.get("content-type") ?? "";
  const type = mediaTypeOf(contentType);
  const isText = isJsonType(type) || isTextType(type);
  const body = isText ? mask(decode(new Uint8Array(await response.arrayBuffer()), contentType)) : "";
  const shown = body.length > MAX_ERROR_TEXT ? `${body.slice(0, MAX_ERROR_TEXT)}…` : body;
  const after = response.headers.get("retry-after");
  const retry = after === null ? "" : `, retry after ${after.slice(0, 40)}`;
  return `${statusText(response)}${retry}${shown === "" ? "" : `\n${shown}`}`;
}

function statusText({ status }: Response): string {
  return `HTTP ${status}${names[status] === undefined ? "" : ` ${names[status]}`}`;
}

/** Those that an API sends most. What a server says itself is not shown. */
const names: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  204: "No Content",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  409: "Conflict",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
};

/** JSON that is not what the document says is shown to the model as an error: callers rely on the schema. */
async function checkedResult(
  json: Json | undefined,
  content: readonly Content[],
  output: Validator,
): Promise<CallToolResult> {
  const checked = await output.check(json ?? null);
  if (checked.ok) return { content, structuredContent: json as JsonObject };
  const issues = checked.issues.map(({ path, message }) => (path === "" ? message : `${path} ${message}`)).join("; ");
  const text = `the response is not what the OpenAPI document describes: ${issues}`;
  return { content: [{ type: "text", text }, ...content], isError: true };
}

function decode(bytes: Uint8Array, contentType: string): string {
  const [, charset = "utf-8"] = /;\s*charset="?([\w.:-]+)/i.exec(contentType) ?? [];
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}
