import type { JsonObject } from "../../json/json.ts";
import { digestText } from "../../std/digest.ts";
import type { Store } from "../../store/store.ts";
import { createTokenSeal, type TokenSeal } from "../client/token-store.ts";
import type { Grant, RegisteredClient } from "./record-types.ts";
import type { AuthorizationCode, PendingSignIn, RememberedConsent } from "./sign-in.ts";

/** What a proxy keeps, by kind. */
export interface ProxyRecords {
  /** A client that has registered itself, by its id. */
  readonly client: RegisteredClient;
  /** A client ID metadata document, by the digest of its URL. */
  readonly document: RegisteredClient;
  /** A user who was sent to the provider, by the digest of the state. */
  readonly "sign-in": PendingSignIn;
  /** An authorization code, by its digest. */
  readonly code: AuthorizationCode;
  /** What a user has granted a client, by its id. */
  readonly grant: Grant;
  /** A consent that need not be asked for again, by a digest of browser and client. */
  readonly consent: RememberedConsent;
}

interface Opened {
  readonly value: object;
  /** Whether it was encrypted with another key than the first. */
  readonly isOld: boolean;
}

interface Kept<T> {
  readonly value: T;
  readonly version: string;
}

interface KeepOptions {
  /** For ever when left out. */
  readonly ttlMs?: number | undefined;
  /** Only if this is the version now; null: only if there is none. */
  readonly version?: string | null | undefined;
  readonly group?: string | undefined;
}

/** Records in a store, by kind. Each is encrypted, and bound to its name, so that none can take the place of another. */
export interface Records<T> {
  get<K extends keyof T & string>(kind: K, id: string): Promise<Kept<T[K]> | undefined>;
  /** False when the version is another one now: then nothing is written. */
  put<K extends keyof T & string>(kind: K, id: string, value: T[K], options: KeepOptions): Promise<boolean>;
  /** Gives a record another time to live. */
  touch(kind: keyof T & string, id: string, ttlMs: number): Promise<void>;
  /** False when there was none, or the version is another one now. */
  delete(kind: keyof T & string, id: string, version?: string): Promise<boolean>;
  /** Ids of the records of one kind in a group, in their order; at most 100. */
  list(kind: keyof T & string, group: string): Promise<readonly string[]>;
  /** Encrypts what a browser keeps for us, for one purpose. */
  seal(purpose: string, value: object): Promise<string>;
  /** Undefined when it was not sealed here for this purpose, or was changed. */
  open(purpose: string, sealed: string): Promise<JsonObject | undefined>;
}

interface RecordsOptions<T> {
  readonly store: Promise<Store> | (() => Promise<Store>);
  /** The first encrypts, all decrypt. */
  readonly keys: readonly string[];
  /** Keeps apart what several servers keep in one store. */
  readonly resource: string;
  /** What all names begin with. Default `oauth`. */
  readonly prefix?: string | undefined;
  /** Kinds that are kept for ever: those that an older key has encrypted are encrypted with the first one when they are read. */
  readonly lasting?: readonly (keyof T & string)[] | undefined;
}

export function createRecords<T>(options: RecordsOptions<T>): Records<T> {
  const { keys, resource, prefix = "oauth", lasting = [] } = options;
  const store = async (): Promise<Store> => (typeof options.store === "function" ? options.store() : options.store);

  let prepared: Promise<readonly [string, readonly TokenSeal[]]> | undefined;
  const prepare = (): NonNullable<typeof prepared> => {
    prepared ??= Promise.all([digestText(resource), Promise.all(keys.map(toSeal))]);
    return prepared;
  };

  const nameOf = async (kind: string, id: string): Promise<string> => {
    const [place] = await prepare();
    return `${prefix}:${kind}:${place}:${id}`;
  };

  const seal = async (name: string, value: object): Promise<string> => {
    const [, [first]] = await prepare();
    return (first as TokenSeal).seal(name, JSON.stringify(value));
  };

  const open = async (name: string, sealed: string): Promise<Opened | undefined> => {
    const [, seals] = await prepare();
    for (const [index, one] of seals.entries()) {
      const text = await one.open(name, sealed);
      if (text !== undefined) return { value: JSON.parse(text), isOld: index > 0 };
    }
    return undefined;
  };

  /** The version of a record that the first key has encrypted. Another one, if somebody else has written it meanwhile, stays. */
  const renew = async (name: string, value: object, version: string): Promise<string> =>
    (await (await store()).values.put(name, await seal(name, value), { version })) ?? version;

  const groupOf = async (group: string | undefined) => group && nameOf("group", await digestText(group));

  return {
    async get(kind, id) {
      const name = await nameOf(kind, id);
      const found = await (await store()).values.get(name);
      const opened = found && (await open(name, found.text));
      if (found === undefined || opened === undefined) return undefined;
      const isRenewed = opened.isOld && lasting.includes(kind);
      const version = isRenewed ? await renew(name, opened.value, found.version) : found.version;
      // Nobody else can seal under this name, so what opens is of this kind.
      return { value: opened.value as T[typeof kind], version };
    },
    async put(kind, id, value, { group, ...conditions }) {
      const name = await nameOf(kind, id);
      const text = await seal(name, value as object);
      const { values } = await store();
      return (await values.put(name, text, { ...conditions, group: await groupOf(group) })) !== undefined;
    },
    async touch(kind, id, ttlMs) {
      await (await store()).values.touch(await nameOf(kind, id), ttlMs);
    },
    async delete(kind, id, version) {
      return (await store()).values.delete(await nameOf(kind, id), { version });
    },
    async list(kind, group) {
      const start = await nameOf(kind, "");
      const listed = await (await store()).values.list((await groupOf(group)) ?? "");
      return listed.map(({ name }) => name.slice(start.length));
    },
    seal: async (purpose, value) => seal(await nameOf("browser", purpose), value),
    async open(purpose, sealed) {
      return (await open(await nameOf("browser", purpose), sealed))?.value as JsonObject | undefined;
    },
  };
}

/** Any secret text becomes a key of the right length. */
async function toSeal(key: string): Promise<TokenSeal> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  return createTokenSeal(new Uint8Array(digest));
}
