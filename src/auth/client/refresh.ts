import { type AuthorizationServer, allowInsecureRequests, customFetch, revocationRequest } from "oauth4webapi";
import { isObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import type { SafeFetch } from "../safe-fetch.ts";
import { union } from "./challenge.ts";
import type {
  Credentials,
  CredentialsKey,
  ForgottenCredentials,
  LeftTokens,
  Registration,
  Tokens,
} from "./credentials.ts";
import { type Discovery, findIssuer } from "./discovery.ts";
import { type DpopKey, toDpopKey } from "./dpop.ts";
import type { Grant } from "./grant.ts";
import { type CurrentToken, toTokens } from "./held-token.ts";
import { problemOf } from "./problems.ts";
import { clientAuthOf, errorCodeOf, requestTokens } from "./token-request.ts";

interface RefreshParts {
  readonly discovery: Discovery;
  /** What the server is called in the credentials. */
  readonly server: string;
  readonly grant: Grant;
  readonly credentials: Credentials;
  readonly fetch: SafeFetch;
  /** The tokens in use, of which the access token is of no use any more. */
  readonly held: CurrentToken | undefined;
  /** Whether only tokens that are bound to a key are of use. */
  readonly bound: boolean;
  /** Milliseconds of the time of day. */
  now(): number;
}

/**
 * `found`: somebody else has refreshed it. `none`: there is nothing to refresh.
 * `refused`: the tokens were of no use. `isKept`: whether the new ones could be kept.
 */
type Refreshed =
  | { readonly kind: "refreshed"; readonly place: CredentialsKey; readonly tokens: Tokens; readonly isKept: boolean }
  | { readonly kind: "found"; readonly place: CredentialsKey; readonly tokens: Tokens }
  | { readonly kind: "none" }
  | { readonly kind: "refused" };

/** Refreshes the tokens of a server. The caller must prevent concurrent refreshes. */
export async function refresh(parts: RefreshParts): Promise<Refreshed> {
  const { discovery, server, credentials, held, bound, now } = parts;
  const place = await credentials.place(server);
  if (place?.issuer !== discovery.issuer || place.resource !== discovery.resource) return { kind: "none" };
  const kept = await credentials.tokens(place);
  if (kept === undefined || (bound && kept.key === undefined)) return { kind: "none" };
  const isFresh = kept.renewAt === undefined || kept.renewAt > now();
  const isOther = kept.accessToken !== held?.tokens.accessToken;
  // What is kept is spent, and those that followed could not be kept: they are here.
  if (kept.spent && isOther && held !== undefined && !held.tokens.spent) return exchange(place, held.tokens, parts);
  if (isOther && isFresh) return { kind: "found", place, tokens: kept };
  return kept.spent ? { kind: "none" } : exchange(place, kept, parts);
}

/** What a token endpoint says of a refresh token, or a client, that it does not know any more. */
const lost: ReadonlySet<string | undefined> = new Set(["invalid_grant", "invalid_client", "unauthorized_client"]);

/**
 * Sends a refresh token. It is marked as spent before, so that nobody sends it
 * again when this process ends in between, or cannot keep the tokens it gets.
 */
async function exchange(place: CredentialsKey, tokens: Tokens, parts: RefreshParts): Promise<Refreshed> {
  const { discovery, server, grant, credentials, fetch, now } = parts;
  const { refreshToken } = tokens;
  const client = grant.clientFor(place.clientId, await credentials.registration(place.issuer, place.clientId));
  if (refreshToken === undefined || client === undefined) return { kind: "none" };
  const dpop = await keyOf(tokens, parts);
  const parameters = { refresh_token: refreshToken, resource: discovery.resource };
  const request = { server: discovery.metadata, client, grant: "refresh_token", parameters, fetch, dpop };
  await credentials.update(place, { ...tokens, spent: true });
  try {
    const answer = { refresh_token: refreshToken, ...(await requestTokens(request)) };
    const renewed = toTokens(answer, { requested: tokens.requested, dpop, now: now() });
    const isKept = await credentials.keep(server, place, renewed).then(
      () => true,
      () => false,
    );
    return { kind: "refreshed", place, tokens: renewed, isKept };
  } catch (error) {
    const code = errorCodeOf(error);
    if (!lost.has(code)) {
      if (!wasAnswered(error)) await credentials.update(place, tokens);
      throw error;
    }
    await credentials.forget(server, place);
    if (code !== "invalid_grant") await credentials.unregister(discovery.issuer);
    return { kind: "refused" };
  }
}

/** Whether the issuer has taken the refresh token, though what it answered cannot be used. */
function wasAnswered(error: unknown): boolean {
  const reason = problemOf(error);
  if (reason !== undefined) return reason === "dpop-unsupported";
  return (
    error instanceof McpError && error.code === "invalid-response" && isObject(error.data) && error.data.ok === true
  );
}

/** The key that the tokens are bound to: another one, if another process got them. */
async function keyOf({ key: kept }: Tokens, { held, now }: RefreshParts): Promise<DpopKey | undefined> {
  if (kept === undefined) return undefined;
  const key = held?.key;
  return key?.jwk.x === kept.x ? key : toDpopKey(kept, now);
}

interface GiveBackParts {
  readonly grant: Grant;
  readonly fetch: SafeFetch;
}

/**
 * Tells authorization servers that tokens (RFC 7009) and registrations (RFC
 * 7592) are not needed any more, each only what it gave itself, and where it
 * wants to know. All are told, whatever one of them answers; then it rejects
 * with the first failure.
 */
export async function giveBack(left: ForgottenCredentials, parts: GiveBackParts): Promise<void> {
  const results = await Promise.all(issuersOf(left).map((issuer) => giveBackTo(issuer, left, parts)));
  const failure = results.flat().find((error) => error !== undefined);
  if (failure !== undefined) throw failure;
}

export function issuersOf({ tokens, registrations }: ForgottenCredentials): readonly string[] {
  return union(
    tokens.map(({ place }) => place.issuer),
    registrations.map(({ issuer }) => issuer),
  );
}

/** What was kept, and the tokens in use where those could not be kept. */
export function withHeld(left: ForgottenCredentials, inUse: CurrentToken | undefined): ForgottenCredentials {
  const isKnown = left.tokens.some(({ tokens }) => tokens.accessToken === inUse?.tokens.accessToken);
  if (inUse === undefined || isKnown) return left;
  const { place, tokens } = inUse;
  const registration = left.registrations.find((one) => one.registration.clientId === place.clientId)?.registration;
  return { ...left, tokens: [...left.tokens, { place, tokens, registration }] };
}

/** The failures. */
async function giveBackTo(
  issuer: string,
  left: ForgottenCredentials,
  { grant, fetch }: GiveBackParts,
): Promise<readonly unknown[]> {
  const failures: unknown[] = [];
  const note = (error: unknown): void => void failures.push(error);
  const metadata = await findIssuer(issuer, fetch).catch((error: unknown) => {
    // A server of 2025-03-26 without metadata has no endpoint for it.
    if (problemOf(error) !== "no-authorization-server") note(error);
  });
  if (metadata === undefined) return failures;
  for (const tokens of left.tokens) {
    if (tokens.place.issuer === issuer) await revoke(metadata, tokens, grant, fetch).catch(note);
  }
  for (const one of left.registrations) {
    if (one.issuer === issuer) await unregister(one.registration, fetch).catch(note);
  }
  return failures;
}

/** The refresh token first: what it could still get is revoked with it. */
async function revoke(metadata: AuthorizationServer, left: LeftTokens, grant: Grant, fetch: SafeFetch): Promise<void> {
  const { place, tokens, registration } = left;
  const client = grant.clientFor(place.clientId, registration);
  if (client === undefined || metadata.revocation_endpoint === undefined) return;
  const auth = await clientAuthOf(client, metadata);
  for (const token of [tokens.refreshToken, tokens.accessToken]) {
    if (token === undefined) continue;
    const { ok, status } = await revocationRequest(metadata, { client_id: client.clientId }, auth, token, {
      [allowInsecureRequests]: true,
      [customFetch]: (url, { headers, body }) => fetch(url, { method: "POST", headers, body: String(body) }),
    });
    if (ok) continue;
    const message = `${new URL(metadata.issuer).origin} answered ${status} when asked to revoke a token`;
    throw new McpError("http-error", message, { data: { status } });
  }
}

async function unregister({ management }: Registration, fetch: SafeFetch): Promise<void> {
  if (management === undefined) return;
  await fetch(management.uri, { method: "DELETE", headers: { authorization: `Bearer ${management.token}` } });
}
