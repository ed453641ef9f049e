import type { AuthorizedAnswer, AuthorizedRequest } from "../../model/authorizer.ts";
import { McpError } from "../../model/errors.ts";
import { type TokenChallenge, tokenChallenge } from "./challenge.ts";
import type { KeeperParts } from "./keeper-parts.ts";
import { unauthorized } from "./problems.ts";
import { includesAll, readScopes } from "./scopes.ts";
import { createTokenKeeper } from "./token-keeper.ts";
import { createTurns } from "./turns.ts";

/** The tokens of one server, and what to do when it refuses them. */
export interface Session {
  headers(request: AuthorizedRequest): Promise<Readonly<Record<string, string>>>;
  refused(request: AuthorizedRequest, answer: AuthorizedAnswer): Promise<boolean>;
  answered(request: AuthorizedRequest, answer: AuthorizedAnswer): void;
  signOut(): Promise<void>;
}

/** What was tried for one request. */
interface Tries {
  /** The token it was last sent with. */
  token: string | undefined;
  renewals: number;
  stepUps: number;
  nonces: number;
}

/** Authorizations for one request: one for a token, two for wider ones. */
const maxRenewals = 1;
const maxStepUps = 2;

export function createSession(parts: KeeperParts): Session {
  const { server, grant } = parts;
  const keeper = createTokenKeeper(parts);
  const turns = createTurns();
  const tries = new WeakMap<AuthorizedRequest, Tries>();

  const triesOf = (request: AuthorizedRequest): Tries => {
    const known = tries.get(request) ?? { token: undefined, renewals: 0, stepUps: 0, nonces: 0 };
    tries.set(request, known);
    return known;
  };

  /** A token before it is asked for: the old one anew, or the first one where nobody has to be asked. */
  const prepare = async (): Promise<void> => {
    await keeper.load();
    const used = keeper.current?.tokens.accessToken;
    if (!keeper.isDue() || (used === undefined && !grant.silent)) return;
    await turns.once(`due ${used}`, async () => {
      if (keeper.isDue()) await keeper.renewEarly();
    });
  };

  const renew = async (used: string | undefined, challenge: TokenChallenge): Promise<void> => {
    await turns.once(`401 ${used}`, async () => {
      if (keeper.current === undefined || keeper.current.tokens.accessToken === used) await keeper.renew(challenge);
    });
  };

  const onUnauthorized = async (attempts: Tries, answer: AuthorizedAnswer): Promise<boolean> => {
    const challenge = tokenChallenge(answer.header("www-authenticate"), keeper.current?.tokens.type);
    if (challenge.error === "use_dpop_nonce" && attempts.nonces++ === 0) return true;
    if (keeper.current !== undefined && keeper.current.tokens.accessToken !== attempts.token) return true;
    if (attempts.renewals++ === maxRenewals) throw notTaken(server, challenge);
    await renew(attempts.token, challenge);
    return true;
  };

  /** Whether the token at hand is one that was asked for with these scopes after a request was refused. */
  const isWider = (used: string | undefined, scopes: readonly string[]): boolean => {
    const tokens = keeper.current?.tokens;
    return tokens !== undefined && tokens.accessToken !== used && includesAll(tokens.requested, scopes);
  };

  const onForbidden = async (attempts: Tries, answer: AuthorizedAnswer): Promise<boolean> => {
    const challenge = tokenChallenge(answer.header("www-authenticate"), keeper.current?.tokens.type);
    if (challenge.error !== "insufficient_scope") return false;
    const scopes = readScopes(challenge.scope);
    if (isWider(attempts.token, scopes)) return true;
    const useless = scopes.length === 0 || keeper.wasAskedFor(scopes);
    if (useless || attempts.stepUps++ === maxStepUps) throw notEnough(server, challenge);
    await turns.once(`403 ${attempts.token} ${scopes.toSorted().join(" ")}`, async () => {
      if (!isWider(attempts.token, scopes)) await keeper.widen(challenge, scopes);
    });
    return true;
  };

  return {
    async headers(request) {
      if (request.url.origin !== server.origin) throw new McpError("internal", "a token is for one server only");
      await prepare();
      const { current } = keeper;
      triesOf(request).token = current?.tokens.accessToken;
      if (current === undefined) return {};
      const { tokens, key } = current;
      if (key === undefined) return { authorization: `Bearer ${tokens.accessToken}` };
      const dpop = await key.prove(request, tokens.accessToken);
      return { authorization: `DPoP ${tokens.accessToken}`, dpop };
    },
    async refused(request, answer) {
      const attempts = triesOf(request);
      return answer.status === 401 ? onUnauthorized(attempts, answer) : onForbidden(attempts, answer);
    },
    answered(request, answer) {
      keeper.current?.key?.learn(request.url, answer.header("dpop-nonce"));
    },
    signOut: () => turns.once("sign out", () => keeper.signOut()),
  };
}

function notTaken({ origin }: URL, challenge: TokenChallenge): McpError {
  return unauthorized("invalid-token", `${origin} does not take the token it was given`, {
    challenge: { ...challenge },
  });
}

function notEnough({ origin }: URL, { scope }: TokenChallenge): McpError {
  const data = scope === undefined ? {} : { scope };
  return new McpError("forbidden", `${origin} wants a token that reaches further`, { data });
}
