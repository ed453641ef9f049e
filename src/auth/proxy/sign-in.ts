import type { RouteAnswer } from "../../protocol/authenticator.ts";
import { digestText } from "../../std/digest.ts";
import { redirectTo } from "./answers.ts";
import type { GrantTerms } from "./record-types.ts";
import { isLoopbackUri, withoutPort } from "./redirect-uri.ts";
import type { UpstreamRequest } from "./upstream.ts";

/** What a client asks for, once it was checked. */
export type AuthorizationRequest = {
  readonly clientId: string;
  readonly clientName: string;
  /** The host of its metadata document, where it has one. */
  readonly clientHost: string | undefined;
  readonly redirectUri: string;
  readonly state: string | undefined;
  /** Of PKCE, by S256. */
  readonly challenge: string;
  readonly scopes: readonly string[];
  /** Whether the client gets refresh tokens. */
  readonly refreshes: boolean;
};

/** A user who has agreed, and was sent to the provider. */
export type PendingSignIn = {
  readonly request: AuthorizationRequest;
  readonly upstream: UpstreamRequest;
  /** The digest of what the browser is known by that has to come back. */
  readonly browser: string;
  /** Who agreed, where nobody was asked because of that. */
  readonly agreed: string | undefined;
};

/** An authorization code. It stays for a while after its use, so that another use is noticed. */
export type AuthorizationCode =
  | {
      readonly state: "unused";
      readonly grantId: string;
      readonly terms: GrantTerms;
      readonly redirectUri: string;
      readonly challenge: string;
      readonly expires: number;
    }
  | { readonly state: "used" | "used-twice"; readonly grantId: string };

/** Somebody who has agreed before. */
export type RememberedConsent = { readonly principal: string };

/** How long users may take to agree, and to sign in with the provider. */
export const SIGN_IN_TTL_MS: number = 600_000;
/** How long an answer to the consent page is remembered. */
export const CONSENT_TTL_MS: number = 30 * 86_400_000;

/** A name for the consent of one browser to one request: the same client, place to go back to and scopes. */
export function consentName(browser: string, request: AuthorizationRequest): Promise<string> {
  const { clientId, clientName, redirectUri, scopes } = request;
  const place = isLoopbackUri(redirectUri) ? withoutPort(redirectUri) : redirectUri;
  return digestText(JSON.stringify([browser, clientId, clientName, place, scopes.toSorted()]));
}

/** Sends a user back to the client: with the issuer, so that no client takes the answer for one of another (RFC 9207). */
export function backToClient(
  { redirectUri, state }: Pick<AuthorizationRequest, "redirectUri" | "state">,
  issuer: string,
  answer: Readonly<Record<string, string>>,
): RouteAnswer {
  const parameters = new URLSearchParams({ ...answer, ...(state !== undefined && { state }), iss: issuer });
  return redirectTo(`${redirectUri}${redirectUri.includes("?") ? "&" : "?"}${parameters}`);
}
