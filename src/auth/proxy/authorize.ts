import type { AuthRoute, RouteAnswer } from "../../protocol/authenticator.ts";
import { McpError } from "../../protocol/errors.ts";
import { digestText } from "../../std/digest.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import { readScopes } from "../client/challenge.ts";
import { canonicalUrl } from "../client/discovery.ts";
import { otherMethod, redirectTo } from "./answers.ts";
import { errorPage, pageAnswer } from "./pages.ts";
import { formOf, type Parameters, queryOf } from "./parameters.ts";
import { type ProxyParts, paths } from "./proxy-parts.ts";
import type { RegisteredClient } from "./record-types.ts";
import { isClaimed, isLoopbackUri, isRegistered } from "./redirect-uri.ts";
import type { ProxySettings } from "./settings.ts";
import { type AuthorizationRequest, backToClient, consentName, SIGN_IN_TTL_MS } from "./sign-in.ts";
import { newUpstreamRequest } from "./upstream.ts";

/** Handles users that a client has sent: asks for their consent, unless they have given it before. */
export function authorizeRoute(parts: ProxyParts): AuthRoute {
  const { browsers, records } = parts;

  /** Who has agreed to the same before, in this browser. Pages of others cannot make use of that: then users are asked again. */
  const agreedBefore = async (http: HttpRequestInfo, browser: string, request: AuthorizationRequest) => {
    if (http.header("sec-fetch-site") !== "none" || !isClaimed(request.redirectUri)) return undefined;
    const kept = await records.get("consent", await consentName(await digestText(browser), request));
    return kept?.value.principal;
  };

  const begin = async (http: HttpRequestInfo, request: AuthorizationRequest): Promise<RouteAnswer> => {
    const browser = browsers.idOf(http);
    if (browser === undefined) return askForConsent(parts, request, browsers.newId());
    const agreed = await agreedBefore(http, browser, request);
    return agreed === undefined
      ? askForConsent(parts, request, browser)
      : sendToProvider(parts, http, { request, browser, agreed });
  };

  return async (http) => {
    const other = otherMethod(http.method, "GET");
    if (other !== undefined) return other;
    const query = queryOf(http);
    if (query === undefined) return errorPage(400, "The application sent a parameter twice.");
    const found = await findClient(query, http, parts);
    if (!found.ok) return found.answer;
    const read = readRequest(query, found, parts);
    return read.ok ? begin(http, read.request) : refuse(query, found.redirectUri, read, parts);
  };
}

type FoundPlace =
  | { readonly ok: true; readonly client: RegisteredClient; readonly redirectUri: string }
  | { readonly ok: false; readonly answer: RouteAnswer };

/** The client, and where it wants users to be sent back to. Until both are known to belong together, nobody is sent anywhere. */
async function findClient(
  query: Parameters,
  { remoteAddress }: HttpRequestInfo,
  { clients, settings }: ProxyParts,
): Promise<FoundPlace> {
  const found = await clients.find(query.get("client_id") ?? "", remoteAddress);
  if (!found.ok) {
    const remedy = found.isBusy ? "Try again later." : "Remove the connection there, and connect again.";
    const message = `The application cannot be used here: ${found.problem}. ${remedy}`;
    return { ok: false, answer: errorPage(found.isBusy ? 429 : 400, message) };
  }
  const { client } = found;
  const redirectUri = query.get("redirect_uri") ?? "";
  if (isRegistered(redirectUri, client.redirectUris) && settings.isRedirectAllowed(redirectUri)) {
    return { ok: true, client, redirectUri };
  }
  const message = "The application wants you to be sent to an address that it has not registered.";
  return { ok: false, answer: errorPage(400, message) };
}

type ReadRequest =
  | { readonly ok: true; readonly request: AuthorizationRequest }
  | { readonly ok: false; readonly error: string; readonly description: string };

function readRequest(
  query: Parameters,
  { client, redirectUri }: { readonly client: RegisteredClient; readonly redirectUri: string },
  { settings }: ProxyParts,
): ReadRequest {
  const fault = faultOf(query, settings);
  if (fault !== undefined) return { ok: false, ...fault };
  const wanted = readScopes(query.get("scope"));
  const known = wanted.filter((scope) => settings.scopes.includes(scope));
  return {
    ok: true,
    request: {
      clientId: client.clientId,
      clientName: client.name,
      clientHost: client.host,
      redirectUri,
      state: query.get("state"),
      challenge: query.get("code_challenge") ?? "",
      scopes: wanted.length === 0 ? settings.scopes : known,
      refreshes: client.refreshes,
    },
  };
}

interface Fault {
  readonly error: string;
  readonly description: string;
}

/** It is kept until the user is back. */
const MAX_STATE = 4_096;

/** Each thing that a request must be, and the error of one that is not. */
const rules: readonly (Fault & { isMet(query: Parameters, settings: ProxySettings): boolean })[] = [
  {
    error: "unsupported_response_type",
    description: "response_type must be code",
    isMet: (query) => query.get("response_type") === "code",
  },
  {
    error: "invalid_request",
    description: "response_mode must be query",
    isMet: (query) => (query.get("response_mode") ?? "query") === "query",
  },
  {
    error: "request_not_supported",
    description: "request is not supported",
    isMet: (query) => !query.has("request"),
  },
  {
    error: "request_uri_not_supported",
    description: "request_uri is not supported",
    isMet: (query) => !query.has("request_uri"),
  },
  {
    error: "invalid_request",
    description: `state must have ${MAX_STATE} characters at most`,
    isMet: (query) => (query.get("state") ?? "").length <= MAX_STATE,
  },
  {
    error: "invalid_request",
    description: "code_challenge of PKCE is needed",
    isMet: (query) => /^[\w-]{43}$/.test(query.get("code_challenge") ?? ""),
  },
  {
    error: "invalid_request",
    description: "code_challenge_method must be S256",
    isMet: (query) => query.get("code_challenge_method") === "S256",
  },
  {
    error: "invalid_target",
    description: "resource is another server",
    isMet: (query, { resource }) => isResource(query.get("resource"), resource),
  },
  {
    error: "invalid_scope",
    description: "none of the scopes is known here",
    isMet(query, { scopes }) {
      const wanted = readScopes(query.get("scope"));
      return wanted.length === 0 || scopes.length === 0 || wanted.some((scope) => scopes.includes(scope));
    },
  },
];

function faultOf(query: Parameters, settings: ProxySettings): Fault | undefined {
  const rule = rules.find(({ isMet }) => !isMet(query, settings));
  return rule && { error: rule.error, description: rule.description };
}

/** Whether a `resource` is this server. Clients of older revisions do not say. */
export function isResource(stated: string | undefined, resource: string): boolean {
  return stated === undefined || (URL.canParse(stated) && canonicalUrl(new URL(stated)) === resource);
}

/**
 * Refuses what a client asks for. A program on the user's machine hears of it; to anywhere else users go by their own
 * choice: whoever may register a client could otherwise have everybody sent anywhere.
 */
function refuse(
  query: Parameters,
  redirectUri: string,
  { error, description }: Fault,
  { settings }: ProxyParts,
): RouteAnswer {
  const place = { redirectUri, state: query.get("state") };
  const answer = backToClient(place, settings.issuer, { error, error_description: description });
  if (isLoopbackUri(redirectUri)) return answer;
  const link = { href: answer.headers.location ?? "", text: `Go back to ${shownHost(redirectUri)}` };
  return errorPage(400, `The application asks for something that is not possible: ${description}.`, link);
}

/** The page on which a user agrees. Nothing is kept here: what was asked for goes with the form, encrypted. */
export async function askForConsent(
  { settings, records, browsers, now }: ProxyParts,
  request: AuthorizationRequest,
  browser: string,
): Promise<RouteAnswer> {
  const { provider, issuer, resource } = settings;
  const { clientId, clientName, clientHost, redirectUri, scopes } = request;
  const asked = { request, browser: await digestText(browser), expires: now() + SIGN_IN_TTL_MS };
  const html = await settings.consentPage({
    client: { id: clientId, name: clientName, host: clientHost },
    redirectUri,
    redirectHost: shownHost(redirectUri),
    isLoopback: isLoopbackUri(redirectUri),
    scopes,
    resource,
    provider: { name: provider.name, scopes: provider.scopes },
    form: { action: `${issuer}${paths.consent}`, fields: { request: await records.seal("consent", asked) } },
  });
  return pageAnswer(200, html, browsers.keep(browser));
}

/** The host of a URI; for an application with a scheme of its own, that scheme. */
function shownHost(uri: string): string {
  const { host, protocol } = new URL(uri);
  return protocol === "https:" || protocol === "http:" ? host : protocol;
}

/** Takes the answer of a user: only from the page that was shown, in the browser that it was shown in. */
export function consentRoute(parts: ProxyParts): AuthRoute {
  const { browsers, records, settings, now } = parts;
  return async (http, body) => {
    if (http.method !== "POST") return errorPage(405, "Go back to the application, and begin to sign in there.");
    const origin = http.header("origin");
    if (origin !== undefined && origin !== settings.issuer) return errorPage(403, "This was sent by another page.");
    const form = formOf(http, body);
    const opened = await records.open("consent", form?.get("request") ?? "");
    // The seal is authentic for this purpose.
    const asked = opened as { request: AuthorizationRequest; browser: string; expires: number } | undefined;
    const browser = browsers.idOf(http);
    if (asked === undefined || browser === undefined || asked.browser !== (await digestText(browser))) {
      return errorPage(403, "This page was opened in another browser, or cookies are off. Begin to sign in again.");
    }
    if (asked.expires <= now()) return errorPage(400, "This took too long. Begin to sign in again.");
    if (form?.get("decision") === "allow") {
      return sendToProvider(parts, http, { request: asked.request, browser, agreed: undefined });
    }
    return backToClient(asked.request, settings.issuer, {
      error: "access_denied",
      error_description: "the user said no",
    });
  };
}

/** A request that a user has agreed to, in a browser. */
interface Agreed {
  readonly request: AuthorizationRequest;
  readonly browser: string;
  /** Who agreed, where that was before. */
  readonly agreed: string | undefined;
}

/** Sends a user who has agreed to the provider. Only now is there a state to come back with, and only for this browser. */
async function sendToProvider(
  { records, upstream, settings, quota }: ProxyParts,
  { remoteAddress }: HttpRequestInfo,
  { request, browser, agreed }: Agreed,
): Promise<RouteAnswer> {
  if ((await quota.take("sign-in", remoteAddress)) !== undefined) {
    return errorPage(429, "Too many sign-ins were begun. Try again later.");
  }
  const sent = newUpstreamRequest();
  const pending = { request, upstream: sent, browser: await digestText(browser), agreed };
  try {
    const url = await upstream.authorizationUrl(sent);
    await records.put("sign-in", await digestText(sent.state), pending, { ttlMs: SIGN_IN_TTL_MS });
    return redirectTo(url);
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    return {
      ...errorPage(503, `${settings.provider.name} cannot be reached. Try again later.`),
      warning: `oauthProxy: ${error.message}`,
    };
  }
}
