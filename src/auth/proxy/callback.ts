import type { AuthRoute, RouteAnswer } from "../../protocol/authenticator.ts";
import { McpError } from "../../protocol/errors.ts";
import { digestText } from "../../std/digest.ts";
import { askForConsent } from "./authorize.ts";
import { randomText } from "./grants.ts";
import { errorPage } from "./pages.ts";
import { type Parameters, queryOf } from "./parameters.ts";
import type { ProxyParts } from "./proxy-parts.ts";
import { isClaimed } from "./redirect-uri.ts";
import { backToClient, CONSENT_TTL_MS, consentName, type PendingSignIn } from "./sign-in.ts";
import type { SignedIn } from "./upstream.ts";

/** Handles users who return from the provider, and redirects them to the client with a code. */
export function callbackRoute(parts: ProxyParts): AuthRoute {
  const { browsers, records, upstream, settings } = parts;

  const finish = async (query: Parameters, pending: PendingSignIn, browser: string): Promise<RouteAnswer> => {
    try {
      const user = await upstream.signedIn(new URLSearchParams([...query]), pending.upstream);
      return await admit(user, pending, browser, parts);
    } catch (error) {
      if (!(error instanceof McpError)) throw error;
      const isDeclined = error.code === "declined";
      const answer = backToClient(pending.request, settings.issuer, {
        error: isDeclined ? "access_denied" : "server_error",
        error_description: isDeclined ? error.message : `signing in with ${settings.provider.name} failed`,
      });
      return isDeclined ? answer : { ...answer, warning: `oauthProxy: ${error.message}` };
    }
  };

  return async (http) => {
    if (http.method !== "GET") return errorPage(405, "Go back to the application, and begin to sign in there.");
    const query = queryOf(http);
    if (query === undefined) return unknown;
    const name = await digestText(query.get("state") ?? "");
    const found = await records.get("sign-in", name);
    if (found === undefined) return unknown;
    const browser = browsers.idOf(http);
    // A request of another browser does not use up the state, because it may have been sent by an attacker.
    if (browser === undefined || (await digestText(browser)) !== found.value.browser) return elsewhere;
    if (!(await records.delete("sign-in", name, found.version))) return unknown;
    return finish(query, found.value, browser);
  };
}

const unknown = errorPage(400, "This sign-in is not known, or over. Begin again in the application.");
const elsewhere = errorPage(403, "This sign-in was begun in another browser, or cookies are off. Begin again.");

/** Accepts a user who has signed in, if it is the one who gave consent. */
async function admit(user: SignedIn, pending: PendingSignIn, browser: string, parts: ProxyParts): Promise<RouteAnswer> {
  const { records, settings, grants, now } = parts;
  const { request, agreed } = pending;
  const { principal, claims, tokens } = user;
  // The browser has another user now.
  if (agreed !== undefined && agreed !== principal) return askForConsent(parts, request, browser);
  if (!(await settings.onSignIn({ principal, claims }))) {
    const description = "this user may not use this server";
    const answer = backToClient(request, settings.issuer, { error: "access_denied", error_description: description });
    return { ...answer, refusal: "forbidden" };
  }
  const code = randomText(32);
  const { clientId, scopes, refreshes, redirectUri, challenge } = request;
  const terms = {
    clientId,
    principal,
    claims: { ...claims, client_id: clientId },
    scopes,
    upstream: tokens,
    refreshes,
  };
  const expires = now() + settings.codeTtlMs;
  const kept = { state: "unused", grantId: grants.newId(), terms, redirectUri, challenge, expires } as const;
  await records.put("code", await digestText(code), kept, { ttlMs: settings.codeTtlMs });
  if (isClaimed(redirectUri)) {
    await records.put("consent", await consentName(pending.browser, request), { principal }, { ttlMs: CONSENT_TTL_MS });
  }
  return backToClient(request, settings.issuer, { code });
}
