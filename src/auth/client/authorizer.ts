import type { Authorizer } from "../../model/authorizer.ts";
import { type Clock, systemClock } from "../../std/clock.ts";
import { createSafeFetch, type Hop, type SafeFetch } from "../safe-fetch.ts";
import { reachOfHost } from "../safe-fetch-address.ts";
import type { Grant } from "./grant.ts";
import type { AuthEvent } from "./keeper-parts.ts";
import { readScopes } from "./scopes.ts";
import { createSession, type Session } from "./session.ts";
import { memoryTokens, type TokenStore } from "./token-store.ts";
import { createVault } from "./vault.ts";
import { canonicalUrl } from "./well-known.ts";

/** What every way to a token has in common. */
export interface AuthOptions {
  /** Where tokens are kept. Default: in memory, until the process ends. */
  readonly tokens?: TokenStore;
  /** Scopes to ask for, separated by blanks, in place of all that the server knows. */
  readonly scope?: string;
  /** Binds tokens to a key, so that nobody else can use them (DPoP). Default false. */
  readonly dpop?: boolean;
  /** Whether servers on private networks may be asked: all, or hosts by name. Default: only the server itself. */
  readonly allowPrivateNetwork?: boolean | readonly string[];
  /** Hears what happens to tokens. */
  readonly onEvent?: (event: AuthEvent) => void;
  /** Sends requests for metadata and tokens. Default: what the platform does best. */
  readonly fetch?: typeof fetch;
  readonly clock?: Clock;
  /** The time of day in milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

/** What a platform has to offer for authorizing. */
export interface AuthPlatform {
  readonly hop?: Hop;
}

/** An {@link Authorizer} that gets tokens, and can give them back. */
export interface TokenAuthorizer extends Authorizer {
  /** Forgets the tokens of a server, after telling whoever gave them that they are not needed any more. */
  signOut(server: string | URL): Promise<void>;
}

/** Makes an authorizer of a way to a token. Each server has tokens of its own. */
export function createAuthorizer(options: AuthOptions, grant: Grant, platform: AuthPlatform): TokenAuthorizer {
  const { tokens = memoryTokens(), scope, dpop = false, onEvent = () => {}, now = Date.now } = options;
  const vault = createVault(tokens);
  const sessions = new Map<string, Session>();

  const sessionOf = (server: URL): Session => {
    const name = canonicalUrl(server);
    const known = sessions.get(name);
    if (known !== undefined) return known;
    const wanted = scope === undefined ? undefined : readScopes(scope);
    const fetch = safeFetchFor(server, options, platform);
    const session = createSession({ server, grant, vault, fetch, wanted, dpop, now, onEvent: safely(onEvent) });
    sessions.set(name, session);
    return session;
  };

  return {
    headers: (request) => sessionOf(request.server).headers(request),
    refused: (request, answer) => sessionOf(request.server).refused(request, answer),
    answered: (request, answer) => sessionOf(request.server).answered(request, answer),
    signOut: (server) => sessionOf(new URL(server)).signOut(),
  };
}

/** A server somewhere else has no business on this machine, or on the network it is in. */
export function safeFetchFor(server: URL, options: AuthOptions, { hop }: AuthPlatform): SafeFetch {
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

/** Whoever listens cannot break what is listened to. */
function safely(onEvent: (event: AuthEvent) => void): (event: AuthEvent) => void {
  return (event) => {
    try {
      onEvent(event);
    } catch {
      // Nothing depends on it.
    }
  };
}
