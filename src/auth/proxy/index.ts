import type { Authenticator } from "../../protocol/authenticator.ts";
import type { CheckedAuth, ClaimsSchema } from "../server/claims.ts";
import { createOAuthProxy } from "./oauth-proxy.ts";
import type { OAuthProxyOptions } from "./settings.ts";

export type {
  Authentication,
  Authenticator,
  AuthRejection,
  AuthRoute,
  AuthScheme,
  ResourceMetadata,
  RouteAnswer,
} from "../../protocol/authenticator.ts";
export type { Auth, AuthClaims } from "../../protocol/peer.ts";
export type { HttpRequestInfo } from "../../std/http-request-info.ts";
export type { CheckedAuth } from "../server/claims.ts";
export type { ConsentPage, ConsentRequest } from "./consent-page.ts";
export {
  type EntraOptions,
  entra,
  type GithubOptions,
  github,
  google,
  type OidcOptions,
  oidc,
} from "./presets.ts";
export type { IdentityProviderPreset, OpenIdProvider, PlainOAuthProvider, ProviderClientOptions } from "./provider.ts";
export type { OAuthProxyLimits } from "./quota.ts";
export type { OAuthProxyOptions } from "./settings.ts";
export type { SignedInUser } from "./upstream.ts";

/**
 * Lets clients sign in that know nothing but MCP, by an identity provider that knows nothing of it: an authorization
 * server in front of a client that was registered with the provider by hand.
 *
 * Clients get tokens of this server, for this server; those of the provider stay here, and handlers get them by
 * `ctx.auth.upstreamToken()`. Its routes are served by whatever it is passed to as `auth`.
 *
 * @example
 * const provider = github({ clientId: process.env.GITHUB_ID, clientSecret: process.env.GITHUB_SECRET });
 * const auth = oauthProxy({ provider, resource: "https://shop.example.com/mcp", store, keys: [process.env.PROXY_KEY] });
 * export default { fetch: toFetchHandler(shop, { auth, allowedHosts: ["shop.example.com"] }) };
 */
export function oauthProxy<const S extends ClaimsSchema = undefined>(
  options: OAuthProxyOptions<S>,
): Authenticator<CheckedAuth<S>> {
  return createOAuthProxy(options, { now: Date.now });
}
