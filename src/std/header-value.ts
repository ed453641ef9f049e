import { fromBase64, toBase64 } from "./base64.ts";

const PREFIX = "=?base64?";
const SUFFIX = "?=";
/** Visible ASCII with spaces only inside, or nothing at all. */
const plain = /^(?:[!-~](?:[ -~]*[!-~])?)?$/;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Looks up a header by its name in lower case. */
export type HeaderLookup = (name: string) => string | undefined;

export type DecodedHeader = { readonly ok: true; readonly value: string } | { readonly ok: false };

/**
 * A text as the value of an `Mcp-Name` or `Mcp-Param-*` header: as it is where
 * every part of HTTP leaves it alone, else in base64 between markers. The
 * result is safe to write into a header, whatever the text.
 */
export function encodeHeaderValue(text: string): string {
  return isPlain(text) ? text : `${PREFIX}${toBase64(encoder.encode(text))}${SUFFIX}`;
}

/**
 * The text that {@link encodeHeaderValue} encoded. White space around it is not
 * part of a header. A value without both markers, exactly spelled, is itself.
 * Not ok for bad base64, invalid UTF-8 and characters that had to be encoded.
 */
export function decodeHeaderValue(value: string): DecodedHeader {
  const text = trimHeaderValue(value);
  if (!isMarked(text) || text.length < PREFIX.length + SUFFIX.length) {
    return plain.test(text) ? { ok: true, value: text } : invalid;
  }
  const bytes = fromBase64(text.slice(PREFIX.length, -SUFFIX.length));
  return bytes === undefined ? invalid : decodeUtf8(bytes);
}

/** Whether a header stands for `text`. Takes no memory when it does, as it is. */
export function isHeaderFor(text: string, value: string): boolean {
  if (value === text && isPlain(text)) return true;
  const decoded = decodeHeaderValue(value);
  return decoded.ok && decoded.value === text;
}

/** Without the spaces and tabs around a value. */
export function trimHeaderValue(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isBlank(value.charCodeAt(start))) start++;
  while (start < end && isBlank(value.charCodeAt(end - 1))) end--;
  return end - start === value.length ? value : value.slice(start, end);
}

const invalid: DecodedHeader = { ok: false };

function isPlain(text: string): boolean {
  return plain.test(text) && !isMarked(text);
}

/** The markers may share their question mark: other readers may take that for an empty text. */
function isMarked(text: string): boolean {
  return text.startsWith(PREFIX) && text.endsWith(SUFFIX);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

function decodeUtf8(bytes: Uint8Array): DecodedHeader {
  try {
    return { ok: true, value: decoder.decode(bytes) };
  } catch {
    return invalid;
  }
}
