import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { fromBase64Url, toBase64Url } from "../std/base64.ts";

/** Turns state into a text that only its maker can read or change. */
export interface Sealer {
  seal(state: JsonObject): Promise<string>;
  /** Undefined when the text was not sealed with one of the keys, or was changed. */
  open(sealed: string): Promise<JsonObject | undefined>;
}

const IV_BYTES = 12;
const VERSION = "1.";

export interface SealerOptions {
  /** What the sealed texts are for. A text that was sealed for something else does not open, whatever the keys. */
  readonly purpose?: string;
  /** The function with the option `stateKeys`, for warnings. Default `createServer`. */
  readonly taker?: string;
}

/**
 * Seals with AES-256-GCM.
 *
 * The first key seals and all of them open, so that keys can be replaced while old state is in use. Without keys, a
 * random one is generated, which other processes and a restarted one do not have: a warning says so on first use.
 */
export function createSealer(
  secrets: readonly string[] = [],
  { purpose = "", taker = "createServer" }: SealerOptions = {},
): Sealer {
  const additionalData = new TextEncoder().encode(purpose);
  const texts = secrets.length > 0 ? secrets : [toBase64Url(crypto.getRandomValues(new Uint8Array(32)))];
  let keys: Promise<readonly CryptoKey[]> | undefined;
  let isWarned = secrets.length > 0;
  const load = (): Promise<readonly CryptoKey[]> => {
    keys ??= Promise.all(texts.map(importKey));
    return keys;
  };

  return {
    async seal(state) {
      if (!isWarned) console.warn(generatedKeyWarning(taker));
      isWarned = true;
      const [key] = await load();
      const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
      const plain = new TextEncoder().encode(JSON.stringify(state));
      const sealed = new Uint8Array(
        await crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData }, key as CryptoKey, plain),
      );
      const bytes = new Uint8Array(IV_BYTES + sealed.length);
      bytes.set(iv);
      bytes.set(sealed, IV_BYTES);
      return VERSION + toBase64Url(bytes);
    },
    async open(sealed) {
      if (!sealed.startsWith(VERSION)) return undefined;
      const bytes = fromBase64Url(sealed.slice(VERSION.length));
      if (bytes === undefined || bytes.length <= IV_BYTES) return undefined;
      for (const key of await load()) {
        const state = await decrypt(key, bytes, additionalData);
        if (state !== undefined) return state;
      }
      return undefined;
    },
  };
}

function generatedKeyWarning(taker: string): string {
  return (
    "plugbay: made up a key for calls that ask: neither another process nor a restarted one can continue them; " +
    `give ${taker} stateKeys, or set PLUGBAY_STATE_KEYS`
  );
}

/** Any secret text becomes a key of the right length. */
async function importKey(secret: string): Promise<CryptoKey> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret));
  return crypto.subtle.importKey("raw", digest, "AES-GCM", false, ["encrypt", "decrypt"]);
}

async function decrypt(
  key: CryptoKey,
  bytes: Uint8Array<ArrayBuffer>,
  additionalData: Uint8Array<ArrayBuffer>,
): Promise<JsonObject | undefined> {
  try {
    const iv = bytes.subarray(0, IV_BYTES);
    const plain = await crypto.subtle.decrypt({ name: "AES-GCM", iv, additionalData }, key, bytes.subarray(IV_BYTES));
    const state = JSON.parse(new TextDecoder().decode(plain)) as Json;
    return isObject(state) ? state : undefined;
  } catch {
    // A wrong key and a modified text give the same error: the state is rejected.
    return undefined;
  }
}
