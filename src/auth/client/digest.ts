import { toBase64Url } from "../../std/base64.ts";

/** The SHA-256 of a text. */
export async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

/** A short name for a list of texts: equal for equal lists, and for no others. */
export async function nameOf(...parts: readonly string[]): Promise<string> {
  return toBase64Url(await sha256(JSON.stringify(parts)));
}

/** Compares two texts in a time that does not tell where they differ. */
export function equalsInConstantTime(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let index = 0; index < a.length; index++)
    difference |= a.charCodeAt(index) ^ b.charCodeAt(index % (b.length || 1));
  return difference === 0;
}
