import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import { fetchMetadata, serverMetadataUrls } from "../client/discovery.ts";
import { createSafeFetch, type Hop, objectOf, type SafeFetch } from "../safe-fetch.ts";
import { together } from "./authorization.ts";

/** Where the keys of an issuer are, or the keys themselves. */
export type Keys = string | URL | JSONWebKeySet;

interface KeysOptions {
  readonly issuer: string;
  readonly jwks?: Keys | undefined;
  readonly fetch: SafeFetch;
  now(): number;
}

/** After a failed request for keys, no other one is sent for this time. */
const COOL_DOWN_MS = 5_000;

/** Finds the key of a token. Rejects with an error of `jose` when there is none, and with another one when nobody can tell. */
export function createKeys({ issuer, jwks, fetch, now }: KeysOptions): JWTVerifyGetKey {
  if (jwks !== undefined && typeof jwks !== "string" && !(jwks instanceof URL)) return localKeys(jwks);
  if (jwks !== undefined) return remoteKeys(jwks, fetch, now);
  let found: JWTVerifyGetKey | undefined;

  const search = withCoolDown(now, async (): Promise<JWTVerifyGetKey> => {
    const metadata = await fetchIssuer(issuer, fetch);
    found = remoteKeys(urlIn(metadata, "jwks_uri", new URL(issuer).origin), fetch, now);
    return found;
  });
  const searchOnce = together(search);

  return async (header, token) => (found ?? (await searchOnce()))(header, token);
}

/** After a failure it is not tried again for a while; requests meanwhile get the same error. */
function withCoolDown<A extends readonly unknown[], T>(
  now: () => number,
  work: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  let failed: { readonly error: unknown; readonly until: number } | undefined;
  return async (...args) => {
    if (failed !== undefined && now() < failed.until) throw failed.error;
    try {
      return await work(...args);
    } catch (error) {
      failed = { error, until: now() + COOL_DOWN_MS };
      throw error;
    }
  };
}

function localKeys(jwks: JSONWebKeySet): JWTVerifyGetKey {
  try {
    return createLocalJWKSet(jwks);
  } catch {
    throw new McpError("invalid-definition", "jwt: jwks must be a URL, or an object with keys");
  }
}

/** The keys at a URL. Whoever needs them at the same time shares one request. Whether the URL may be asked is decided by what fetches it. */
function remoteKeys(place: string | URL, fetch: SafeFetch, now: () => number): JWTVerifyGetKey {
  if (!URL.canParse(place)) throw new McpError("invalid-definition", "jwt: the address of the keys is not a URL");
  const url = new URL(place);
  const ask = withCoolDown(now, async (signal: AbortSignal) => {
    const response = await fetch(url, { signal });
    const document = response.ok ? await objectOf(response) : undefined;
    if (Array.isArray(document?.keys)) return Response.json(document);
    throw new McpError("http-error", `${url.origin} answered ${response.status} and no keys when asked for them`);
  });
  return createRemoteJWKSet(url, { [customFetch]: (_url, { signal }) => ask(signal) });
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
