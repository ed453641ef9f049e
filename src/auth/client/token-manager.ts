import { firstScopes, includesAll, type TokenChallenge, union } from "./challenge.ts";
import { canonicalUrl, type Discovery, type DiscoveryOptions, discover } from "./discovery.ts";
import { createDpopKey, type DpopKey } from "./dpop.ts";
import type { AuthEvent, TokenManagerParts } from "./grant.ts";
import { type CurrentToken, createHeldToken, type HeldToken, toTokens } from "./held-token.ts";
import { problemOf } from "./problems.ts";
import { giveBack, issuersOf, refresh, withHeld } from "./refresh.ts";

/** The token for one server: where it comes from, and how it is renewed. One call at a time. */
export interface TokenManager {
  readonly current: CurrentToken | undefined;
  /** Takes what was kept, the first time. */
  load(): Promise<void>;
  /** Whether another token is needed before the next request, as far as is known. */
  isDue(): boolean;
  /** Renews without a challenge. When that is not possible, there is no token afterwards. */
  renewEarly(): Promise<void>;
  /** Gets another token in place of one that was refused. */
  renew(challenge: TokenChallenge): Promise<void>;
  /** Replaces a rejected token without asking the user. False when that is not possible. */
  refresh(challenge: TokenChallenge): Promise<boolean>;
  /** Gets a token from whoever has to be asked, for what the server has asked for and these scopes. */
  signIn(challenge: TokenChallenge, scopes: readonly string[]): Promise<void>;
  /** Gets a token for these scopes too. */
  widen(challenge: TokenChallenge, scopes: readonly string[]): Promise<void>;
  /** Whether these scopes were asked for since this process started: to ask again is no use. */
  wasAskedFor(scopes: readonly string[]): boolean;
  signOut(): Promise<void>;
}

export function createTokenManager(parts: TokenManagerParts): TokenManager {
  const { server, grant, credentials, dpop, now } = parts;
  const held = createHeldToken({ credentials, name: canonicalUrl(server), dpop, now });
  const source = createTokenSource(parts, held);
  // Who has secrets does not show them to a server that says nothing of itself.
  const old = grant.silent ? "with-metadata" : undefined;
  let loading: Promise<void> | undefined;

  return {
    get current() {
      return held.current;
    },
    load() {
      loading ??= held.takeKept();
      return loading;
    },
    isDue: held.isDue,
    async renewEarly() {
      const { current } = held;
      held.drop();
      try {
        const challenge = source.remembered();
        const discovery = await source.find(challenge, held.last === undefined ? "no" : old);
        if (grant.silent) await source.obtain(discovery, source.scopesFor(discovery, challenge), challenge);
        else await source.refreshAt(discovery);
      } catch (error) {
        const problem = problemOf(error);
        // The server will say more when it refuses a request without a token.
        if (problem === "no-authorization-server") return;
        // Nobody could be asked: what there is may do for a while, and the server will say if not.
        if (problem !== undefined || current === undefined) throw error;
        await held.hold(current.place, current.tokens);
      }
    },
    async renew(challenge) {
      const discovery = await source.find(challenge, old);
      if (!grant.silent && (await source.refreshAt(discovery))) return;
      await source.obtain(discovery, source.scopesFor(discovery, challenge), challenge);
    },
    refresh: async (challenge) => source.refreshAt(await source.find(challenge, old)),
    async signIn(challenge, scopes) {
      const found = { ...source.remembered(), ...challenge };
      const discovery = await source.find(found, old);
      await source.obtain(discovery, union(source.scopesFor(discovery, found), scopes), found);
    },
    async widen(challenge, scopes) {
      const found = { ...source.remembered(), ...challenge };
      const discovery = await source.find(found, old);
      await source.obtain(discovery, union(source.requestedAt(discovery), scopes), found);
    },
    wasAskedFor: (scopes) => includesAll(source.asked(), scopes),
    async signOut() {
      const inUse = held.last;
      held.forget();
      const left = await credentials.exclusive(canonicalUrl(server), () => credentials.clear(canonicalUrl(server)));
      source.reset();
      const all = withHeld(left, inUse);
      for (const issuer of issuersOf(all)) source.tell("signed-out", issuer);
      await giveBack(all, parts);
    },
  };
}

/** The steps on the way to a token. */
function createTokenSource(parts: TokenManagerParts, held: HeldToken) {
  const { server, grant, credentials, fetch, now } = parts;
  const name = canonicalUrl(server);
  let asked: readonly string[] = [];

  const tell = (kind: AuthEvent["kind"], issuer: string): void =>
    parts.onEvent({ kind, server: server.origin, issuer });

  /** What the server said when it last refused a request, as far as it tells where to look. */
  const remembered = (): TokenChallenge => {
    const resourceMetadata = held.last?.place.metadataUrl;
    return resourceMetadata === undefined ? {} : { resourceMetadata };
  };

  const find = (challenge: TokenChallenge, old: DiscoveryOptions["old"]): Promise<Discovery> => {
    const known = held.last?.place;
    const required = grant.issuer ?? (grant.bound ? known?.issuer : undefined);
    return discover(server, { fetch, challenge, required, preferred: known?.issuer, old });
  };

  /** What was asked for there before: a new token must not reach less far. */
  const requestedAt = ({ issuer, resource }: Discovery): readonly string[] => {
    const { last } = held;
    return last?.place.issuer === issuer && last.place.resource === resource ? last.tokens.requested : [];
  };

  /** The key that this issuer knows. Another issuer gets another one, so that nobody can tell they are the same client. */
  const keyAt = (issuer: string): DpopKey | undefined =>
    held.last?.place.issuer === issuer ? held.last.key : undefined;

  return {
    remembered,
    find,
    requestedAt,
    asked: () => asked,
    scopesFor(discovery: Discovery, challenge: TokenChallenge): readonly string[] {
      const facts = { challenged: challenge.scope, wanted: parts.wanted, supported: discovery.scopesSupported };
      return union(requestedAt(discovery), firstScopes(facts));
    },
    async obtain(discovery: Discovery, scopes: readonly string[], challenge: TokenChallenge): Promise<void> {
      const { issuer, resource } = discovery;
      const dpop = parts.dpop ? (keyAt(issuer) ?? (await createDpopKey(now))) : undefined;
      asked = union(asked, scopes);
      tell("authorizing", issuer);
      const granted = await grant.obtain({ server, discovery, scopes, fetch, dpop, credentials, now });
      const tokens = toTokens(granted.answer, { requested: granted.scopes, dpop, now: now() });
      const place = { issuer, resource, clientId: granted.clientId, metadataUrl: challenge.resourceMetadata };
      await held.hold(place, tokens);
      const isKept = await credentials
        .exclusive(name, () => credentials.keep(name, place, tokens))
        .then(
          () => true,
          () => false,
        );
      tell("authorized", issuer);
      if (!isKept) tell("save-failed", issuer);
    },
    /** False when there is nothing to refresh, or not any more. */
    async refreshAt(discovery: Discovery): Promise<boolean> {
      const renewed = await credentials.exclusive(name, () =>
        refresh({ discovery, server: name, grant, credentials, fetch, held: held.last, bound: parts.dpop, now }),
      );
      if (renewed.kind === "none") return false;
      if (renewed.kind === "refused") {
        held.drop();
        tell("refresh-refused", discovery.issuer);
        return false;
      }
      await held.hold(renewed.place, renewed.tokens);
      if (renewed.kind === "refreshed") tell("refreshed", discovery.issuer);
      if (renewed.kind === "refreshed" && !renewed.isKept) tell("save-failed", discovery.issuer);
      return true;
    },
    /** Nothing is known of what was asked for before. */
    reset(): void {
      asked = [];
    },
    tell,
  };
}
