import { isObject, type JsonObject } from "../json/json.ts";
import { parseJson } from "../json/parse.ts";
import { McpError } from "../model/errors.ts";

/** The response with its body in memory. Rejects when that is too long, or is no JSON where there is an answer. */
export async function readBounded(response: Response, { origin }: URL, maxBytes: number): Promise<Response> {
  const { status, headers } = response;
  const bytes = await readBytes(response, origin, maxBytes);
  if (response.ok && bytes.length > 0 && !isJson(headers.get("content-type"))) {
    throw new McpError("invalid-response", `${origin} did not answer with JSON`);
  }
  const bodiless = [101, 204, 205, 304].includes(status);
  return new Response(bodiless ? null : bytes, { status, headers: withoutCoding(headers) });
}

/** The JSON object in a body that was read by {@link readBounded}. Undefined when it holds none. */
export async function objectOf(response: Response): Promise<JsonObject | undefined> {
  const parsed = parseJson(await response.text());
  return parsed.ok && isObject(parsed.value) ? parsed.value : undefined;
}

async function readBytes(response: Response, origin: string, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const reader = response.body?.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    size += next.value.length;
    if (size > maxBytes) {
      reader?.cancel().catch(() => {});
      throw new McpError("limit-reached", `the answer of ${origin} is longer than ${maxBytes} bytes`);
    }
    chunks.push(next.value);
  }
  return join(chunks, size);
}

function join(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

function isJson(contentType: string | null): boolean {
  const media = (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return media === "application/json" || /^application\/[\w.!#$&^-]+\+json$/.test(media);
}

/** What is in memory is neither coded nor as long as it was. */
function withoutCoding(headers: Headers): Headers {
  const kept = new Headers(headers);
  for (const name of ["content-encoding", "content-length", "transfer-encoding"]) kept.delete(name);
  return kept;
}
