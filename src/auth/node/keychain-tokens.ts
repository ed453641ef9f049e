import { join } from "node:path";
import { McpError } from "../../model/errors.ts";
import { fromBase64Url, toBase64Url } from "../../std/base64.ts";
import { createTokenSeal, keyLength, type TokenSeal } from "../client/token-seal.ts";
import type { TokenStore } from "../client/token-store.ts";
import { fileTokens } from "./file-tokens.ts";
import { type Keychain, openKeychain } from "./keychain.ts";
import { stateFolder } from "./state-folder.ts";

export interface KeychainTokensOptions {
  /** The name of your application, as the system shows it. Default `plugbay`, which all that say nothing share. */
  readonly service?: string;
  /** Where the encrypted tokens are. Default: where the system keeps the state of applications of this user. */
  readonly folder?: string;
  /** How long a user may take to unlock the keychain. Default 2 min. */
  readonly timeoutMs?: number;
}

/**
 * Keeps tokens encrypted in files, with a key in the keychain of the system, so
 * that files alone are of no use. Needs the package `@napi-rs/keyring`.
 *
 * Processes of one user may share it; only one of them at a time refreshes a
 * token. What cannot be decrypted counts as missing. Its methods reject with
 * `unsupported` without the package, or where there is no keychain.
 */
export function keychainTokens(options: KeychainTokensOptions = {}): Required<TokenStore> {
  const { service = "plugbay", timeoutMs = 120_000 } = options;
  if (!/^[\w.-]{1,64}$/.test(service) || /^\.+$/.test(service)) {
    throw new McpError("invalid-definition", "keychainTokens: service must be 1 to 64 of A-Z a-z 0-9 _ . -");
  }
  const folder = options.folder ?? join(stateFolder(), service, "tokens");
  return createKeychainTokens(folder, openKeychain({ service, account: "token key", timeoutMs }));
}

/** The lock of the key, among those of tokens. */
const KEY_LOCK = "keychain";

export function createKeychainTokens(folder: string, keychain: Keychain): Required<TokenStore> {
  const files = fileTokens(folder);
  let known: Promise<TokenSeal | undefined> | undefined;

  const forget = (): void => {
    known = undefined;
  };
  /** What the key opens, as far as there is one. It is asked for once: the user may have to agree to it. */
  const find = async (): Promise<TokenSeal | undefined> => {
    known ??= readSeal(keychain);
    const found = await known.catch((error: unknown) => {
      forget();
      throw error;
    });
    if (found === undefined) forget();
    return found;
  };
  /** Of several processes that find no key, one makes it. */
  const make = async (): Promise<TokenSeal> => {
    const made = await files.exclusive(KEY_LOCK, async () => {
      if ((await keychain.read()) === undefined) await keychain.write(newKey());
      forget();
      return find();
    });
    if (made === undefined) throw refused("the keychain keeps nothing that is written to it");
    return made;
  };
  const findOrMake = async (): Promise<TokenSeal> => (await find()) ?? make();

  return {
    ...files,
    async get(name) {
      // A keychain that cannot be used is found out before the user signs in for nothing.
      const seal = await findOrMake();
      const sealed = await files.get(name);
      if (sealed === undefined) return undefined;
      const text = await seal.open(name, sealed);
      if (text !== undefined) return text;
      // The entry may have been replaced since it was read.
      forget();
      return (await find())?.open(name, sealed);
    },
    async set(name, text) {
      const { seal } = await findOrMake();
      await files.set(name, await seal(name, text));
    },
  };
}

function newKey(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(keyLength)));
}

async function readSeal(keychain: Keychain): Promise<TokenSeal | undefined> {
  const text = await keychain.read();
  if (text === undefined) return undefined;
  const bytes = fromBase64Url(text);
  if (bytes?.length === keyLength) return createTokenSeal(bytes);
  throw refused("the entry in the keychain is of somebody else; delete it, or choose another service");
}

function refused(problem: string): McpError {
  return new McpError("unsupported", `keychainTokens: ${problem}`);
}
