import type { TokenAuthorizer } from "../client/authorizer.ts";
import {
  type ClientCredentialsOptions,
  createClientCredentials,
  createJwtBearer,
  type JwtBearerOptions,
} from "../client/machine-grants.ts";
import { createOAuth, type OAuthOptions } from "../client/oauth.ts";
import {
  createEnterpriseManaged,
  createTokenExchange,
  type EnterpriseManagedOptions,
  type TokenExchangeOptions,
} from "../client/token-exchange.ts";
import { loopbackRedirect } from "./loopback.ts";
import { nodeHop } from "./node-hop.ts";

export type * from "../client/index.ts";
export { memoryTokens, storeTokens } from "../client/token-store.ts";
export { fileTokens } from "./file-tokens.ts";
export { type KeychainTokensOptions, keychainTokens } from "./keychain-tokens.ts";
export { type LoopbackRedirectOptions, loopbackRedirect } from "./loopback.ts";

const platform = { hop: nodeHop, redirect: loopbackRedirect };

/**
 * Signs users in to servers that want it, and keeps their tokens fresh:
 * `connect(url, { auth: oauth() })`.
 *
 * Where users sign in is found out from the server. They are sent there by
 * their browser, and come back to this machine; see `redirect` and `authorize`
 * for other ways.
 */
export function oauth(options: OAuthOptions = {}): TokenAuthorizer {
  return createOAuth(options, platform);
}

/** Authorizes a program that acts for itself, by a secret or a key. */
export function clientCredentials(options: ClientCredentialsOptions): TokenAuthorizer {
  return createClientCredentials(options, platform);
}

/** Authorizes with a token that is exchanged for one of a user. */
export function tokenExchange(options: TokenExchangeOptions): TokenAuthorizer {
  return createTokenExchange(options, platform);
}

/** Authorizes a workload by an assertion of the platform it runs on. One request, and nothing else is tried. */
export function jwtBearer(options: JwtBearerOptions): TokenAuthorizer {
  return createJwtBearer(options, platform);
}

/** Authorizes users of a company for servers that it has approved, without asking them again. */
export function enterpriseManaged(options: EnterpriseManagedOptions): TokenAuthorizer {
  return createEnterpriseManaged(options, platform);
}
