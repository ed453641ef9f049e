import { McpError } from "../../protocol/errors.ts";
import { systemClock } from "../../std/clock.ts";
import {
  type AuthorizerOptions,
  type AuthPlatform,
  createAuthorizer,
  isLocal,
  type TokenAuthorizer,
} from "./authorizer.ts";
import { union, withOfflineAccess } from "./challenge.ts";
import { canonicalUrl } from "./discovery.ts";
import type { Grant, GrantContext, Granted } from "./grant.ts";
import { requiredIssuer } from "./machine-grants.ts";
import { type ClientDescription, identify } from "./registration.ts";
import {
  type Authorize,
  askUser,
  checkBrowsable,
  checkPkce,
  checkRedirectUri,
  noRedirect,
  type Redirect,
  redirectBy,
} from "./sign-in.ts";
import type { ClientAuthMethod, ClientIdentity, ClientKey } from "./token-request.ts";

/** A client that an authorization server knows already. With a secret or a key, `issuer` is needed. */
export type RegisteredClient = PublicClient | ConfidentialClient;

/** A client without credentials. */
export interface PublicClient {
  readonly clientId: string;
  readonly clientSecret?: undefined;
  readonly privateKey?: undefined;
  readonly authMethod?: "none" | undefined;
  /** The authorization server that knows the client. Default: the first one that a server names, for each server. */
  readonly issuer?: string | undefined;
}

/** A client with credentials, which go to one authorization server only. */
export interface ConfidentialClient {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly privateKey?: ClientKey | undefined;
  /** How it authenticates. Default: by what the authorization server says it takes. */
  readonly authMethod?: ClientAuthMethod | undefined;
  /** The authorization server that knows the client. Its credentials are sent nowhere else. */
  readonly issuer: string;
}

/** How {@link oauth} signs users in. */
export interface OAuthOptions extends AuthorizerOptions {
  /** The client, where it was registered beforehand. */
  readonly client?: RegisteredClient | undefined;
  /** Where the description of the client is published: https, with a path. It is the id of the client, too. */
  readonly clientMetadataUrl?: string | undefined;
  /** What users see where they sign in. Default `plugbay`. */
  readonly clientName?: string | undefined;
  readonly clientUri?: string | undefined;
  /** How users get to where they sign in, and back. Default on Node: a browser and a server on this machine. */
  readonly redirect?: Redirect | undefined;
  /** Sends users to a URL, and resolves to the one they came back to; for applications that do so themselves. */
  readonly authorize?: Authorize | undefined;
  /** The redirect URI of users, with `authorize`. */
  readonly redirectUri?: string | undefined;
  /** How long users may take, which is also how long an answer is waited for. Default 5 min. */
  readonly signInTimeoutMs?: number | undefined;
  /** Ends waiting for users. */
  readonly signal?: AbortSignal | undefined;
}

/** The functions of a platform for users who sign in. */
export interface OAuthPlatform extends AuthPlatform {
  readonly redirect?: () => Redirect;
}

/** Makes `oauth` for a platform. */
export function createOAuth(options: OAuthOptions, platform: OAuthPlatform): TokenAuthorizer {
  const { client, clientMetadataUrl } = options;
  if (clientMetadataUrl !== undefined) checkMetadataUrl(clientMetadataUrl);
  const redirect = redirectOf(options, platform);
  const identity = client === undefined ? undefined : identityOf(client);
  if (client !== undefined) checkIssuer(client);

  const grant: Grant = {
    silent: false,
    issuer: client?.issuer,
    bound: client !== undefined,
    obtain: (context) => signIn(context, options, redirect, identity),
    clientFor(clientId, registration) {
      if (identity !== undefined) return identity.clientId === clientId ? identity : undefined;
      return clientId === clientMetadataUrl ? { clientId, method: "none" } : registration;
    },
  };
  return createAuthorizer(options, grant, platform);
}

function redirectOf({ redirect, authorize, redirectUri }: OAuthOptions, platform: OAuthPlatform): Redirect {
  if (authorize === undefined) return redirect ?? platform.redirect?.() ?? noRedirect;
  if (redirect !== undefined) throw new McpError("invalid-params", "give either redirect or authorize");
  if (redirectUri === undefined) throw new McpError("invalid-params", "authorize needs redirectUri");
  checkRedirectUri(redirectUri);
  return redirectBy(authorize, redirectUri);
}

function checkMetadataUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "https:" && url.pathname !== "/" && url.hash === "" && url.username === "") return;
  throw new McpError("invalid-params", "clientMetadataUrl must be an https URL with a path");
}

/** Credentials of a client go to one issuer, which has to be named. */
function checkIssuer({ clientSecret, privateKey, issuer }: RegisteredClient): void {
  const credential = clientSecret === undefined ? "private key" : "client secret";
  const isPublic = clientSecret === undefined && privateKey === undefined;
  if (!isPublic || issuer !== undefined) requiredIssuer("client.issuer of oauth", issuer, credential);
}

function identityOf({ clientId, clientSecret, privateKey, authMethod }: RegisteredClient): ClientIdentity {
  return { clientId, clientSecret, privateKey, method: authMethod };
}

async function signIn(
  context: GrantContext,
  options: OAuthOptions,
  redirect: Redirect,
  client: ClientIdentity | undefined,
): Promise<Granted> {
  const { discovery, fetch, dpop, credentials, now } = context;
  const { metadata, issuer } = discovery;
  const { clientMetadataUrl, signInTimeoutMs = 300_000, clock = systemClock, signal } = options;
  const allowLoopback = isLocal(context.server);
  // An authorization that cannot succeed is not started, so that no client is registered for it.
  checkPkce(discovery);
  checkBrowsable(metadata.authorization_endpoint, allowLoopback);
  const scopes = withOfflineAccess(context.scopes, metadata.scopes_supported);
  await using opened = await redirect.open((await credentials.registration(issuer))?.redirectUri);
  // What the server may want later is better known now: else the client has to register again for it.
  const allScopes = scopes.length === 0 ? scopes : union(scopes, discovery.scopesSupported ?? []);
  const place = {
    resource: canonicalUrl(context.server),
    server: metadata,
    redirectUri: opened.uri,
    scopes: allScopes,
  };
  const description: ClientDescription = { clientName: options.clientName ?? "plugbay", clientUri: options.clientUri };
  const identity = await identify(place, { client, clientMetadataUrl, description, credentials, fetch, now });
  const flow = { discovery, client: identity, scopes, redirect: opened, fetch, dpop, allowLoopback };
  const answer = await askUser({ ...flow, timeoutMs: signInTimeoutMs, clock, signal });
  return { answer, clientId: identity.clientId, scopes };
}
