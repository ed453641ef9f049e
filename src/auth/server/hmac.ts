import { toBase64Url } from "../../std/base64.ts";

/** The HMAC-SHA-256 of a text, in base64 for URLs. */
export type Hmac = (text: string) => Promise<string>;

const encoder = new TextEncoder();

/** With a secret of the caller, or one that nobody knows and that ends with this process. */
export function createHmac(secret?: string): Hmac {
  const bytes = secret === undefined ? crypto.getRandomValues(new Uint8Array(32)) : encoder.encode(secret);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  let key: Promise<CryptoKey> | undefined;
  return async (text) => {
    key ??= crypto.subtle.importKey("raw", bytes, algorithm, false, ["sign"]);
    return toBase64Url(new Uint8Array(await crypto.subtle.sign("HMAC", await key, encoder.encode(text))));
  };
}
