import type { JsonObject } from "../../json/json.ts";
import type { Authentication, Authenticator } from "../../protocol/authenticator.ts";
import type { McpError } from "../../protocol/errors.ts";
import type { Auth, KnownClaims } from "../../protocol/peer.ts";
import { fromBase64 } from "../../std/base64.ts";
import { isRequestBound } from "../../std/clock.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import { networkOf } from "../../std/network-of.ts";
import { admit, readAuthorization } from "./authorization.ts";
import { type CheckedAuth, type ClaimsSchema, checkScopes, createClaimsCheck, type GivenClaims } from "./claims.ts";
import { createRecent } from "./dpop.ts";
import { createFairGate } from "./fair-gate.ts";
import { limitReached } from "./limits.ts";
import { createHmac, type HashedSecret, isPassword, nobodysHash, readKnown, readPasswordHash } from "./secrets.ts";

interface BasicCommon<S extends ClaimsSchema> {
  /** The realm that users see. Default `mcp`. */
  readonly realm?: string | undefined;
  readonly requiredScopes?: readonly string[] | undefined;
  /** Checks the claims: any Standard Schema, or a plain JSON Schema. What it makes of them is what handlers see. */
  readonly claims?: S | undefined;
}

/** Users that are listed here, with passwords as {@link hashPassword} hashes them. */
export interface ListedUsers<S extends ClaimsSchema = undefined> extends BasicCommon<S> {
  /** Hashes by user name. */
  readonly users: Readonly<Record<string, HashedSecret<GivenClaims<S>>>>;
  /** How long a password that was right need not be checked again: that is slow on purpose. Default 5 min; 0 is off. */
  readonly cacheTtlMs?: number | undefined;
  readonly verify?: undefined;
}

export interface BasicCredentials {
  readonly user: string;
  readonly password: string;
}

/** Users that you look up yourself. */
export interface OwnUsers<S extends ClaimsSchema = undefined> extends BasicCommon<S> {
  /**
   * Resolves with the user; undefined for an unknown one. Throws when it cannot be looked up. Take equal time for
   * unknown users.
   */
  readonly verify: VerifyLogin<GivenClaims<S>>;
  readonly users?: undefined;
}

type VerifyLogin<C> = (
  login: BasicCredentials,
  http: HttpRequestInfo,
) => Auth<C> | undefined | Promise<Auth<C> | undefined>;

export type BasicOptions<S extends ClaimsSchema = undefined> = ListedUsers<S> | OwnUsers<S>;

/**
 * Takes user names and passwords (RFC 7617). For machines in a closed setting;
 * people log in with OAuth.
 */
export function basic<const S extends ClaimsSchema = undefined>(
  options: BasicOptions<S>,
): Authenticator<CheckedAuth<S, KnownClaims>> {
  const { realm = "mcp", requiredScopes = [] } = options;
  checkScopes("basic", requiredScopes);
  const checkClaims = createClaimsCheck("basic", options.claims);
  const find: VerifyLogin<JsonObject> = options.verify ?? listed(options);

  const authenticate = async (http: HttpRequestInfo): Promise<Authentication<CheckedAuth<S>>> => {
    const sent = readAuthorization(http.header("authorization"));
    if (typeof sent === "string" || sent.scheme !== "basic") return { ok: false, status: 401 };
    const login = readLogin(sent.credentials);
    const auth = login === undefined ? undefined : await find(login, http);
    if (auth !== undefined) return admit(auth, { checkClaims, requiredScopes, scheme: "Basic" });
    const description = "the user is not known, or the password is wrong";
    return { ok: false, status: 401, error: "invalid_token", description, scheme: "Basic" };
  };

  const schemes = [{ scheme: "Basic", parameters: { realm, charset: "UTF-8" } }];
  return Object.assign(authenticate, { schemes, requiredScopes });
}

const decoder = new TextDecoder("utf-8", { fatal: true });
const maxPassword = 1_024;

function readLogin(credentials: string): BasicCredentials | undefined {
  const bytes = fromBase64(credentials);
  if (bytes === undefined || bytes.length > maxPassword) return undefined;
  try {
    const text = decoder.decode(bytes);
    const end = text.indexOf(":");
    return end < 0 || /\p{Cc}/u.test(text) ? undefined : { user: text.slice(0, end), password: text.slice(end + 1) };
  } catch {
    return undefined;
  }
}

/** Passwords that are checked at once, and those that wait for it. Addresses have their turns one after the other. */
const atOnce = { maxRunning: 2, maxWaiting: 64, full: tooManyLogins };
const MAX_KEPT = 10_000;

function tooManyLogins(): McpError {
  const limit = {
    limit: "the number of waiting logins",
    max: atOnce.maxWaiting,
    scope: "process",
    retryAfterMs: 5_000,
  } as const;
  return limitReached("too many passwords are being checked", limit);
}

/** One password is checked for every login, known or not, so that the duration does not depend on it. */
function listed(
  options: ListedUsers<ClaimsSchema>,
): (login: BasicCredentials, http: HttpRequestInfo) => Promise<Auth<JsonObject> | undefined> {
  const { users, cacheTtlMs = 300_000 } = options;
  const entries = readKnown("basic", users).map(
    ({ name, shown, hash, auth }) => [name, { auth, hash: readPasswordHash(`basic ${shown}`, hash) }] as const,
  );
  const known = new Map(entries);
  const nobody = nobodysHash(Math.max(600_000, ...entries.map(([, { hash }]) => hash.iterations)));
  const gate = createFairGate(atOnce);
  const kept = createRecent<Auth<JsonObject>>({ max: MAX_KEPT, now: () => performance.now() });
  const nameOf = createHmac();

  const check = async (
    { user, password }: BasicCredentials,
    { remoteAddress }: HttpRequestInfo,
  ): Promise<Auth<JsonObject> | undefined> => {
    const entry = known.get(user);
    const work = (): Promise<boolean> => isPassword(password, entry?.hash ?? nobody);
    // A place could not be given back by a request that ends without a word.
    const isRight = isRequestBound ? await work() : await gate.run(networkOf(remoteAddress ?? ""), work);
    return isRight ? entry?.auth : undefined;
  };

  return async (login, http) => {
    const name = await nameOf(JSON.stringify([login.user, login.password]));
    const remembered = kept.get(name);
    if (remembered !== undefined) return remembered;
    const auth = await check(login, http);
    if (auth !== undefined && cacheTtlMs > 0) kept.set(name, auth, cacheTtlMs);
    return auth;
  };
}
