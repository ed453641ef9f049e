import { decodeJwt, errors, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions, jwtVerify } from "jose";
import type { Json, JsonObject } from "../../json/json.ts";
import type { Authenticator } from "../../protocol/authenticator.ts";
import { McpError } from "../../protocol/errors.ts";
import { checkOptionNames, type OptionNames } from "../../protocol/option-names.ts";
import type { Auth } from "../../protocol/peer.ts";
import { defined } from "../../std/defined.ts";
import type { Hop, SafeFetch } from "../safe-fetch.ts";
import { type CheckedAuth, type ClaimsSchema, scopesOf } from "./claims.ts";
import { createKeys, fetchFor, type Keys } from "./keys.ts";
import { type Time, type TokenAuthOptions, tokenAuthenticator, tokenOptionNames, type Verified } from "./tokens.ts";

export interface JwtOptions<S extends ClaimsSchema = undefined> extends TokenAuthOptions<S> {
  /** The issuer of the tokens: exactly their `iss`. */
  readonly issuer: string;
  /** The audience of the tokens: this server, as the issuer names it. One of several is enough. */
  readonly audience: string | readonly string[];
  /** Where the keys are, or the keys. Default: where the metadata of the issuer says. */
  readonly jwks?: Keys | undefined;
  /** How tokens may be signed. Default: everything with a public key. */
  readonly algorithms?: readonly string[] | undefined;
  /** How far clocks may differ. Default 60 s. */
  readonly clockToleranceMs?: number | undefined;
  /** Whether metadata and keys may be on a private network, besides those named here. Default false. */
  readonly allowPrivateNetwork?: boolean | undefined;
  /**
   * The principal of a token. Default: `<issuer>#<sub>`, and `client:<issuer>#<client_id>` for a client that acts for
   * itself.
   */
  readonly toPrincipal?: ((claims: JsonObject) => string | undefined) | undefined;
}

const optionNames: OptionNames<JwtOptions> = {
  ...tokenOptionNames,
  issuer: true,
  audience: true,
  jwks: true,
  algorithms: true,
  clockToleranceMs: true,
  allowPrivateNetwork: true,
  toPrincipal: true,
};

/**
 * Takes access tokens that are JWTs (RFC 9068), checked here with the keys of
 * their issuer. Keys are fetched when first needed and kept; one that is not
 * known makes for a new look, not more often than every 30 s.
 *
 * @example
 * serveHttp(shop, { auth: jwt({ issuer: "https://login.example.com", audience: "https://shop.example.com/mcp" }) });
 */
export function jwt<const S extends ClaimsSchema = undefined>(options: JwtOptions<S>): Authenticator<CheckedAuth<S>> {
  return createJwt(options, { fetch: jwtFetch(options), now: Date.now });
}

/** How the metadata and the keys of the issuer are fetched. */
export function jwtFetch({ issuer, jwks, allowPrivateNetwork }: JwtOptions<ClaimsSchema>, hop?: Hop): SafeFetch {
  const named = [issuer, typeof jwks === "string" || jwks instanceof URL ? String(jwks) : undefined];
  return fetchFor(named, { allowPrivateNetwork, hop });
}

export function createJwt<S extends ClaimsSchema = undefined>(
  options: JwtOptions<S>,
  means: Time & { readonly fetch: SafeFetch },
): Authenticator<CheckedAuth<S>> {
  const { issuer, audience, jwks, algorithms = publicAlgorithms, clockToleranceMs = 60_000 } = options;
  checkOptionNames("jwt", options, optionNames, { scopes: "requiredScopes" });
  checkOptions(options);
  const principalOf = options.toPrincipal ?? defaultPrincipal;
  const keys = createKeys({ issuer, jwks, ...means });
  const rules = (): JWTVerifyOptions => ({
    issuer,
    audience: [audience].flat(),
    algorithms: [...algorithms],
    clockTolerance: clockToleranceMs / 1_000,
    requiredClaims: ["exp"],
    currentDate: new Date(means.now()),
  });

  const verify = async (token: string): Promise<Verified> => {
    try {
      // Tokens of other issuers cause no request for keys.
      if (decodeJwt(token).iss !== issuer) return no("the token is of another issuer");
      const { payload, protectedHeader } = await verifyWith(keys, token, rules());
      if (!isAccessToken(protectedHeader.typ)) return no("the token is not an access token");
      if ((payload.iat ?? 0) > means.now() / 1_000 + clockToleranceMs / 1_000) return no("the token is not valid yet");
      const auth = toAuth(payload, principalOf);
      return auth === undefined ? no("the token does not say whose it is") : { ok: true, auth };
    } catch (error) {
      return no(problemOf(error));
    }
  };

  const resource = options.resource ?? [audience].flat().find(isWebUrl);
  const metadata = { authorization_servers: [issuer], ...defined(options.metadata ?? {}) };
  const parts = { name: "jwt", verify, now: means.now };
  return tokenAuthenticator(parts, { ...options, ...defined({ resource }), metadata });
}

/** Algorithms whose keys may be known to everybody. With a shared one, who can check a token can make one. */
const publicAlgorithms: readonly string[] = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

function checkOptions({ issuer, audience, algorithms = [] }: JwtOptions<ClaimsSchema>): void {
  const bad = algorithms.find((name) => !publicAlgorithms.includes(name));
  if (bad !== undefined) throw new McpError("invalid-definition", `jwt: algorithm ${bad} is not accepted`);
  if (!isWebUrl(issuer)) throw new McpError("invalid-definition", "jwt: issuer must be a URL");
  if ([audience].flat().length === 0 || ![audience].flat().every((text) => typeof text === "string" && text !== "")) {
    throw new McpError("invalid-definition", "jwt: audience must say who the tokens are for");
  }
}

function isWebUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && !text.includes("#");
}

/** A token without a key id may be signed by any of several keys. */
async function verifyWith(keys: JWTVerifyGetKey, token: string, rules: JWTVerifyOptions) {
  try {
    return await jwtVerify(token, keys, rules);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return await jwtVerify(token, key, rules);
      } catch (failure) {
        if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** Many issuers do not say what a token is for. Those that do must say that it is for this. */
function isAccessToken(type: string | undefined): boolean {
  return type === undefined || /^(?:application\/)?(?:at\+)?jwt$/i.test(type);
}

function toAuth(
  payload: JWTPayload,
  principalOf: (claims: JsonObject) => string | undefined,
): Auth<JsonObject> | undefined {
  const claims = payload as JsonObject;
  const principal = principalOf(claims);
  return principal === undefined || principal === "" ? undefined : { principal, scopes: scopesOf(claims), claims };
}

/**
 * `<issuer>#<subject>` for a user, and `client:<issuer>#<client>` for a client that acts for itself: one without a subject,
 * or whose subject is the client itself (RFC 9068, 2.2), which issuers call `client_id`, `azp` or `cid`. An issuer is a URL
 * with no `#` in it, so that no client and no other issuer can have the principal of a user, whatever names they choose.
 */
export function defaultPrincipal({ iss, sub, client_id: client, azp, cid }: JsonObject): string | undefined {
  const who = isName(sub) ? sub : client;
  if (!isName(who)) return undefined;
  return [client, azp, cid].includes(who) ? `client:${iss}#${who}` : `${iss}#${who}`;
}

function isName(value: Json | undefined): value is string {
  return typeof value === "string" && value !== "";
}

function no(description: string): Verified {
  return { ok: false, description };
}

/** The problem with a token, without any part of it. Errors that are not caused by the token are thrown again. */
function problemOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "the token has expired";
  if (error instanceof errors.JWTClaimValidationFailed)
    return claimProblems.get(error.claim) ?? "a claim is missing or wrong";
  if (error instanceof errors.JWKSNoMatchingKey) return "the token is signed with a key that is not known";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "the token is wrongly signed";
  if (error instanceof errors.JOSEAlgNotAllowed) return "the token is signed in a way that is not accepted";
  if (malformed.some((kind) => error instanceof kind)) return "the token is malformed";
  throw error;
}

const malformed = [errors.JWSInvalid, errors.JWTInvalid, errors.JOSENotSupported];

const claimProblems: ReadonlyMap<string, string> = new Map([
  ["aud", "the token is not for this server"],
  ["iss", "the token is of another issuer"],
  ["exp", "the token says not when it expires"],
  ["nbf", "the token is not valid yet"],
]);
