import type { TokenAuthorizer } from "./authorizer.ts";
import { type ClientCredentialsOptions, createClientCredentials } from "./client-credentials.ts";
import { createEnterpriseManaged, type EnterpriseManagedOptions } from "./enterprise-managed.ts";
import { createJwtBearer, type JwtBearerOptions } from "./jwt-bearer.ts";
import { createOAuth, type OAuthOptions } from "./oauth.ts";
import { createTokenExchange, type TokenExchangeOptions } from "./token-exchange.ts";

export type { AuthorizedAnswer, AuthorizedRequest, Authorizer } from "../../model/authorizer.ts";
export type { AuthOptions, TokenAuthorizer } from "./authorizer.ts";
export type { AuthMethod, ClientKey } from "./client-auth.ts";
export type { ClientCredentialsOptions } from "./client-credentials.ts";
export type { EnterpriseManagedOptions, IdentityProvider } from "./enterprise-managed.ts";
export type { AssertionContext, JwtBearerOptions } from "./jwt-bearer.ts";
export type { AuthEvent } from "./keeper-parts.ts";
export type { OAuthOptions, RegisteredClient } from "./oauth.ts";
export type { AuthProblem } from "./problems.ts";
export type { Authorize, AuthorizeContext, OpenRedirect, Redirect } from "./redirect.ts";
export { type StoreTokensOptions, storeTokens } from "./store-tokens.ts";
export type { SubjectToken, SubjectTokenType } from "./subject-token.ts";
export type { TokenExchangeOptions } from "./token-exchange.ts";
export { memoryTokens, type TokenStore } from "./token-store.ts";

/**
 * Signs users in to servers that want it, and keeps their tokens fresh:
 * `connect(url, { auth: oauth({ … }) })`.
 *
 * Where users sign in is found out from the server. This platform opens no
 * browser by itself, so give `authorize` and `redirectUri`, or `redirect`.
 */
export function oauth(options: OAuthOptions = {}): TokenAuthorizer {
  return createOAuth(options, {});
}

/** Authorizes a program that acts for itself, by a secret or a key. */
export function clientCredentials(options: ClientCredentialsOptions): TokenAuthorizer {
  return createClientCredentials(options, {});
}

/** Authorizes with a token that is exchanged for one of a user. */
export function tokenExchange(options: TokenExchangeOptions): TokenAuthorizer {
  return createTokenExchange(options, {});
}

/** Authorizes a workload by an assertion of the platform it runs on. One request, and nothing else is tried. */
export function jwtBearer(options: JwtBearerOptions): TokenAuthorizer {
  return createJwtBearer(options, {});
}

/** Authorizes users of a company for servers that it has approved, without asking them again. */
export function enterpriseManaged(options: EnterpriseManagedOptions): TokenAuthorizer {
  return createEnterpriseManaged(options, {});
}
