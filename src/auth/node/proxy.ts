/// <reference path="../../index.ts" preserve="true" />
import type { Authenticator } from "../../protocol/authenticator.ts";
import { createOAuthProxy } from "../proxy/oauth-proxy.ts";
import type { OAuthProxyOptions } from "../proxy/settings.ts";
import type { CheckedAuth, ClaimsSchema } from "../server/claims.ts";
import { nodeHop } from "./node-hop.ts";

export type * from "../proxy/index.ts";
export { entra, github, google, oidc } from "../proxy/presets.ts";

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
 * await serveHttp(shop, { host: "0.0.0.0", allowedHosts: ["shop.example.com"], auth });
 */
export function oauthProxy<const S extends ClaimsSchema = undefined>(
  options: OAuthProxyOptions<S>,
): Authenticator<CheckedAuth<S>> {
  return createOAuthProxy(options, { hop: nodeHop, now: Date.now });
}
