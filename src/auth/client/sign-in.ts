import {
  type AuthorizationServer,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomState,
} from "oauth4webapi";
import { McpError } from "../../protocol/errors.ts";
import { reachOfHost } from "../../std/address-reach.ts";
import type { Clock } from "../../std/clock.ts";
import type { SafeFetch } from "../safe-fetch.ts";
import type { Discovery } from "./discovery.ts";
import { type DpopKey, equalsInConstantTime } from "./dpop.ts";
import { quoted, unauthorized } from "./problems.ts";
import { type ClientIdentity, requestTokens, type TokenAnswer } from "./token-request.ts";

/** One way of one user to a token. */
interface CodeFlow {
  readonly discovery: Discovery;
  readonly client: ClientIdentity;
  readonly scopes: readonly string[];
  readonly redirect: OpenRedirect;
  readonly fetch: SafeFetch;
  readonly dpop: DpopKey | undefined;
  /** Whether the user may be sent to this machine. */
  readonly allowLoopback: boolean;
  /** How long the user may take. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
}

/** Throws `unauthorized` unless an authorization server does PKCE with S256. */
export function checkPkce({ metadata, issuer }: Discovery): void {
  if (metadata.code_challenge_methods_supported?.includes("S256")) return;
  throw unauthorized("pkce-unsupported", `${new URL(issuer).origin} does not say that it does PKCE with S256`);
}

/**
 * Asks a user for a token: by an authorization code, with PKCE, for one
 * resource. Everything that the answer is checked against is made here, and
 * used once.
 */
export async function askUser(flow: CodeFlow): Promise<TokenAnswer> {
  const { discovery, client, redirect, fetch, dpop } = flow;
  checkPkce(discovery);
  const { state, verifier } = newCodeFlow();
  const url = await authorizationUrl({ ...flow, redirectUri: redirect.uri, state, verifier });
  const callback = await visit(flow, url);
  const server = discovery.metadata;
  const code = readCallback(callback, { server, state, redirectUri: redirect.uri });
  return requestTokens({
    server,
    client,
    grant: "authorization_code",
    parameters: { code, redirect_uri: redirect.uri, code_verifier: verifier, resource: discovery.resource },
    fetch,
    dpop,
  });
}

/** What the answer of an authorization server is checked against: new, and good once. */
export function newCodeFlow(): { readonly state: string; readonly verifier: string } {
  return { state: generateRandomState(), verifier: generateRandomCodeVerifier() };
}

/** What a user is sent to an authorization server with. */
interface AuthorizationRequest {
  readonly discovery: Discovery;
  readonly client: ClientIdentity;
  readonly scopes: readonly string[];
  readonly redirectUri: string;
  readonly state: string;
  /** Of PKCE. */
  readonly verifier: string;
  readonly dpop?: DpopKey | undefined;
  /** Whether the user may be sent to this machine. */
  readonly allowLoopback: boolean;
}

/** Where to send a user. Throws `unauthorized` for a URL that no browser should be given. */
export async function authorizationUrl(request: AuthorizationRequest): Promise<URL> {
  const { discovery, client, scopes, redirectUri, state, verifier, dpop } = request;
  const url = checkBrowsable(discovery.metadata.authorization_endpoint, request.allowLoopback);
  const parameters = {
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    resource: discovery.resource,
    scope: scopes.length > 0 ? scopes.join(" ") : undefined,
    // OpenID Connect gives a refresh token only to who was asked for it.
    prompt: scopes.includes("offline_access") ? "consent" : undefined,
    dpop_jkt: await dpop?.handle.calculateThumbprint(),
  };
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  return url;
}

/** Waits for the user, but not for ever. */
async function visit({ redirect, timeoutMs, clock, signal }: CodeFlow, url: URL): Promise<string | URL> {
  const ending = new AbortController();
  const stop = (): void => ending.abort(new McpError("cancelled", "signing in was cancelled"));
  const tooLate = unauthorized("interaction-timeout", `the sign-in was not completed within ${timeoutMs} ms`);
  const cancelTimer = clock.after(timeoutMs, () => ending.abort(tooLate));
  const aborted = new Promise<never>((_, reject) => {
    ending.signal.addEventListener("abort", () => reject(ending.signal.reason));
  });
  aborted.catch(() => {});
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop);
  try {
    return await Promise.race([redirect.visit(url, ending.signal), aborted]);
  } catch (error) {
    if (error instanceof McpError) throw error;
    throw unauthorized("interaction-required", "the user could not be brought to sign in");
  } finally {
    cancelTimer();
    signal?.removeEventListener("abort", stop);
    ending.abort();
  }
}

/** What was noted down when a user was sent away. */
interface Expected {
  readonly server: AuthorizationServer;
  readonly state: string;
  readonly redirectUri: string;
}

/**
 * The code that a user brought back. Throws `unauthorized` unless everything is
 * as it was noted down; what the answer says is used only after its issuer was
 * checked (RFC 9207).
 */
export function readCallback(callback: string | URL, { server, state, redirectUri }: Expected): string {
  const url = URL.canParse(String(callback), redirectUri) ? new URL(String(callback), redirectUri) : undefined;
  if (url === undefined || withoutQuery(url) !== withoutQuery(new URL(redirectUri))) {
    throw unauthorized("invalid-callback", "the user came back to another place");
  }
  const only = (name: string): string | undefined => {
    const values = url.searchParams.getAll(name);
    if (values.length > 1) throw unauthorized("invalid-callback", `the user came back with more than one ${name}`);
    return values[0];
  };
  if (!equalsInConstantTime(only("state") ?? "", state)) {
    throw unauthorized("invalid-callback", "the user came back with another state");
  }
  checkIssuer(only("iss"), server);
  const error = only("error");
  if (error !== undefined) throw refused(error, only("error_description"), { server, state });
  const code = only("code");
  if (code === undefined || code === "") throw unauthorized("invalid-callback", "the user came back without a code");
  return code;
}

function withoutQuery({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`;
}

/** Texts are compared as they are: nothing is normalized. */
function checkIssuer(iss: string | undefined, server: AuthorizationServer): void {
  if (iss === undefined && server.authorization_response_iss_parameter_supported !== true) return;
  if (iss !== server.issuer) throw unauthorized("issuer-mismatch", "the user came back from another issuer");
}

function refused(
  error: string,
  description: string | undefined,
  { server, state }: Pick<Expected, "server" | "state">,
) {
  const { issuer } = server;
  const reason = error === "access_denied" ? "denied" : "token-refused";
  const detail = description === undefined ? "" : quoted(description, [state]);
  return unauthorized(reason, `${new URL(issuer).origin} refuses${quoted(error, [state])}${detail}`);
}

/// <reference lib="esnext.disposable" preserve="true" />

/** Sends users to an authorization server, and receives their redirect. */
export interface Redirect {
  /**
   * Makes ready for one user. `preferred` is the URI that the client was
   * registered with, to be used again where that is possible.
   */
  open(preferred: string | undefined): Promise<OpenRedirect>;
}

export interface OpenRedirect extends AsyncDisposable {
  /** The redirect URI of users. */
  readonly uri: string;
  /** Sends the user to `url`. Resolves to the whole URL they came back to; rejects when the signal aborts. */
  visit(url: URL, signal: AbortSignal): Promise<string | URL>;
}

/** What is known when a user is sent to an authorization server. */
export interface AuthorizeContext {
  /** Aborts when the sign-in is not awaited any more. */
  readonly signal: AbortSignal;
  readonly redirectUri: string;
}

/** Sends a user to a URL, and resolves to the URL where they came back. */
export type Authorize = (url: URL, context: AuthorizeContext) => Promise<string | URL>;

/** Users are sent by the application, which receives them as well. */
export function redirectBy(authorize: Authorize, redirectUri: string): Redirect {
  return {
    open: async () => ({
      uri: redirectUri,
      visit: (url, signal) => authorize(url, { signal, redirectUri }),
      [Symbol.asyncDispose]: async () => {},
    }),
  };
}

/** The user cannot be asked. */
export const noRedirect: Redirect = {
  async open() {
    throw unauthorized(
      "interaction-required",
      "a user has to sign in, and this program cannot open a page: sign in elsewhere, or give oauth a redirect",
    );
  },
};

/** Throws `invalid-params` for a URI that users must not be sent back to. */
export function checkRedirectUri(uri: string): void {
  if (!URL.canParse(uri)) throw new McpError("invalid-params", "redirectUri is not a URL");
  const { protocol, hash, hostname } = new URL(uri);
  const isUnsafe = ["javascript:", "data:", "file:", "vbscript:", "blob:", "about:"].includes(protocol);
  const isOpen = protocol === "http:" && reachOfHost(hostname) !== "loopback";
  if (isUnsafe || isOpen || hash !== "") {
    throw new McpError("invalid-params", "redirectUri must be https, or http on this machine, without a fragment");
  }
}

/** The URL to send a user to. Throws for one that no browser should be given. */
export function checkBrowsable(endpoint: string | undefined, allowLoopback: boolean): URL {
  if (endpoint === undefined || !URL.canParse(endpoint)) {
    throw unauthorized("invalid-metadata", "the authorization server has no authorization endpoint");
  }
  const url = new URL(endpoint);
  const isLocal = reachOfHost(url.hostname) === "loopback";
  const secure = url.protocol === "https:" || (url.protocol === "http:" && isLocal);
  if (!secure || (isLocal && !allowLoopback) || url.username !== "" || url.password !== "") {
    throw unauthorized("invalid-metadata", "the authorization endpoint is at a URL that is not opened");
  }
  url.hash = "";
  return url;
}
