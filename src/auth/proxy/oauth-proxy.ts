import type { Authenticator, AuthRoute } from "../../protocol/authenticator.ts";
import { upstreamToken } from "../../protocol/peer.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import { isUnavailable } from "../../store/store.ts";
import { createSafeFetch, type Hop, type SafeFetch } from "../safe-fetch.ts";
import type { CheckedAuth, ClaimsSchema } from "../server/claims.ts";
import { fetchFor } from "../server/keys.ts";
import { tokenAuthenticator, type Verified } from "../server/tokens.ts";
import { jsonAnswer, oauthError, openToPages, otherMethod } from "./answers.ts";
import { authorizeRoute, consentRoute } from "./authorize.ts";
import { createBrowsers } from "./browser.ts";
import { callbackRoute } from "./callback.ts";
import { createClients } from "./clients.ts";
import { grantRecords } from "./grant-records.ts";
import { createGrants } from "./grants.ts";
import type { IdentityProviderPreset } from "./provider.ts";
import { type ProxyParts, paths } from "./proxy-parts.ts";
import { createQuota } from "./quota.ts";
import { createRecords, type ProxyRecords } from "./records.ts";
import { registerRoute } from "./register.ts";
import { type OAuthProxyOptions, type ProxySettings, readSettings } from "./settings.ts";
import { revokeRoute, tokenRoute } from "./token.ts";
import { createUpstream } from "./upstream.ts";
import { createUpstreamTokens } from "./upstream-tokens.ts";

/** What a platform has, and tests own. */
export interface ProxyDependencies {
  readonly hop?: Hop | undefined;
  now(): number;
}

/** Makes `oauthProxy` for a platform. */
export function createOAuthProxy<const S extends ClaimsSchema = undefined>(
  options: OAuthProxyOptions<S>,
  means: ProxyDependencies,
): Authenticator<CheckedAuth<S>> {
  const settings = readSettings(options);
  const parts = createParts(settings, options, means);
  const { grants, upstreamTokens } = parts;
  /** The grant of a request, from when its token was checked until it is known who sends it. */
  const grantOf = new WeakMap<HttpRequestInfo, string>();

  const verify = async (token: string, http: HttpRequestInfo): Promise<Verified> => {
    const active = await grants.verify(token);
    if (active === undefined) return { ok: false, description: "the token is not known, has expired or was revoked" };
    grantOf.set(http, active.id);
    const { principal, claims } = active.grant;
    return { ok: true, auth: { principal, scopes: active.scopes, claims } };
  };
  const { resource, issuer, scopes } = settings;
  const metadata = {
    authorization_servers: [issuer],
    ...(scopes.length > 0 && { scopes_supported: scopes }),
  };
  const tokens = tokenAuthenticator(
    { name: "oauthProxy", verify, now: means.now },
    { claims: options.claims, resource, metadata },
  );

  const authenticate: Authenticator<CheckedAuth<S>> = async (http) => {
    const found = await tokens(http);
    const id = grantOf.get(http);
    if (!found.ok || found.auth === undefined || id === undefined) return found;
    return { ok: true, auth: { ...found.auth, [upstreamToken]: () => upstreamTokens.get(id) } };
  };
  return Object.assign(authenticate, {
    schemes: tokens.schemes,
    requiredScopes: tokens.requiredScopes,
    metadata: tokens.metadata,
    routes: createRoutes(parts),
  });
}

function createParts(
  settings: ProxySettings,
  { limits, allowPrivateNetwork = false }: OAuthProxyOptions<ClaimsSchema>,
  { hop, now }: ProxyDependencies,
): ProxyParts {
  const { store, keys, resource, provider, issuer, tokenTtlMs, isRedirectAllowed } = settings;
  const records = createRecords<ProxyRecords>({ store, keys, resource });
  const upstream = createUpstream({
    provider,
    redirectUri: `${issuer}${paths.callback}`,
    fetch: fetchFor(hostsOf(provider), { allowPrivateNetwork, hop }),
    now,
  });
  const kept = grantRecords(records, now);
  const quota = createQuota(store, resource, limits);
  const upstreamTokens = createUpstreamTokens({ kept, store, upstream, now });
  return {
    settings,
    upstream,
    records,
    clients: createClients({ records, fetch: documentFetch(allowPrivateNetwork, hop), isRedirectAllowed, quota }),
    grants: createGrants({ kept, upstreamTokens, tokenTtlMs, now }),
    upstreamTokens,
    quota,
    browsers: createBrowsers(issuer.startsWith("https:")),
    now,
  };
}

/** URLs of the provider that the operator has named. */
function hostsOf(provider: IdentityProviderPreset): readonly string[] {
  return provider.kind === "openid" ? [provider.issuer] : [provider.tokenEndpoint, provider.userEndpoint];
}

/** Metadata documents are at URLs that any stranger may name: they are short, on the public network, and no redirect is followed. */
function documentFetch(allowPrivateNetwork: boolean, hop: Hop | undefined): SafeFetch {
  return createSafeFetch({
    hop,
    allowPrivateNetwork,
    allowInsecureLoopback: allowPrivateNetwork,
    maxBytes: 16_384,
    timeoutMs: 5_000,
    maxRedirects: 0,
  });
}

function createRoutes(parts: ProxyParts): Readonly<Record<string, AuthRoute>> {
  const metadata = metadataRoute(parts.settings);
  return {
    "/.well-known/oauth-authorization-server": metadata,
    "/.well-known/openid-configuration": metadata,
    [paths.authorize]: available(authorizeRoute(parts)),
    [paths.consent]: available(consentRoute(parts)),
    [paths.callback]: available(callbackRoute(parts)),
    [paths.token]: available(tokenRoute(parts)),
    [paths.register]: available(registerRoute(parts)),
    [paths.revoke]: available(revokeRoute(parts)),
  };
}

/** What this authorization server says of itself (RFC 8414). */
function metadataRoute({ issuer, scopes }: ProxySettings): AuthRoute {
  const document = {
    issuer,
    authorization_endpoint: `${issuer}${paths.authorize}`,
    token_endpoint: `${issuer}${paths.token}`,
    registration_endpoint: `${issuer}${paths.register}`,
    revocation_endpoint: `${issuer}${paths.revoke}`,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    ...(scopes.length > 0 && { scopes_supported: scopes }),
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  };
  return ({ method }) =>
    otherMethod(method, "GET") ?? jsonAnswer(200, document, { ...openToPages, "cache-control": "max-age=300" });
}

/** Answers that the store is away, where it is: whoever runs the server is told why. */
function available(route: AuthRoute): AuthRoute {
  return async (http, body) => {
    try {
      return await route(http, body);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      const answer = oauthError(503, "temporarily_unavailable", "retry later", { "retry-after": "5" });
      return { ...answer, warning: "oauthProxy: the store cannot be reached" };
    }
  };
}
