import type { SafeFetch } from "../safe-fetch.ts";
import type { Discovery } from "./discovery.ts";
import { type DpopKey, toDpopKey } from "./dpop.ts";
import type { Grant } from "./grant.ts";
import { toTokens } from "./to-tokens.ts";
import { errorCodeOf, requestTokens } from "./token-request.ts";
import type { TokenPlace, Tokens, Vault } from "./vault.ts";

export interface RefreshParts {
  readonly discovery: Discovery;
  /** What the server is called in the vault. */
  readonly server: string;
  readonly grant: Grant;
  readonly vault: Vault;
  readonly fetch: SafeFetch;
  /** The token that is of no use any more. */
  readonly used: string | undefined;
  /** Whether only tokens that are bound to a key are of use. */
  readonly bound: boolean;
  /** The key of that token. */
  readonly key: DpopKey | undefined;
  /** Milliseconds of the time of day. */
  now(): number;
}

/** `found`: somebody else has refreshed it. `none`: there is nothing to refresh. `refused`: the tokens were of no use. */
export type Refreshed =
  | { readonly kind: "refreshed"; readonly place: TokenPlace; readonly tokens: Tokens }
  | { readonly kind: "found"; readonly place: TokenPlace; readonly tokens: Tokens }
  | { readonly kind: "none" }
  | { readonly kind: "refused" };

/** Refreshes what is kept for a server. Whoever else could do the same must be kept out meanwhile. */
export async function refresh(parts: RefreshParts): Promise<Refreshed> {
  const { discovery, server, vault, used, bound, now } = parts;
  const place = await vault.place(server);
  if (place?.issuer !== discovery.issuer || place.resource !== discovery.resource) return { kind: "none" };
  const tokens = await vault.tokens(place);
  if (tokens === undefined || (bound && tokens.key === undefined)) return { kind: "none" };
  const isFresh = tokens.renewAt === undefined || tokens.renewAt > now();
  if (tokens.accessToken !== used && isFresh) return { kind: "found", place, tokens };
  return exchange(place, tokens, parts);
}

/** What a token endpoint says of a refresh token, or a client, that it does not know any more. */
const lost: ReadonlySet<string | undefined> = new Set(["invalid_grant", "invalid_client", "unauthorized_client"]);

async function exchange(place: TokenPlace, tokens: Tokens, parts: RefreshParts): Promise<Refreshed> {
  const { discovery, server, grant, vault, fetch, now } = parts;
  const { refreshToken } = tokens;
  const client = await grant.clientFor(discovery, place.clientId, vault);
  if (refreshToken === undefined || client === undefined) return { kind: "none" };
  try {
    const dpop = await keyOf(tokens, parts);
    const parameters = { refresh_token: refreshToken, resource: discovery.resource };
    const request = { server: discovery.metadata, client, grant: "refresh_token", parameters, fetch, dpop };
    const answer = { refresh_token: refreshToken, ...(await requestTokens(request)) };
    const renewed = toTokens(answer, { requested: tokens.requested, dpop, now: now() });
    await vault.keep(server, place, renewed);
    return { kind: "refreshed", place, tokens: renewed };
  } catch (error) {
    const code = errorCodeOf(error);
    if (!lost.has(code)) throw error;
    await vault.forget(server, place);
    if (code !== "invalid_grant") await vault.register(discovery.issuer, undefined);
    return { kind: "refused" };
  }
}

/** The key that the tokens are bound to: of another one, if somebody else got them. */
async function keyOf({ key: kept }: Tokens, { key, now }: RefreshParts): Promise<DpopKey | undefined> {
  if (kept === undefined) return undefined;
  return key?.jwk.x === kept.x ? key : toDpopKey(kept, now);
}
