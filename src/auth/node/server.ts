/// <reference path="../../index.ts" preserve="true" />
import type { Authenticator } from "../../protocol/authenticator.ts";
import type { CheckedAuth, ClaimsSchema } from "../server/claims.ts";
import { createIntrospection, type IntrospectionOptions, introspectionFetch } from "../server/introspection.ts";
import { createJwt, type JwtOptions, jwtFetch } from "../server/jwt.ts";
import { nodeHop } from "./node-hop.ts";

export type * from "../server/index.ts";
export { anonymous, anyOf, apiKey, basic, bearer, hashApiKey, hashPassword } from "../server/index.ts";

/**
 * Takes access tokens that are JWTs (RFC 9068), checked here with the keys of
 * their issuer. Keys are fetched when first needed and kept; one that is not
 * known makes for a new look, not more often than every 30 s.
 *
 * @example
 * serveHttp(shop, { auth: jwt({ issuer: "https://login.example.com", audience: "https://shop.example.com/mcp" }) });
 */
export function jwt<const S extends ClaimsSchema = undefined>(options: JwtOptions<S>): Authenticator<CheckedAuth<S>> {
  return createJwt(options, { fetch: jwtFetch(options, nodeHop), now: Date.now });
}

/**
 * Takes tokens of any form and asks their issuer about each (RFC 7662). What it
 * says is used again for a short while.
 *
 * @example
 * serveHttp(shop, { auth: introspection({ issuer, clientId: "shop", clientSecret, audience: "https://shop.example.com/mcp" }) });
 */
export function introspection<const S extends ClaimsSchema = undefined>(
  options: IntrospectionOptions<S>,
): Authenticator<CheckedAuth<S>> {
  return createIntrospection(options, { fetch: introspectionFetch(options, nodeHop), now: Date.now });
}
