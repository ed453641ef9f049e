import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import { fetchMetadata, serverMetadataUrls } from "../client/discovery.ts";
import { createSafeFetch, type Hop, type SafeFetch } from "../safe-fetch.ts";
import { together } from "./authorization.ts";

/** Where the keys of an issuer are, or the keys themselves. */
export type Keys = string | URL | JSONWebKeySet;

interface KeysOptions {
  readonly issuer: string;
  readonly jwks?: Keys | undefined;
  readonly fetch: SafeFetch;
  now(): number;
}

/** After a search for keys has failed, nobody is asked for so long. */
const COOL_DOWN_MS = 5_000;

/** Finds the key of a token. Rejects with an error of `jose` when there is none, and with another one when nobody can tell. */
export function createKeys({ issuer, jwks, fetch, now }: KeysOptions): JWTVerifyGetKey {
  if (jwks !== undefined && typeof jwks !== "string" && !(jwks instanceof URL)) return localKeys(jwks);
  if (jwks !== undefined) return remoteKeys(jwks, fetch);
  let found: JWTVerifyGetKey | undefined;
  let failed: { readonly error: unknown; readonly until: number } | undefined;

  const search = async (): Promise<JWTVerifyGetKey> => {
    if (failed !== undefined && now() < failed.until) throw failed.error;
    try {
      const metadata = await fetchIssuer(issuer, fetch);
      found = remoteKeys(urlIn(metadata, "jwks_uri", new URL(issuer).origin), fetch);
      return found;
    } catch (error) {
      failed = { error, until: now() + COOL_DOWN_MS };
      throw error;
    }
  };
  const searchOnce = together(search);

  return async (header, token) => (found ?? (await searchOnce()))(header, token);
}

function localKeys(jwks: JSONWebKeySet): JWTVerifyGetKey {
  try {
    return createLocalJWKSet(jwks);
  } catch {
    throw new McpError("invalid-definition", "jwt: jwks must be a URL, or an object with keys");
  }
}

/** Whether a URL may be asked is decided by what fetches it. */
function remoteKeys(place: string | URL, fetch: SafeFetch): JWTVerifyGetKey {
  if (!URL.canParse(place)) throw new McpError("invalid-definition", "jwt: what should be the URL of keys is none");
  return createRemoteJWKSet(new URL(place), {
    [customFetch]: (url, { signal }) => fetch(url, { signal }),
  });
}

/** What an issuer says of itself (RFC 8414, OpenID Connect). Rejects when nothing that calls itself exactly so says it. */
export async function fetchIssuer(issuer: string, fetch: SafeFetch): Promise<JsonObject> {
  const { origin } = new URL(issuer);
  let failure: McpError | undefined;
  for (const place of serverMetadataUrls(new URL(issuer))) {
    const found = await fetchMetadata(place, fetch);
    if (found.kind === "failed") failure ??= found.error;
    if (found.kind !== "found") continue;
    if (found.document.issuer === issuer) return found.document;
    failure = new McpError("invalid-response", `the metadata at ${origin} is of another issuer`);
  }
  throw failure ?? new McpError("invalid-response", `${origin} has no metadata`);
}

/** The URL by this name in a document. Throws when there is none. */
export function urlIn(document: JsonObject, name: string, origin: string): string {
  const url = document[name];
  if (typeof url === "string" && URL.canParse(url)) return url;
  throw new McpError("invalid-response", `${origin} names no ${name}`);
}

interface FetchForOptions {
  /** Whether what an issuer names may be on a private network. Default false. */
  readonly allowPrivateNetwork?: boolean | undefined;
  /** Default: that of every platform. */
  readonly hop?: Hop | undefined;
}

/** Fetches what an issuer names. Hosts that the operator names may be on a private network. */
export function fetchFor(named: readonly (string | undefined)[], options: FetchForOptions): SafeFetch {
  const { allowPrivateNetwork = false, hop } = options;
  const hosts = named.flatMap((url) =>
    url !== undefined && URL.canParse(url) ? [new URL(url).hostname.toLowerCase()] : [],
  );
  return createSafeFetch({ hop, allowPrivateNetwork: allowPrivateNetwork || hosts });
}
