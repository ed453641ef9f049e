import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } from "oauth4webapi";
import { McpError } from "../../model/errors.ts";
import type { Clock } from "../../std/clock.ts";
import type { SafeFetch } from "../safe-fetch.ts";
import { readCallback } from "./callback.ts";
import type { ClientIdentity } from "./client-auth.ts";
import type { Discovery } from "./discovery.ts";
import type { DpopKey } from "./dpop.ts";
import { unauthorized } from "./problems.ts";
import { checkBrowsable, type OpenRedirect } from "./redirect.ts";
import { requestTokens, type TokenAnswer } from "./token-request.ts";

/** One way of one user to a token. */
export interface CodeFlow {
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
  const verifier = generateRandomCodeVerifier();
  const state = generateRandomState();
  const url = await authorizationUrl(flow, state, verifier);
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

async function authorizationUrl(flow: CodeFlow, state: string, verifier: string): Promise<URL> {
  const { discovery, client, scopes, redirect, dpop } = flow;
  const url = checkBrowsable(discovery.metadata.authorization_endpoint, flow.allowLoopback);
  const parameters = {
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: redirect.uri,
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
  const tooLate = unauthorized("interaction-timeout", `nobody signed in within ${timeoutMs} ms`);
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
