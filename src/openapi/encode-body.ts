import { isObject, type Json } from "../json/json.ts";
import { toolError } from "../protocol/errors.ts";
import { fromBase64 } from "../std/base64.ts";
import { encodePairs, queryPairs, styleOf } from "./encode-parameter.ts";
import type { BodyArgument } from "./operation-input.ts";
import { type Located, member, objectAt } from "./references.ts";

/** A body as it is sent. */
export interface EncodedBody {
  readonly contentType: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

/** Writes the argument of a body in its media type. Throws `tool-error` for a value that cannot be written so. */
export function encodeBody(argument: BodyArgument, value: Json): EncodedBody {
  const { kind, type } = argument;
  switch (kind) {
    case "json":
      return { contentType: type.includes("*") ? "application/json" : type, body: JSON.stringify(value) };
    case "form":
      return { contentType: type, body: formOf(argument, value) };
    case "multipart":
      return multipartOf(argument, value);
    case "text":
      return { contentType: `${type}; charset=utf-8`, body: typeof value === "string" ? value : JSON.stringify(value) };
    case "binary":
      return {
        contentType: type.includes("*") ? "application/octet-stream" : type,
        body: bytesOf(argument.argument, value),
      };
  }
}

function formOf({ encoding }: BodyArgument, value: Json): string {
  const pairs = Object.entries(isObject(value) ? value : {}).flatMap(([name, item = null]) => {
    const at = member(encoding, name);
    const { style, contentType } = objectAt(at);
    const isJson = contentType === "application/json" || (isObject(item) && style === undefined);
    return queryPairs(name, item, { ...styleOf(at, "query"), isJson });
  });
  // Forms write a space as a plus sign.
  return encodePairs(pairs).join("&").replaceAll("%20", "+");
}

/** The parts of a form, between boundaries that nobody can guess. */
function multipartOf({ encoding, binaryMembers }: BodyArgument, value: Json): EncodedBody {
  const boundary = `form-${crypto.randomUUID()}`;
  const chunks = Object.entries(isObject(value) ? value : {}).flatMap(([name, item]) => {
    const items = Array.isArray(item) ? (item as readonly Json[]) : [item];
    const options = { at: member(encoding, name), isBinary: binaryMembers.has(name), boundary };
    return items.flatMap((one) => (one === undefined || one === null ? [] : partOf(name, one, options)));
  });
  const body = joined([...chunks, encoder.encode(`--${boundary}--\r\n`)]);
  return { contentType: `multipart/form-data; boundary=${boundary}`, body };
}

interface PartOptions {
  readonly at: Located;
  readonly isBinary: boolean;
  readonly boundary: string;
}

function partOf(name: string, value: Json, { at, isBinary, boundary }: PartOptions): readonly Uint8Array[] {
  const { contentType } = objectAt(at);
  const said = typeof contentType === "string" ? (contentType.split(",", 1)[0] ?? "").trim() : "";
  const standard = isBinary ? "application/octet-stream" : typeof value === "object" ? "application/json" : "";
  const type = /^[\w.+-]+\/[\w.+-]+$/.test(said) ? said : standard;
  const quoted = `"${name.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A")}"`;
  const head = [
    `--${boundary}`,
    `content-disposition: form-data; name=${quoted}${isBinary ? `; filename=${quoted}` : ""}`,
    ...(type === "" ? [] : [`content-type: ${type}`]),
  ];
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const bytes = isBinary ? bytesOf(name, value) : encoder.encode(text);
  return [encoder.encode(`${head.join("\r\n")}\r\n\r\n`), bytes, encoder.encode("\r\n")];
}

const encoder = new TextEncoder();

function joined(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

function bytesOf(name: string, value: Json): Uint8Array<ArrayBuffer> {
  const bytes = typeof value === "string" ? fromBase64(value) : undefined;
  if (bytes === undefined) throw toolError(`${name} must be bytes in base64`);
  return bytes;
}
