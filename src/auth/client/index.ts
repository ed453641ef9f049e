import type { TokenAuthorizer } from "./authorizer.ts";
import {
  type ClientCredentialsOptions,
  createClientCredentials,
  createJwtBearer,
  type JwtBearerOptions,
} from "./machine-grants.ts";
import { createOAuth, type OAuthOptions } from "./oauth.ts";
import {
  createEnterpriseManaged,
  createTokenExchange,
  type EnterpriseManagedOptions,
  type TokenExchangeOptions,
} from "./token-exchange.ts";

export type { AuthorizedRequest, AuthorizedResponse, Authorizer } from "../../protocol/authorizer.ts";
export type { AuthorizerOptions, TokenAuthorizer } from "./authorizer.ts";
export type { AuthEvent } from "./grant.ts";
export type { AssertionContext, ClientCredentialsOptions, JwtBearerOptions } from "./machine-grants.ts";
export type { ConfidentialClient, OAuthOptions, PublicClient, RegisteredClient } from "./oauth.ts";
export type { AuthFailureReason } from "./problems.ts";
export type { Authorize, AuthorizeContext, OpenRedirect, Redirect } from "./sign-in.ts";
export type {
  EnterpriseManagedOptions,
  IdentityProvider,
  SubjectToken,
  SubjectTokenType,
  TokenExchangeOptions,
} from "./token-exchange.ts";
export type { ClientAuthMethod, ClientKey } from "./token-request.ts";
export { memoryTokens, type StoreTokensOptions, storeTokens, type TokenStore } from "./token-store.ts";

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
