import { canonicalText } from "../json/canonical.ts";
import type { Json } from "../json/json.ts";
import { toBase64Url } from "../std/base64.ts";

/** A short text that is the same for equal values, and for no others. */
export async function digestOf(value: Json): Promise<string> {
  const bytes = new TextEncoder().encode(canonicalText(value));
  return toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}
