import type { AuthorizedRequest, AuthorizedResponse, Authorizer, RefusedOptions } from "../../protocol/authorizer.ts";
import { McpError } from "../../protocol/errors.ts";
import { reachOfHost } from "../../std/address-reach.ts";
import { type Clock, systemClock } from "../../std/clock.ts";
import { createSafeFetch, type Hop, type SafeFetch } from "../safe-fetch.ts";
import { includesAll, readScopes, type TokenChallenge, tokenChallenge } from "./challenge.ts";
import { createCredentials } from "./credentials.ts";
import { canonicalUrl } from "./discovery.ts";
import type { AuthEvent, Grant, TokenManagerParts } from "./grant.ts";
import { unauthorized } from "./problems.ts";
import { createTokenManager } from "./token-manager.ts";
import { memoryTokens, type TokenStore } from "./token-store.ts";

/** What every way to a token has in common. */
export interface AuthorizerOptions {
  /** Where tokens are kept. Default: in memory, until the process ends. */
  readonly tokens?: TokenStore | undefined;
  /** Scopes to ask for, in place of all that the server knows. */
  readonly scopes?: readonly string[] | undefined;
  /** Binds tokens to a key, so that a stolen token cannot be used (DPoP). Default false. */
  readonly dpop?: boolean | undefined;
  /** Whether servers on private networks may be asked: all, or hosts by name. Default: only the server itself. */
  readonly allowPrivateNetwork?: boolean | readonly string[] | undefined;
  /** Called with events of tokens. */
  readonly onEvent?: ((event: AuthEvent) => void) | undefined;
  /** Sends requests for metadata and tokens. Default: what the platform does best. */
  readonly fetch?: typeof fetch | undefined;
  readonly clock?: Clock | undefined;
  /** The time of day in milliseconds. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** What a platform has to offer for authorizing. */
export interface AuthPlatform {
  readonly hop?: Hop;
}

/** An {@link Authorizer} that gets tokens, and can give them back. */
export interface TokenAuthorizer extends Authorizer {
  /** Gets a token for a server now, asking the user where that is needed, with the scopes that the server has asked for. */
  signIn(server: string | URL): Promise<void>;
  /** Deletes the tokens of a server, after revoking them at their issuers. */
  signOut(server: string | URL): Promise<void>;
}

/** Makes an authorizer of a way to a token. Each server has tokens of its own. */
export function createAuthorizer(options: AuthorizerOptions, grant: Grant, platform: AuthPlatform): TokenAuthorizer {
  const { tokens = memoryTokens(), scopes, dpop = false, onEvent = () => {}, now = Date.now } = options;
  const credentials = createCredentials(tokens);
  const sessions = new Map<string, Session>();

  const sessionOf = (server: URL): Session => {
    const name = canonicalUrl(server);
    const known = sessions.get(name);
    if (known !== undefined) return known;
    const wanted = scopes && [...new Set(scopes)];
    const fetch = safeFetchFor(server, options, platform);
    const session = createSession({ server, grant, credentials, fetch, wanted, dpop, now, onEvent: safely(onEvent) });
    sessions.set(name, session);
    return session;
  };

  return {
    headers: (request) => sessionOf(request.server).headers(request),
    refused: (request, answer, how) => sessionOf(request.server).refused(request, answer, how),
    answered: (request, answer) => sessionOf(request.server).answered(request, answer),
    signIn: (server) => sessionOf(new URL(server)).signIn(),
    signOut: (server) => sessionOf(new URL(server)).signOut(),
  };
}

/** A server somewhere else has no business on this machine, or on the network it is in. */
export function safeFetchFor(server: URL, options: AuthorizerOptions, { hop }: AuthPlatform): SafeFetch {
  const { allowPrivateNetwork: allowed = false, clock = systemClock } = options;
  return createSafeFetch({
    hop: options.fetch === undefined ? hop : hopBy(options.fetch),
    allowInsecureLoopback: isLocal(server),
    allowPrivateNetwork: typeof allowed === "boolean" ? allowed || [server.hostname] : [...allowed, server.hostname],
    clock,
  });
}

export function isLocal({ hostname }: URL): boolean {
  return reachOfHost(hostname) === "loopback";
}

function hopBy(given: typeof fetch): Hop {
  return ({ url, method, headers, body, signal }) =>
    given(url, { method, headers, signal, redirect: "manual", ...(body !== undefined && { body }) });
}

/** A listener that throws must not break the authorizer. */
function safely(onEvent: (event: AuthEvent) => void): (event: AuthEvent) => void {
  return (event) => {
    try {
      onEvent(event);
    } catch {
      // Nothing depends on it.
    }
  };
}

/** The tokens of one server, and what to do when it refuses them. */
interface Session {
  headers(request: AuthorizedRequest): Promise<Readonly<Record<string, string>>>;
  refused(request: AuthorizedRequest, answer: AuthorizedResponse, options?: RefusedOptions): Promise<boolean>;
  signIn(): Promise<void>;
  answered(request: AuthorizedRequest, answer: AuthorizedResponse): void;
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

function createSession(parts: TokenManagerParts): Session {
  const { server, grant } = parts;
  const manager = createTokenManager(parts);
  const turns = createTurns();
  const tries = new WeakMap<AuthorizedRequest, Tries>();
  const wanting = createWanting(server);

  const triesOf = (request: AuthorizedRequest): Tries => {
    const known = tries.get(request) ?? { token: undefined, renewals: 0, stepUps: 0, nonces: 0 };
    tries.set(request, known);
    return known;
  };

  /** A token before it is asked for: the old one anew, or the first one where nobody has to be asked. */
  const prepare = async (): Promise<void> => {
    await manager.load();
    const used = manager.current?.tokens.accessToken;
    if (!manager.isDue() || (used === undefined && !grant.silent)) return;
    await turns.once(`due ${used}`, async () => {
      if (manager.isDue()) await manager.renewEarly();
    });
  };

  const renew = async (used: string | undefined, challenge: TokenChallenge, interactive: boolean): Promise<void> => {
    const mayObtain = grant.silent || interactive;
    await turns.once(`401 ${interactive} ${used}`, async () => {
      if (manager.current !== undefined && manager.current.tokens.accessToken !== used) return;
      if (mayObtain) await manager.renew(challenge);
      else if (!(await manager.refresh(challenge))) throw wanting.putOff(challenge, []);
    });
  };

  const onUnauthorized = async (
    attempts: Tries,
    answer: AuthorizedResponse,
    interactive: boolean,
  ): Promise<boolean> => {
    const challenge = tokenChallenge(answer.header("www-authenticate"), manager.current?.tokens.type);
    if (challenge.error === "use_dpop_nonce" && attempts.nonces++ === 0) return true;
    if (manager.current !== undefined && manager.current.tokens.accessToken !== attempts.token) return true;
    if (attempts.renewals++ === maxRenewals) throw notTaken(server, challenge);
    await renew(attempts.token, challenge, interactive);
    return true;
  };

  /** Whether the token at hand is one that was asked for with these scopes after a request was refused. */
  const isWider = (used: string | undefined, scopes: readonly string[]): boolean => {
    const tokens = manager.current?.tokens;
    return tokens !== undefined && tokens.accessToken !== used && includesAll(tokens.requested, scopes);
  };

  const onForbidden = async (attempts: Tries, answer: AuthorizedResponse, interactive: boolean): Promise<boolean> => {
    const challenge = tokenChallenge(answer.header("www-authenticate"), manager.current?.tokens.type);
    if (challenge.error !== "insufficient_scope") return false;
    const scopes = readScopes(challenge.scope);
    if (isWider(attempts.token, scopes)) return true;
    const useless = scopes.length === 0 || manager.wasAskedFor(scopes);
    if (useless || attempts.stepUps++ === maxStepUps) throw notEnough(server, challenge);
    if (!interactive && !grant.silent) throw wanting.putOff(challenge, scopes);
    await turns.once(`403 ${attempts.token} ${scopes.toSorted().join(" ")}`, async () => {
      if (!isWider(attempts.token, scopes)) await manager.widen(challenge, scopes);
    });
    return true;
  };

  return {
    async headers(request) {
      if (request.url.origin !== server.origin) throw new McpError("internal", "a token is for one server only");
      await prepare();
      const { current } = manager;
      triesOf(request).token = current?.tokens.accessToken;
      if (current === undefined) return {};
      const { tokens, key } = current;
      if (key === undefined) return { authorization: `Bearer ${tokens.accessToken}` };
      const dpop = await key.prove(request, tokens.accessToken);
      return { authorization: `DPoP ${tokens.accessToken}`, dpop };
    },
    async refused(request, answer, { interactive = true } = {}) {
      const attempts = triesOf(request);
      return answer.status === 401
        ? onUnauthorized(attempts, answer, interactive)
        : onForbidden(attempts, answer, interactive);
    },
    signIn: () =>
      turns.once("sign in", async () => {
        await manager.load();
        await wanting.settle(manager.signIn);
      }),
    answered(request, answer) {
      manager.current?.key?.learn(request.url, answer.header("dpop-nonce"));
    },
    signOut: () => turns.once("sign out", () => manager.signOut()),
  };
}

/** What a server wanted when nobody could be asked. */
interface Wanting {
  /** Remembers what for. Returns the error that says so. */
  putOff(challenge: TokenChallenge, scopes: readonly string[]): McpError;
  /** Does what was put off; it stays so when that fails. */
  settle(signIn: (challenge: TokenChallenge, scopes: readonly string[]) => Promise<void>): Promise<void>;
}

function createWanting(server: URL): Wanting {
  let last: TokenChallenge = {};
  let wanted: readonly string[] = [];

  return {
    putOff(challenge, scopes) {
      last = challenge;
      wanted = [...new Set([...wanted, ...scopes])];
      return interactionRequired(server, scopes);
    },
    async settle(signIn) {
      await signIn(last, wanted);
      wanted = [];
    },
  };
}

function interactionRequired({ origin }: URL, scopes: readonly string[]): McpError {
  const what = scopes.length === 0 ? "needs its user to sign in" : `needs its user to sign in with ${scopes.join(" ")}`;
  return unauthorized("interaction-required", `${origin} ${what}: call signIn`, {
    ...(scopes.length > 0 && { scopes }),
  });
}

function notTaken({ origin }: URL, challenge: TokenChallenge): McpError {
  return unauthorized("invalid-token", `${origin} does not take the token it was given`, {
    challenge: { ...challenge },
  });
}

function notEnough({ origin }: URL, { scope }: TokenChallenge): McpError {
  const scopes = readScopes(scope);
  const lacks = scopes.length === 0 ? "a scope that the server needs" : `scope ${scopes.join(" ")}`;
  return new McpError("forbidden", `the access token for ${origin} lacks ${lacks}; sign in again with it`, {
    data: { scopes },
  });
}

/** Lets one task after the other run. */
interface Turns {
  /**
   * Runs `task` in its turn. Who asks for the same, by its name, before that is
   * over gets the same outcome, also when it fails.
   */
  once(name: string, task: () => Promise<void>): Promise<void>;
}

function createTurns(): Turns {
  const open = new Map<string, Promise<void>>();
  let last: Promise<void> = Promise.resolve();

  return {
    once(name, task) {
      const under = open.get(name);
      if (under !== undefined) return under;
      const turn = last.then(task).finally(() => open.delete(name));
      last = turn.catch(() => {});
      open.set(name, turn);
      return turn;
    },
  };
}
