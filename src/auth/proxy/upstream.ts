import {
  AuthorizationResponseError,
  type AuthorizationServer,
  authorizationCodeGrantRequest,
  type Client,
  type ClientAuth,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomNonce,
  generateRandomState,
  processRefreshTokenResponse,
  ResponseBodyError,
  refreshTokenGrantRequest,
  type TokenEndpointResponse,
  validateAuthResponse,
} from "oauth4webapi";
import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import { clientAuthOf } from "../client/token-request.ts";
import { objectOf, type SafeFetch } from "../safe-fetch.ts";
import { openIdAdapter } from "./openid-adapter.ts";
import { plainOAuthAdapter } from "./plain-oauth-adapter.ts";
import type { IdentityProviderPreset } from "./provider.ts";
import { sendingBy, signInEnded, type UpstreamTokens, unclear } from "./provider-adapter.ts";

/** A user who has signed in with the provider. */
export interface SignedInUser {
  /** The issuer, and what it calls the user: unique, and never given to somebody else. */
  readonly principal: string;
  /** What the provider says of the user. */
  readonly claims: JsonObject;
}

export interface SignedIn extends SignedInUser {
  readonly tokens: UpstreamTokens;
}

/** What has to be known when a user comes back from the provider. */
export type UpstreamRequest = {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
};

/** What a user is sent to the provider with: all of it is new, and good once. */
export function newUpstreamRequest(): UpstreamRequest {
  return { state: generateRandomState(), nonce: generateRandomNonce(), verifier: generateRandomCodeVerifier() };
}

/** The identity provider, with this server as its client. Everything rejects with an `McpError` that has no secret in it. */
export interface Upstream {
  /** Where to send a user who is to sign in. */
  authorizationUrl(request: UpstreamRequest): Promise<URL>;
  /** The user and the tokens. Rejects with `declined` when the user did not agree. */
  signedIn(callback: URLSearchParams, request: UpstreamRequest): Promise<SignedIn>;
  /** New tokens. Rejects with `unauthorized` when the provider has ended the sign-in. */
  refresh(tokens: UpstreamTokens): Promise<UpstreamTokens>;
  /** Asks the provider whether tokens are still good, where they have no end. Rejects with `unauthorized` when they are not. */
  check(tokens: UpstreamTokens): Promise<void>;
}

interface UpstreamOptions {
  readonly provider: IdentityProviderPreset;
  /** The redirect URI of users. */
  readonly redirectUri: string;
  readonly fetch: SafeFetch;
  now(): number;
}

export function createUpstream({ provider, redirectUri, fetch, now }: UpstreamOptions): Upstream {
  const { clientId, clientSecret } = provider;
  const client: Client = { client_id: clientId };
  const sending = sendingBy(fetch);
  const adapter =
    provider.kind === "openid"
      ? openIdAdapter(provider, { fetch, client, sending })
      : plainOAuthAdapter(provider, { fetch, client });
  let known: { readonly server: AuthorizationServer; readonly auth: ClientAuth } | undefined;

  const find = async (): Promise<NonNullable<typeof known>> => {
    if (known !== undefined) return known;
    const server = await adapter.discover();
    known = { server, auth: await clientAuthOf({ clientId, clientSecret }, server) };
    return known;
  };

  const tokensOf = (answer: TokenEndpointResponse, before?: UpstreamTokens): UpstreamTokens => {
    const {
      access_token: accessToken,
      expires_in: seconds,
      refresh_token: refreshToken = before?.refreshToken,
    } = answer;
    return {
      accessToken,
      ...(refreshToken !== undefined && { refreshToken }),
      ...(seconds !== undefined && { expires: now() + seconds * 1_000 }),
    };
  };

  const signIn = async (callback: URLSearchParams, { state, nonce, verifier }: UpstreamRequest): Promise<SignedIn> => {
    const { server, auth } = await find();
    const parameters = validateAuthResponse(server, client, callback, state);
    const sent = authorizationCodeGrantRequest(server, client, auth, parameters, redirectUri, verifier, sending);
    const { answer, issuer, claims } = await adapter.readSignIn(server, await withStatus(await sent), nonce);
    const { sub } = claims;
    if (typeof sub !== "string" || sub === "") throw unclear(provider, "does not say who signed in");
    return { principal: `${issuer}#${sub}`, claims: { ...claims, iss: issuer }, tokens: tokensOf(answer) };
  };

  const refresh = async (tokens: UpstreamTokens): Promise<UpstreamTokens> => {
    const { server, auth } = await find();
    const { refreshToken } = tokens;
    if (refreshToken === undefined) throw signInEnded(provider);
    const response = await withStatus(await refreshTokenGrantRequest(server, client, auth, refreshToken, sending));
    const { id_token: _, ...answer } = (await objectOf(response.clone())) ?? {};
    if (typeof answer.error === "string" && endedBy.has(answer.error)) throw signInEnded(provider);
    // What is not used is not looked at: who signed in does not change.
    const plain = new Response(JSON.stringify(answer), { status: response.status, headers: response.headers });
    return tokensOf(await processRefreshTokenResponse(server, client, plain), tokens);
  };

  return {
    async authorizationUrl({ state, nonce, verifier }) {
      const { server } = await find();
      const { authorization_endpoint: endpoint } = server;
      if (endpoint === undefined || !URL.canParse(endpoint)) throw unclear(provider, "names no authorization_endpoint");
      const url = new URL(endpoint);
      const parameters = {
        ...adapter.parametersFor(server, nonce),
        ...provider.parameters,
        response_type: "code",
        client_id: clientId,
        redirect_uri: redirectUri,
        state,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return url;
    },
    signedIn: (callback, request) => told(provider, () => signIn(callback, request)),
    refresh: (tokens) => told(provider, () => refresh(tokens)),
    check: (tokens) => told(provider, () => adapter.check(tokens)),
  };
}

/** Codes by which a token endpoint says that a refresh token is good no more; the second one is GitHub's. */
const endedBy: ReadonlySet<string> = new Set(["invalid_grant", "bad_refresh_token"]);

/** Some providers, GitHub among them, refuse with 200. */
async function withStatus(response: Response): Promise<Response> {
  if (!response.ok) return response;
  const answer = await objectOf(response.clone());
  if (typeof answer?.error !== "string") return response;
  return new Response(JSON.stringify(answer), { status: 400, headers: response.headers });
}

/** Errors of libraries contain requests and responses: only the code of the error is used. */
async function told<T>(provider: IdentityProviderPreset, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof McpError) throw error;
    const isAnswer = error instanceof AuthorizationResponseError || error instanceof ResponseBodyError;
    const code = isAnswer && isErrorCode.test(error.error) ? error.error : undefined;
    if (code === "access_denied") throw new McpError("declined", `the user did not sign in with ${provider.name}`);
    throw unclear(provider, code === undefined ? "answered with what cannot be used" : `refuses: ${code}`);
  }
}

const isErrorCode = /^[a-z][a-z_]{0,63}$/;
