import { toBase64Url } from "../../../std/base64.ts";

/** 256 bits that nobody can guess, in characters that a header may have. */
export function createSessionId(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}
