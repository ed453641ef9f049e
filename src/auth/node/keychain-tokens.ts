import { join } from "node:path";
import { McpError } from "../../protocol/errors.ts";
import { fromBase64Url, toBase64Url } from "../../std/base64.ts";
import { createTokenSeal, keyLength, type TokenSeal, type TokenStore } from "../client/token-store.ts";
import { fileTokens, stateFolder } from "./file-tokens.ts";

export interface KeychainTokensOptions {
  /** The name of your application, as the system shows it. Default `plugbay`, which all that say nothing share. */
  readonly service?: string | undefined;
  /** Where the encrypted tokens are. Default: where the system keeps the state of applications of this user. */
  readonly folder?: string | undefined;
  /** How long a user may take to unlock the keychain. Default 2 min. */
  readonly timeoutMs?: number | undefined;
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

/** One entry in the keychain of the system. */
export interface Keychain {
  /** Undefined when there is no such entry. */
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}

interface KeychainOptions {
  /** Who the entry belongs to, as the system shows it to the user. */
  readonly service: string;
  /** The name of the entry. */
  readonly account: string;
  /** How long the user may take to unlock the keychain. */
  readonly timeoutMs: number;
}

// biome-ignore lint/suspicious/noTsIgnore: here the types are there, for users they need not be
/** @ts-ignore The package is an optional peer: without it this is `any`. */
type Keyring = typeof import("@napi-rs/keyring");

/**
 * Opens an entry in the keychain of the system: Keychain on macOS, the Credential
 * Manager on Windows, a Secret Service on Linux.
 *
 * Everything rejects with `unsupported` without the package, or where there is no
 * keychain that can be used, and with `timeout` when nobody unlocks it.
 */
export function openKeychain(options: KeychainOptions, load: () => Promise<Keyring> = loadKeyring): Keychain {
  const { service, account, timeoutMs } = options;

  const use = async <T>(work: (entry: InstanceType<Keyring["AsyncEntry"]>) => Promise<T>): Promise<T> => {
    const { AsyncEntry } = await load().catch(refuseToLoad);
    try {
      // The keyring of the kernel would forget at the next start of the machine.
      const entry = new AsyncEntry(service, account, { linux: { store: "secret-service" } });
      return await within(timeoutMs, work(entry));
    } catch (error) {
      throw error instanceof McpError ? error : unusable(error);
    }
  };

  return {
    read: () => use(async (entry) => (await entry.getPassword()) ?? undefined),
    write: (text) => use((entry) => entry.setPassword(text)),
  };
}

function loadKeyring(): Promise<Keyring> {
  return import("@napi-rs/keyring");
}

function refuseToLoad(cause: unknown): never {
  const isMissing = cause instanceof Error && "code" in cause && /MODULE_NOT_FOUND$/.test(String(cause.code));
  const problem = isMissing
    ? "needs the package @napi-rs/keyring; install it with npm i @napi-rs/keyring"
    : "cannot load @napi-rs/keyring, whose part for this platform may be missing; install it anew, or use fileTokens(folder)";
  throw new McpError("unsupported", `keychainTokens: ${problem}`, { cause });
}

async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const problem = "keychainTokens: the keychain does not answer; it may wait for the user to unlock it";
    timer = setTimeout(() => reject(new McpError("timeout", problem)), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What the system says is about the keychain, never about what is in it. */
function unusable(cause: unknown): McpError {
  const reason = cause instanceof Error ? cause.message : "it failed";
  const problem = `there is no keychain that can be used here (${reason}); unlock it, or use fileTokens(folder)`;
  return new McpError("unsupported", `keychainTokens: ${problem}`, { cause });
}
