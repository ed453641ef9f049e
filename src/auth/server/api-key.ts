import type { JsonObject } from "../../json/json.ts";
import type { Authentication, Authenticator } from "../../protocol/authenticator.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Auth, KnownClaims } from "../../protocol/peer.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import { equalsInConstantTime } from "../client/dpop.ts";
import { admit, readAuthorization } from "./authorization.ts";
import { type CheckedAuth, type ClaimsSchema, checkScopes, createClaimsCheck, type GivenClaims } from "./claims.ts";
import { createHmac, type HashedSecret, readKnown } from "./secrets.ts";

interface ApiKeyCommon<S extends ClaimsSchema> {
  /** The header that brings the key. In `authorization` it comes as Bearer. Default `x-api-key`. */
  readonly header?: string | undefined;
  readonly requiredScopes?: readonly string[] | undefined;
  /** Checks the claims: any Standard Schema, or a plain JSON Schema. What it makes of them is what handlers see. */
  readonly claims?: S | undefined;
}

/** Keys that are listed here, as {@link hashApiKey} hashes them. */
export interface ListedKeys<S extends ClaimsSchema = undefined> extends ApiKeyCommon<S> {
  /** Hashes by name. */
  readonly keys: Readonly<Record<string, HashedSecret<GivenClaims<S>>>>;
  /** What the keys were hashed with. Keep it apart from them. */
  readonly pepper: string;
  readonly verify?: undefined;
}

/** Keys that you look up yourself. */
export interface OwnKeys<S extends ClaimsSchema = undefined> extends ApiKeyCommon<S> {
  /**
   * Resolves with the owner of the key; undefined for an unknown key. Throws when it cannot be looked up. Look it up by
   * its hash, or in constant time.
   */
  readonly verify: VerifyKey<GivenClaims<S>>;
  readonly keys?: undefined;
  readonly pepper?: undefined;
}

type VerifyKey<C> = (key: string, http: HttpRequestInfo) => Auth<C> | undefined | Promise<Auth<C> | undefined>;

export type ApiKeyOptions<S extends ClaimsSchema = undefined> = ListedKeys<S> | OwnKeys<S>;

/** A key in a form that is of no use without the pepper. Make keys of 32 random bytes or more. */
export async function hashApiKey(key: string, pepper: string): Promise<string> {
  checkPepper(pepper);
  return `${prefix}${await createHmac(pepper)(key)}`;
}

/**
 * Takes keys that clients send in a header.
 *
 * @example
 * serveHttp(shop, { auth: apiKey({ keys: { ci: { hash, scopes: ["orders:read"] } }, pepper: process.env.PEPPER }) });
 */
export function apiKey<const S extends ClaimsSchema = undefined>(
  options: ApiKeyOptions<S>,
): Authenticator<CheckedAuth<S, KnownClaims>> {
  const { requiredScopes = [] } = options;
  const header = (options.header ?? "x-api-key").toLowerCase();
  const scheme = header === "authorization" ? "Bearer" : "ApiKey";
  checkScopes("apiKey", requiredScopes);
  const checkClaims = createClaimsCheck("apiKey", options.claims);
  const find: VerifyKey<JsonObject> = options.verify ?? listed(options);

  const authenticate = async (http: HttpRequestInfo): Promise<Authentication<CheckedAuth<S>>> => {
    const key = readKey(http, header);
    if (key === undefined) return { ok: false, status: 401 };
    const auth = key.length > maxKey ? undefined : await find(key, http);
    if (auth !== undefined) return admit(auth, { checkClaims, requiredScopes, scheme });
    return { ok: false, status: 401, error: "invalid_token", description: "the key is not known", scheme };
  };

  return Object.assign(authenticate, {
    schemes: [scheme === "Bearer" ? { scheme } : { scheme, parameters: { header } }],
    credentials: [header],
    requiredScopes,
  });
}

const prefix = "hmac-sha256$";
const hashPattern = /^hmac-sha256\$[A-Za-z0-9_-]{43}$/;
const maxKey = 1_024;

function readKey(http: HttpRequestInfo, header: string): string | undefined {
  if (header !== "authorization") return http.header(header)?.trim() || undefined;
  const sent = readAuthorization(http.header(header));
  return typeof sent === "object" && sent.scheme === "bearer" ? sent.credentials : undefined;
}

/** Compares all keys, so that the duration does not depend on the key. */
function listed({ keys, pepper }: ListedKeys<ClaimsSchema>): (key: string) => Promise<Auth<JsonObject> | undefined> {
  checkPepper(pepper);
  const known = readKnown("apiKey", keys);
  const bad = known.find(({ hash }) => !hashPattern.test(hash));
  if (bad !== undefined)
    throw new McpError("invalid-definition", `apiKey ${bad.shown}: hash must be one of hashApiKey`);
  const hmac = createHmac(pepper);
  return async (key) => {
    const hash = `${prefix}${await hmac(key)}`;
    return known.filter((entry) => equalsInConstantTime(entry.hash, hash))[0]?.auth;
  };
}

function checkPepper(pepper: string | undefined): void {
  if (typeof pepper === "string" && pepper.length >= 16) return;
  throw new McpError("invalid-definition", "apiKey: pepper must be a secret of at least 16 characters");
}
