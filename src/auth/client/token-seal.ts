import { isObject } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import { fromBase64Url, toBase64Url } from "../../std/base64.ts";

/** Makes texts unreadable for who does not have the key. Each is bound to its name: none can take the place of another. */
export interface TokenSeal {
  seal(name: string, text: string): Promise<string>;
  /** Undefined when it was sealed with another key, under another name, or was changed since. */
  open(name: string, sealed: string): Promise<string | undefined>;
}

/** In bytes. */
export const keyLength = 32;
const IV_LENGTH = 12;
const algorithm = "AES-GCM";
/** Gives back all of a text, also a mark at its start. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** By AES-256-GCM, with a key of {@link keyLength} random bytes. */
export async function createTokenSeal(bytes: Uint8Array<ArrayBuffer>): Promise<TokenSeal> {
  const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["encrypt", "decrypt"]);
  const parametersOf = (iv: Uint8Array<ArrayBuffer>, name: string): AesGcmParams => ({
    name: algorithm,
    iv,
    additionalData: new TextEncoder().encode(`plugbay token ${name}`),
  });

  return {
    async seal(name, text) {
      const iv = crypto.getRandomValues(new Uint8Array(IV_LENGTH));
      const sealed = await crypto.subtle.encrypt(parametersOf(iv, name), key, new TextEncoder().encode(text));
      return JSON.stringify({ version: 1, iv: toBase64Url(iv), text: toBase64Url(new Uint8Array(sealed)) });
    },
    async open(name, sealed) {
      const parts = readSealed(sealed);
      if (parts === undefined) return undefined;
      try {
        return decoder.decode(await crypto.subtle.decrypt(parametersOf(parts.iv, name), key, parts.text));
      } catch {
        return undefined;
      }
    },
  };
}

function readSealed(sealed: string) {
  const parsed = parseJson(sealed);
  const kept = parsed.ok && isObject(parsed.value) ? parsed.value : {};
  if (kept.version !== 1 || typeof kept.iv !== "string" || typeof kept.text !== "string") return undefined;
  const [iv, text] = [fromBase64Url(kept.iv), fromBase64Url(kept.text)];
  return iv?.length === IV_LENGTH && text !== undefined ? { iv, text } : undefined;
}
