import { toBase64Url } from "../../../../std/base64.ts";

/** 96 bits that nobody can guess, in 16 characters that an id may have. */
export function randomName(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(12)));
}
