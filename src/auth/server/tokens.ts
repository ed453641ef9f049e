import type { JsonObject } from "../../json/json.ts";
import type { Authenticator, AuthRejection, AuthScheme, ResourceMetadata } from "../../protocol/authenticator.ts";
import { McpError } from "../../protocol/errors.ts";
import type { OptionNames } from "../../protocol/option-names.ts";
import type { Auth, KnownClaims } from "../../protocol/peer.ts";
import { defined } from "../../std/defined.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import { admit, readAuthorization } from "./authorization.ts";
import {
  type CheckedAuth,
  type ClaimsSchema,
  checkScopes,
  createClaimsCheck,
  type GivenClaims,
  type ImpliedScopes,
  withImplied,
} from "./claims.ts";
import { createPossessionCheck, type DpopOptions, dpopAlgorithms } from "./dpop.ts";

/** What is common to all ways to take tokens. */
export interface TokenAuthOptions<S extends ClaimsSchema = undefined> {
  /**
   * Checks the claims of tokens: any Standard Schema, or a plain JSON Schema. What
   * it makes of them is what handlers see. Tokens whose claims do not fit are
   * refused, and `onWarning` hears why. Default: claims are taken as they are.
   */
  readonly claims?: S | undefined;
  /** Scopes that every request takes. Default none. */
  readonly requiredScopes?: readonly string[] | undefined;
  /** Scopes that hold others, such as `{ admin: ["read", "write"] }`. */
  readonly impliedScopes?: ImpliedScopes | undefined;
  /** The URL of this server, as clients know it. Default: the audience if that is one, else what the client called. */
  readonly resource?: string | undefined;
  /** Further metadata for clients of this server (RFC 9728), such as `scopes_supported` or `resource_name`. */
  readonly metadata?: ResourceMetadata | undefined;
  /** Offers tokens that are bound to a key. Those that are get checked in any case. */
  readonly dpop?: boolean | DpopOptions | undefined;
}

export const tokenOptionNames: OptionNames<TokenAuthOptions> = {
  claims: true,
  requiredScopes: true,
  impliedScopes: true,
  resource: true,
  metadata: true,
  dpop: true,
};

/** The principal of a token, or the problem with it. It must not contain parts of the token. */
export type Verified =
  | { readonly ok: true; readonly auth: Auth<JsonObject> }
  | { readonly ok: false; readonly description: string };

/** Throws when the token cannot be checked. */
export type TokenCheck = (token: string, http: HttpRequestInfo) => Verified | Promise<Verified>;

/** What helpers take from outside, so that tests own it. */
export interface Time {
  /** Milliseconds of the time of day. */
  now(): number;
}

/** `name` is that of the helper, for messages. */
export interface TokenParts extends Time {
  readonly name: string;
  readonly verify: TokenCheck;
}

export function tokenAuthenticator<S extends ClaimsSchema>(
  { name, verify, now }: TokenParts,
  options: TokenAuthOptions<S>,
): Authenticator<CheckedAuth<S>> {
  const { requiredScopes = [], impliedScopes: implies, resource, dpop = false } = options;
  const checkClaims = createClaimsCheck(name, options.claims);
  checkScopes("requiredScopes", requiredScopes);
  if (resource !== undefined) checkResource(resource);
  const bound = typeof dpop === "boolean" ? {} : dpop;
  const checkPossession = createPossessionCheck({ ...bound, resource, now });
  const missing: AuthRejection = { ok: false, status: 401 };

  const authenticate: Authenticator<CheckedAuth<S>> = async (http) => {
    const sent = readAuthorization(http.header("authorization"));
    if (sent === "absent") return missing;
    if (sent === "malformed") return invalid("the authorization header is malformed");
    const { scheme, credentials: token } = sent;
    if (scheme !== "bearer" && scheme !== "dpop") return missing;
    const verified = await verify(token, http);
    if (!verified.ok) return { ...invalid(verified.description), scheme };
    const { auth } = verified;
    const refusal = await checkPossession({
      scheme,
      token,
      principal: auth.principal,
      claims: auth.claims ?? {},
      http,
    });
    if (refusal !== undefined) return refusal;
    const scopes = withImplied(auth.scopes ?? [], implies);
    return admit({ ...auth, scopes }, { checkClaims, requiredScopes, scheme });
  };

  return Object.assign(authenticate, {
    schemes: schemesOf(dpop !== false, bound.required === true),
    requiredScopes,
    metadata: metadataOf(options),
  });
}

function invalid(description: string): AuthRejection {
  return { ok: false, status: 401, error: "invalid_token", description };
}

/** Bearer comes first where both will do: clients that know no other may look no further. */
function schemesOf(offered: boolean, required: boolean): readonly AuthScheme[] {
  const proven: AuthScheme = { scheme: "DPoP", parameters: { algs: dpopAlgorithms.join(" ") } };
  if (required) return [proven];
  return offered ? [{ scheme: "Bearer" }, proven] : [{ scheme: "Bearer" }];
}

function metadataOf({
  resource,
  requiredScopes = [],
  dpop = false,
  metadata,
}: TokenAuthOptions<ClaimsSchema>): ResourceMetadata | undefined {
  if (metadata === undefined && resource === undefined) return undefined;
  return {
    ...defined({ resource }),
    bearer_methods_supported: ["header"],
    ...(requiredScopes.length > 0 && { scopes_supported: requiredScopes }),
    ...(dpop !== false && { dpop_signing_alg_values_supported: dpopAlgorithms }),
    ...(typeof dpop === "object" && dpop.required === true && { dpop_bound_access_tokens_required: true }),
    ...defined(metadata ?? {}),
  };
}

function checkResource(resource: string): void {
  const isUrl = URL.canParse(resource) && /^https?:$/.test(new URL(resource).protocol) && !resource.includes("#");
  if (!isUrl) throw new McpError("invalid-definition", "resource must be the URL of this server, without fragment");
}

/** Resolves with the principal of a token. Undefined for an invalid token. Throws when it cannot be checked. */
export type VerifyToken<C = KnownClaims> = (
  token: string,
  http: HttpRequestInfo,
) => Auth<C> | undefined | Promise<Auth<C> | undefined>;

/**
 * Takes bearer tokens that you check yourself. Compare secrets in constant time,
 * and take only tokens that were made for this server.
 *
 * @example
 * serveHttp(shop, { auth: bearer((token) => sessions.find(token)) });
 */
export function bearer<const S extends ClaimsSchema = undefined>(
  verify: VerifyToken<GivenClaims<S>>,
  options: TokenAuthOptions<S> = {},
): Authenticator<CheckedAuth<S, KnownClaims>> {
  const parts: TokenParts = {
    name: "bearer",
    now: Date.now,
    async verify(token, http) {
      const auth = await verify(token, http);
      return auth === undefined ? { ok: false, description: "the token is not known" } : { ok: true, auth };
    },
  };
  return tokenAuthenticator(parts, options);
}
