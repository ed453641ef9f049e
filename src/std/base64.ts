const CHUNK = 0x800;

/** Standard base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += CHUNK) {
    binary += toChars(bytes.subarray(start, start + CHUNK));
  }
  return btoa(binary);
}

/** Spreading the bytes instead would take ten times as long. */
function toChars(bytes: Uint8Array): string {
  return String.fromCharCode.apply(null, bytes as unknown as number[]);
}

const alphabet = /^[A-Za-z0-9+/]*={0,2}$/;
/** Bits that stand for no byte are zero, so that no two texts have the same bytes. */
const canonicalEnd = /(?:^|[^=]|[AEIMQUYcgkosw048]=|[AQgw]==)$/;

/** True for standard base64 with padding. */
export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && alphabet.test(text);
}

/** The bytes of a standard base64 text, or undefined when it is none or not the one {@link toBase64} gives. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!isBase64(text) || !canonicalEnd.test(text)) return undefined;
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

/** Base64 for URLs and opaque tokens: no padding, `-` and `_`. */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The inverse of {@link toBase64Url}; undefined when the text is none. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (/[+/=]/.test(text)) return undefined;
  const standard = text.replaceAll("-", "+").replaceAll("_", "/");
  return fromBase64(standard.padEnd(Math.ceil(text.length / 4) * 4, "="));
}
