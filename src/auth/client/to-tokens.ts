import { McpError } from "../../model/errors.ts";
import type { DpopKey } from "./dpop.ts";
import { unauthorized } from "./problems.ts";
import { readScopes } from "./scopes.ts";
import type { TokenAnswer } from "./token-request.ts";
import type { Tokens } from "./vault.ts";

export interface TokenFacts {
  readonly requested: readonly string[];
  readonly dpop: DpopKey | undefined;
  /** Milliseconds of the time of day. */
  readonly now: number;
}

/** How long before a token expires another one is needed, at most. */
const leewayMs = 60_000;

/** The answer of a token endpoint, to be kept. Throws when it is not the kind of token that was asked for. */
export function toTokens(answer: TokenAnswer, { requested, dpop, now }: TokenFacts): Tokens {
  const { access_token: accessToken, token_type: type, expires_in: seconds, scope } = answer;
  if (!isSendable.test(accessToken)) throw new McpError("invalid-response", "the token is none that can be sent");
  if (dpop !== undefined && type !== "dpop") {
    throw unauthorized("dpop-unsupported", "the authorization server does not bind tokens to keys");
  }
  if (dpop === undefined && type === "dpop") {
    throw unauthorized("dpop-unsupported", "the token is bound to a key, and none was given");
  }
  return {
    accessToken,
    type: dpop === undefined ? "bearer" : "dpop",
    requested,
    ...(answer.refresh_token !== undefined && { refreshToken: answer.refresh_token }),
    ...(seconds !== undefined && { renewAt: now + seconds * 1000 - Math.min(leewayMs, seconds * 100) }),
    ...(scope !== undefined && { granted: readScopes(scope) }),
    ...(dpop !== undefined && { key: dpop.jwk }),
  };
}

/** What a header can hold (RFC 6750). */
const isSendable = /^[\x21-\x7e]+$/;
