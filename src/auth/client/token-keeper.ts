import type { SafeFetch } from "../safe-fetch.ts";
import type { TokenChallenge } from "./challenge.ts";
import { type Discovery, type DiscoveryOptions, discover } from "./discovery.ts";
import { createDpopKey, type DpopKey, toDpopKey } from "./dpop.ts";
import type { Grant } from "./grant.ts";
import { problemOf } from "./problems.ts";
import { refresh } from "./refresh.ts";
import { revoke } from "./revoke.ts";
import { firstScopes, includesAll, union } from "./scopes.ts";
import { toTokens } from "./to-tokens.ts";
import type { TokenPlace, Tokens, Vault } from "./vault.ts";
import { canonicalUrl } from "./well-known.ts";

/** What happens to tokens, for logs and for users. There are no secrets in it. */
export interface AuthEvent {
  readonly kind: "authorizing" | "authorized" | "refreshed" | "refresh-refused" | "signed-out";
  /** The origin of the server that the token is for. */
  readonly server: string;
  readonly issuer: string;
}

export interface KeeperParts {
  readonly server: URL;
  readonly grant: Grant;
  readonly vault: Vault;
  readonly fetch: SafeFetch;
  /** The scopes the user wants. */
  readonly wanted: readonly string[] | undefined;
  readonly dpop: boolean;
  /** Milliseconds of the time of day. */
  now(): number;
  onEvent(event: AuthEvent): void;
}

/** A token that is in use. */
export interface Held {
  readonly place: TokenPlace;
  readonly tokens: Tokens;
  readonly key: DpopKey | undefined;
}

/** The token for one server: where it comes from, and how it is renewed. One call at a time. */
export interface TokenKeeper {
  readonly current: Held | undefined;
  /** Takes what was kept, the first time. */
  load(): Promise<void>;
  /** Whether another token is needed before the next request, as far as is known. */
  isDue(): boolean;
  /** Renews without a challenge. When that is not possible, there is no token afterwards. */
  renewEarly(): Promise<void>;
  /** Gets another token in place of one that was refused. */
  renew(challenge: TokenChallenge): Promise<void>;
  /** Gets a token for these scopes too. */
  widen(challenge: TokenChallenge, scopes: readonly string[]): Promise<void>;
  /** Whether these scopes were asked for since this process started: to ask again is no use. */
  wasAskedFor(scopes: readonly string[]): boolean;
  signOut(): Promise<void>;
}

export function createTokenKeeper(parts: KeeperParts): TokenKeeper {
  const { server, grant, vault, fetch, now } = parts;
  const name = canonicalUrl(server);
  let current: Held | undefined;
  /** What was in use last, which tells where to look, and what for. */
  let last: Held | undefined;
  let loading: Promise<void> | undefined;
  let asked: readonly string[] = [];

  const tell = (kind: AuthEvent["kind"], issuer: string): void =>
    parts.onEvent({ kind, server: server.origin, issuer });

  const hold = async (place: TokenPlace, tokens: Tokens): Promise<void> => {
    const known = last?.tokens.key?.x === tokens.key?.x ? last?.key : undefined;
    const key = tokens.key === undefined ? undefined : (known ?? (await toDpopKey(tokens.key, now)));
    current = { place, tokens, key };
    last = current;
  };

  const takeKept = async (): Promise<void> => {
    const place = await vault.place(name);
    const tokens = place === undefined ? undefined : await vault.tokens(place);
    // A token that is not bound to a key is not what was asked for, and the other way round.
    if (place !== undefined && tokens !== undefined && parts.dpop === (tokens.key !== undefined)) {
      await hold(place, tokens);
    }
  };

  /** What the server said when it last refused a request, as far as it tells where to look. */
  const remembered = (): TokenChallenge => {
    const resourceMetadata = last?.place.metadataUrl;
    return resourceMetadata === undefined ? {} : { resourceMetadata };
  };

  const find = (challenge: TokenChallenge, old: DiscoveryOptions["old"]): Promise<Discovery> => {
    const known = last?.place;
    const required = grant.issuer ?? (grant.bound ? known?.issuer : undefined);
    return discover(server, { fetch, challenge, required, preferred: known?.issuer, old });
  };
  // Who has secrets does not show them to a server that says nothing of itself.
  const old = grant.silent ? "with-metadata" : undefined;

  const obtain = async (discovery: Discovery, scopes: readonly string[], challenge: TokenChallenge): Promise<void> => {
    const { issuer, resource } = discovery;
    const dpop = parts.dpop ? (last?.key ?? (await createDpopKey(now))) : undefined;
    asked = union(asked, scopes);
    tell("authorizing", issuer);
    const granted = await grant.obtain({ server, discovery, scopes, fetch, dpop, vault, now });
    const tokens = toTokens(granted.answer, { requested: granted.scopes, dpop, now: now() });
    const place = { issuer, resource, clientId: granted.clientId, metadataUrl: challenge.resourceMetadata };
    await vault.keep(name, place, tokens);
    await hold(place, tokens);
    tell("authorized", issuer);
  };

  /** What was asked for there before: a new token must not reach less far. */
  const requestedAt = ({ issuer, resource }: Discovery): readonly string[] => {
    const same = last?.place.issuer === issuer && last.place.resource === resource;
    return same ? (last?.tokens.requested ?? []) : [];
  };

  const scopesFor = (discovery: Discovery, challenge: TokenChallenge): readonly string[] => {
    const facts = { challenged: challenge.scope, wanted: parts.wanted, supported: discovery.scopesSupported };
    return union(requestedAt(discovery), firstScopes(facts));
  };

  const refreshAt = async (discovery: Discovery): Promise<boolean> => {
    const used = last?.tokens.accessToken;
    const renewed = await vault.exclusive(name, () =>
      refresh({ discovery, server: name, grant, vault, fetch, used, bound: parts.dpop, key: last?.key, now }),
    );
    if (renewed.kind === "refused") {
      current = undefined;
      tell("refresh-refused", discovery.issuer);
    }
    if (renewed.kind === "none" || renewed.kind === "refused") return false;
    await hold(renewed.place, renewed.tokens);
    if (renewed.kind === "refreshed") tell("refreshed", discovery.issuer);
    return true;
  };

  const isDue = (): boolean =>
    current === undefined || (current.tokens.renewAt !== undefined && current.tokens.renewAt <= now());

  return {
    get current() {
      return current;
    },
    load() {
      loading ??= takeKept();
      return loading;
    },
    isDue,
    async renewEarly() {
      current = undefined;
      try {
        const challenge = remembered();
        const discovery = await find(challenge, last === undefined ? "no" : old);
        if (grant.silent) await obtain(discovery, scopesFor(discovery, challenge), challenge);
        else await refreshAt(discovery);
      } catch (error) {
        // The server will say more when it refuses a request without a token.
        if (problemOf(error) !== "no-authorization-server") throw error;
      }
    },
    async renew(challenge) {
      const discovery = await find(challenge, old);
      if (!grant.silent && (await refreshAt(discovery))) return;
      await obtain(discovery, scopesFor(discovery, challenge), challenge);
    },
    async widen(challenge, scopes) {
      const found = { ...remembered(), ...challenge };
      const discovery = await find(found, old);
      await obtain(discovery, union(requestedAt(discovery), scopes), found);
    },
    wasAskedFor: (scopes) => includesAll(asked, scopes),
    async signOut() {
      await takeKept();
      const held = current;
      current = undefined;
      if (held === undefined) return;
      const { place } = held;
      const discovery = await find(remembered(), old).catch(() => undefined);
      await vault.forget(name, place);
      tell("signed-out", place.issuer);
      if (discovery?.issuer !== place.issuer) return;
      const client = await grant.clientFor(discovery, place.clientId, vault);
      if (client !== undefined) await revoke({ discovery, client, tokens: held.tokens, fetch });
    },
  };
}
