import { isObject } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import { McpError } from "../../protocol/errors.ts";
import { promised } from "../../std/awaitable.ts";
import { fromBase64Url, toBase64Url } from "../../std/base64.ts";
import { type Clock, systemClock } from "../../std/clock.ts";
import type { Lease, Store } from "../../store/store.ts";

/**
 * Where tokens and registrations are kept: texts by name. What is in them is
 * secret. Three methods are enough for one of your own.
 */
export interface TokenStore {
  get(name: string): Promise<string | undefined>;
  set(name: string, text: string): Promise<void>;
  delete(name: string): Promise<void>;
  /**
   * Runs `task` exclusively under this name, over all processes that use the same storage. When left out, only within
   * this process.
   */
  exclusive?<T>(name: string, task: () => Promise<T>): Promise<T>;
}

/** Keeps tokens in memory: they are gone with the process. */
export function memoryTokens(): TokenStore {
  const texts = new Map<string, string>();
  return {
    get: async (name) => texts.get(name),
    async set(name, text) {
      texts.set(name, text);
    },
    async delete(name) {
      texts.delete(name);
    },
  };
}

export interface StoreTokensOptions {
  /** Keeps apart what different users keep in one store. */
  readonly prefix?: string | undefined;
  readonly clock?: Clock | undefined;
}

const leaseMs = 30_000;
const pollMs = 100;
const patienceMs = 60_000;

/** Keeps tokens in a store that processes share. Only one of them at a time refreshes a token. */
export function storeTokens(store: Store, options: StoreTokensOptions = {}): TokenStore {
  const { prefix = "auth:", clock = systemClock } = options;
  const { values } = store;

  return {
    get: async (name) => (await values.get(prefix + name))?.text,
    async set(name, text) {
      await values.put(prefix + name, text);
    },
    async delete(name) {
      await values.delete(prefix + name);
    },
    exclusive: (name, task) => withLease(store, `${prefix}lock:${name}`, task, clock),
  };
}

/** Runs `task` while no other process with the same store runs one under this name. Rejects with `timeout` after a minute of waiting. */
export async function withLease<T>(
  { leases }: Store,
  name: string,
  task: () => Promise<T>,
  clock: Clock = systemClock,
): Promise<T> {
  const acquire = async (): Promise<Lease> => {
    for (const start = clock.now(); ; await pause(clock, pollMs)) {
      const lease = await leases.acquire(name, leaseMs);
      if (lease !== undefined) return lease;
      if (clock.now() - start > patienceMs) throw new McpError("timeout", "another process holds the tokens");
    }
  };

  const lease = await acquire();
  const stop = keep(lease, clock);
  try {
    return await task();
  } finally {
    stop();
    await promised(() => lease.release()).catch(() => {});
  }
}

/** Renews a lease until it is stopped. */
function keep(lease: Lease, clock: Clock): () => void {
  let cancel = (): void => {};
  const arm = (): void => {
    cancel = clock.after(leaseMs / 3, () => {
      promised(() => lease.renew()).catch(() => {});
      arm();
    });
  };
  arm();
  return () => cancel();
}

/** A timer of the clock would not keep the process alive, and this one is awaited. */
function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    if (clock === systemClock) setTimeout(resolve, ms);
    else clock.after(ms, resolve);
  });
}

/** Encrypts texts. Each is bound to its name, so that they cannot be exchanged. */
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
