import { toBase64Url } from "./base64.ts";

/** The SHA-256 of a text, in base64 for URLs. */
export async function digestText(text: string): Promise<string> {
  return toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}
