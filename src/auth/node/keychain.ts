import { McpError } from "../../model/errors.ts";

/** One entry in the keychain of the system. */
export interface Keychain {
  /** Undefined when there is no such entry. */
  read(): Promise<string | undefined>;
  write(text: string): Promise<void>;
}

export interface KeychainOptions {
  /** Who the entry belongs to, as the system shows it to the user. */
  readonly service: string;
  /** The name of the entry. */
  readonly account: string;
  /** How long the user may take to unlock the keychain. */
  readonly timeoutMs: number;
}

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
