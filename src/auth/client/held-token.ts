import { McpError } from "../../protocol/errors.ts";
import { readScopes } from "./challenge.ts";
import type { Credentials, CredentialsKey, Tokens } from "./credentials.ts";
import { type DpopKey, toDpopKey } from "./dpop.ts";
import { unauthorized } from "./problems.ts";
import type { TokenAnswer } from "./token-request.ts";

/** A token that is in use. */
export interface CurrentToken {
  readonly place: CredentialsKey;
  readonly tokens: Tokens;
  readonly key: DpopKey | undefined;
}

interface HeldTokenParts {
  readonly credentials: Credentials;
  /** What the server is called in the credentials. */
  readonly name: string;
  /** Whether only tokens that are bound to a key are of use. */
  readonly dpop: boolean;
  /** Milliseconds of the time of day. */
  now(): number;
}

/** The token in use, and the one before. */
export interface HeldToken {
  readonly current: CurrentToken | undefined;
  /** What was in use last, which tells where to look for another one, and what for. */
  readonly last: CurrentToken | undefined;
  /** Whether another token is needed before the next request, as far as is known. */
  isDue(): boolean;
  hold(place: CredentialsKey, tokens: Tokens): Promise<void>;
  /** Uses no token. */
  drop(): void;
  /** Uses no token, and does not know of an earlier one. */
  forget(): void;
  /** Uses what was kept, if it is of use. */
  takeKept(): Promise<void>;
}

export function createHeldToken({ credentials, name, dpop, now }: HeldTokenParts): HeldToken {
  let current: CurrentToken | undefined;
  let last: CurrentToken | undefined;

  const hold = async (place: CredentialsKey, tokens: Tokens): Promise<void> => {
    const known = last?.tokens.key?.x === tokens.key?.x ? last?.key : undefined;
    const key = tokens.key === undefined ? undefined : (known ?? (await toDpopKey(tokens.key, now)));
    current = { place, tokens, key };
    last = current;
  };

  return {
    get current() {
      return current;
    },
    get last() {
      return last;
    },
    isDue() {
      return current === undefined || (current.tokens.renewAt !== undefined && current.tokens.renewAt <= now());
    },
    hold,
    drop() {
      current = undefined;
    },
    forget() {
      current = undefined;
      last = undefined;
    },
    async takeKept() {
      const place = await credentials.place(name);
      const tokens = place === undefined ? undefined : await credentials.tokens(place);
      const isOfUse = tokens !== undefined && dpop === (tokens.key !== undefined);
      if (place !== undefined && isOfUse) await hold(place, tokens);
    },
  };
}

interface TokenFacts {
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
  if (!isSendable.test(accessToken))
    throw new McpError("invalid-response", "the token has characters that cannot be sent in a header", {
      data: { ok: true },
    });
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
