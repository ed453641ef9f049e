import type { Authenticator } from "../../model/authenticator.ts";
import type { Auth, KnownClaims } from "../../model/peer.ts";
import type { HttpFacts } from "../../std/http-facts.ts";
import type { CheckedAuth, ClaimsSchema, GivenClaims } from "./claims.ts";
import { type TokenOptions, type TokenParts, tokenAuthenticator } from "./tokens.ts";

/** Says who a token stands for. Undefined when it stands for nobody. Throws when it cannot tell. */
export type VerifyBearer<C = KnownClaims> = (
  token: string,
  http: HttpFacts,
) => Auth<C> | undefined | Promise<Auth<C> | undefined>;

/**
 * Takes bearer tokens that you check yourself. Compare secrets in constant time,
 * and take only tokens that were made for this server.
 *
 * @example
 * serveHttp(shop, { auth: bearer((token) => sessions.find(token)) });
 */
export function bearer<const S extends ClaimsSchema = undefined>(
  verify: VerifyBearer<GivenClaims<S>>,
  options: TokenOptions<S> = {},
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
