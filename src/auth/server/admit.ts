import type { JsonObject } from "../../json/json.ts";
import type { Authentication, AuthRefusal } from "../../model/authenticator.ts";
import type { Auth } from "../../model/peer.ts";
import { hasScopes } from "../../model/scopes.ts";
import type { CheckClaims } from "./claims.ts";

export interface AdmissionRules<A> {
  readonly checkClaims: CheckClaims<A>;
  readonly requiredScopes: readonly string[];
  /** That of the credentials that came. */
  readonly scheme: string;
}

/** Lets in whose claims fit, and who has the scopes. */
export async function admit<A>(auth: Auth<JsonObject>, rules: AdmissionRules<A>): Promise<Authentication<A>> {
  const { checkClaims, requiredScopes, scheme } = rules;
  const known = await checkClaims(auth);
  if (!known.ok) return { ...known, scheme };
  return hasScopes(auth, requiredScopes) ? known : lacking(requiredScopes, scheme);
}

/** A refusal of somebody who is known, and may less than it takes. */
function lacking(scopes: readonly string[], scheme: string): AuthRefusal {
  const description = "this takes scopes that were not granted";
  return { ok: false, status: 403, error: "insufficient_scope", description, scopes, scheme };
}
