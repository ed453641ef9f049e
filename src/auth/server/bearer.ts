import type { Authenticator } from "../../model/authenticator.ts";
import type { Auth } from "../../model/peer.ts";
import type { HttpFacts } from "../../std/http-facts.ts";
import { type TokenOptions, tokenAuthenticator } from "./tokens.ts";

/** Says who a token stands for. Undefined when it stands for nobody. Throws when it cannot tell. */
export type VerifyBearer = (token: string, http: HttpFacts) => Auth | undefined | Promise<Auth | undefined>;

/**
 * Takes bearer tokens that you check yourself. Compare secrets in constant time,
 * and take only tokens that were made for this server.
 *
 * @example
 * serveHttp(shop, { auth: bearer((token) => sessions.find(token)) });
 */
export function bearer(verify: VerifyBearer, options: TokenOptions = {}): Authenticator {
  return tokenAuthenticator(
    async (token, http) => {
      const auth = await verify(token, http);
      return auth === undefined ? { ok: false, description: "the token is not known" } : { ok: true, auth };
    },
    options,
    { now: Date.now },
  );
}
