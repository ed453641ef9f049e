import type { JWK } from "jose";
import { isObject, type JsonObject } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import { nameOf } from "./digest.ts";
import { asObject } from "./fetch-metadata.ts";
import type { TokenStore } from "./token-store.ts";

/** Whose tokens they are, and for what. Tokens of one place are never used at another. */
export interface TokenPlace {
  readonly issuer: string;
  readonly resource: string;
  readonly clientId: string;
  /** Where the metadata of the resource is, when the server said so. */
  readonly metadataUrl?: string | undefined;
}

export interface Tokens {
  readonly accessToken: string;
  readonly type: "bearer" | "dpop";
  /** From when on another one is needed, some time before it expires. Milliseconds of the time of day. */
  readonly renewAt?: number;
  readonly refreshToken?: string;
  /** What was asked for, so far. */
  readonly requested: readonly string[];
  /** What was given, where it was said. */
  readonly granted?: readonly string[];
  /** The key the tokens are bound to. */
  readonly key?: JWK;
}

/** A client as an authorization server knows it, after it was registered there. */
export interface Registration {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly method: string;
  readonly redirectUri: string;
  /** Milliseconds of the time of day. */
  readonly secretExpiresAt?: number;
  /** What it was registered for, if that was said. */
  readonly scopes?: readonly string[];
}

/** Typed access to a {@link TokenStore}. What cannot be read counts as missing. */
export interface Vault {
  /** Where the tokens of a server are. */
  place(server: string): Promise<TokenPlace | undefined>;
  tokens(place: TokenPlace): Promise<Tokens | undefined>;
  /** Keeps tokens, as those of this server. */
  keep(server: string, place: TokenPlace, tokens: Tokens): Promise<void>;
  forget(server: string, place: TokenPlace): Promise<void>;
  registration(issuer: string): Promise<Registration | undefined>;
  register(issuer: string, registration: Registration | undefined): Promise<void>;
  /** Runs `task` while nobody else does for this server. */
  exclusive<T>(server: string, task: () => Promise<T>): Promise<T>;
}

export function createVault(store: TokenStore): Vault {
  const read = async (name: string): Promise<JsonObject | undefined> => {
    const parsed = parseJson((await store.get(name)) ?? "");
    return parsed.ok && isObject(parsed.value) ? parsed.value : undefined;
  };
  const write = (name: string, value: object): Promise<void> => store.set(name, JSON.stringify(value));
  const tokensName = ({ issuer, resource, clientId }: TokenPlace) => nameOf("tokens", issuer, resource, clientId);

  return {
    async place(server) {
      const kept = await read(await nameOf("place", server));
      const known = [kept?.issuer, kept?.resource, kept?.clientId].every((text) => typeof text === "string");
      return kept !== undefined && known ? asObject<TokenPlace>(kept) : undefined;
    },
    async tokens(place) {
      const kept = await read(await tokensName(place));
      const usable = typeof kept?.accessToken === "string" && Array.isArray(kept.requested);
      return kept !== undefined && usable ? asObject<Tokens>(kept) : undefined;
    },
    async keep(server, place, tokens) {
      await write(await tokensName(place), tokens);
      await write(await nameOf("place", server), place);
    },
    async forget(server, place) {
      await store.delete(await tokensName(place));
      await store.delete(await nameOf("place", server));
    },
    async registration(issuer) {
      const kept = await read(await nameOf("client", issuer));
      const usable = [kept?.clientId, kept?.method, kept?.redirectUri].every((text) => typeof text === "string");
      return kept !== undefined && usable ? asObject<Registration>(kept) : undefined;
    },
    async register(issuer, registration) {
      const name = await nameOf("client", issuer);
      await (registration === undefined ? store.delete(name) : write(name, registration));
    },
    async exclusive(server, task) {
      return store.exclusive === undefined ? task() : store.exclusive(await nameOf("lock", server), task);
    },
  };
}
