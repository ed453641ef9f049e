import type { JsonObject } from "../../json/json.ts";
import type { Authentication, AuthRejection } from "../../protocol/authenticator.ts";
import type { Auth } from "../../protocol/peer.ts";
import { hasScopes } from "../../protocol/scopes.ts";
import { isRequestBound } from "../../std/clock.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import type { CheckClaims } from "./claims.ts";

/** What an `Authorization` header says. The scheme is in lower case. */
interface Authorization {
  readonly scheme: string;
  readonly credentials: string;
}

/** No credentials that are of use are longer. */
const maxCredentials = 16_384;

const pattern = /^[\t ]*([!#$%&'*+.^_`|~\w-]{1,64})[\t ]+([A-Za-z0-9\-._~+/]+=*)[\t ]*$/;

/**
 * Reads an `Authorization` header whose credentials are one token (RFC 9110,
 * 11.4), as those of Bearer, DPoP and Basic are. Never throws. `malformed` when it
 * is something else, also when there were several.
 */
export function readAuthorization(header: string | undefined): Authorization | "absent" | "malformed" {
  if (header === undefined || header.trim() === "") return "absent";
  if (header.length > maxCredentials) return "malformed";
  const [, scheme, credentials] = pattern.exec(header) ?? [];
  if (scheme === undefined || credentials === undefined) return "malformed";
  return { scheme: scheme.toLowerCase(), credentials };
}

/**
 * The URLs, without query, that a client may have sent a request to. What ends TLS
 * on the way may rewrite all of them but the one that the server is known by.
 */
export function urlsOf(http: HttpRequestInfo, resource: string | undefined): readonly string[] {
  const path = http.url.split("?", 1)[0] ?? "";
  if (resource === undefined)
    return readable(["https", "http"].map((scheme) => `${scheme}://${http.header("host")}${path}`));
  return readable([resource, new URL(resource).origin + path]);
}

function readable(urls: readonly string[]): readonly string[] {
  return urls
    .filter((url) => URL.canParse(url))
    .map((url) => {
      const { origin, pathname } = new URL(url);
      return `${origin}${pathname}`;
    });
}

interface AdmissionRules<A> {
  readonly checkClaims: CheckClaims<A>;
  readonly requiredScopes: readonly string[];
  /** That of the credentials that came. */
  readonly scheme: string;
}

/** Accepts callers with valid claims and the required scopes. */
export async function admit<A>(auth: Auth<JsonObject>, rules: AdmissionRules<A>): Promise<Authentication<A>> {
  const { checkClaims, requiredScopes, scheme } = rules;
  const known = await checkClaims(auth);
  if (!known.ok) return { ...known, scheme };
  return hasScopes(auth, requiredScopes) ? known : lacking(requiredScopes, scheme);
}

/** The rejection of a known caller without the required permission. */
function lacking(scopes: readonly string[], scheme: string): AuthRejection {
  const description = "this takes scopes that were not granted";
  return { ok: false, status: 403, error: "insufficient_scope", description, scopes, scheme };
}

/**
 * Does something once for all who want it at the same time. Where a promise belongs to the request that made it, and may
 * never settle when that one ends, each does it for itself.
 */
export function together<T>(work: () => Promise<T>): () => Promise<T> {
  if (isRequestBound) return work;
  let working: Promise<T> | undefined;
  return () => {
    working ??= work().finally(() => {
      working = undefined;
    });
    return working;
  };
}
