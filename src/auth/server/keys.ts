import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { McpError } from "../../model/errors.ts";
import type { SafeFetch } from "../safe-fetch.ts";
import { fetchIssuer, urlIn } from "./issuer-metadata.ts";

/** Where the keys of an issuer are, or the keys themselves. */
export type Keys = string | URL | JSONWebKeySet;

export interface KeysOptions {
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
  let found: Promise<JWTVerifyGetKey> | undefined;
  let retryAt = 0;

  const search = async (): Promise<JWTVerifyGetKey> => {
    const metadata = await fetchIssuer(issuer, fetch);
    return remoteKeys(urlIn(metadata, "jwks_uri", new URL(issuer).origin), fetch);
  };

  const searchAgain = (): Promise<JWTVerifyGetKey> => {
    const searching = search();
    retryAt = Number.POSITIVE_INFINITY;
    searching.catch(() => {
      retryAt = now() + COOL_DOWN_MS;
    });
    return searching;
  };

  return async (header, token) => {
    if (found === undefined || now() >= retryAt) found = searchAgain();
    return (await found)(header, token);
  };
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
