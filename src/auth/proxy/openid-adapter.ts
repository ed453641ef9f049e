import { decodeJwt } from "jose";
import {
  type AuthorizationServer,
  type Client,
  getValidatedIdTokenClaims,
  processAuthorizationCodeResponse,
  processUserInfoResponse,
  type TokenEndpointResponse,
  userInfoRequest,
  validateApplicationLevelSignature,
} from "oauth4webapi";
import type { JsonObject } from "../../json/json.ts";
import { withOfflineAccess } from "../client/challenge.ts";
import { fetchMetadata, serverMetadataUrls } from "../client/discovery.ts";
import { objectOf, type SafeFetch } from "../safe-fetch.ts";
import { fetchIssuer } from "../server/keys.ts";
import type { OpenIdProvider } from "./provider.ts";
import { type ProviderAdapter, type Sending, unclear } from "./provider-adapter.ts";

interface OpenIdMeans {
  readonly fetch: SafeFetch;
  readonly client: Client;
  readonly sending: Sending;
}

/** Signs users in by OpenID Connect. */
export function openIdAdapter(provider: OpenIdProvider, { fetch, client, sending }: OpenIdMeans): ProviderAdapter {
  const { scopes, offlineAccess = "scope-and-prompt" } = provider;

  /** Some providers tell little in ID tokens, and the rest to who asks. */
  const rest = async (server: AuthorizationServer, answer: TokenEndpointResponse, claims: JsonObject) => {
    const isAll = claims.email !== undefined || !scopes.includes("email");
    if (isAll || server.userinfo_endpoint === undefined) return {};
    const response = await userInfoRequest(server, client, answer.access_token, sending);
    return processUserInfoResponse(server, client, String(claims.sub), response);
  };

  return {
    async discover() {
      const document = await (provider.isIssuer === undefined
        ? fetchIssuer(provider.issuer, fetch)
        : findIssuer(provider, provider.isIssuer, fetch));
      return document as JsonObject & AuthorizationServer;
    },
    parametersFor({ scopes_supported: listed }, nonce) {
      const all = offlineAccess === "none" ? scopes : withOfflineAccess(scopes, listed);
      const isOffline = all.length > scopes.length && offlineAccess === "scope-and-prompt";
      return { scope: all.join(" "), nonce, ...(isOffline && { prompt: "consent" }) };
    },
    async readSignIn(server, response, expectedNonce) {
      const issuing = await ofTenant(server, response);
      const answer = await processAuthorizationCodeResponse(issuing, client, response, {
        expectedNonce,
        requireIdToken: true,
      });
      await validateApplicationLevelSignature(issuing, response, sending);
      const claims = (getValidatedIdTokenClaims(answer) ?? {}) as JsonObject;
      const { issuer } = issuing;
      return {
        answer,
        issuer,
        claims: aboutUser({ ...(await rest(server, answer, claims)), ...claims } as JsonObject),
      };
    },
    // Access tokens of such providers end, and refreshing them is what finds out.
    async check() {},
  };
}

/** Claims that are about a token, and not about a user. */
const aboutTokens: ReadonlySet<string> = new Set([
  "aud",
  "exp",
  "iat",
  "nbf",
  "jti",
  "nonce",
  "azp",
  "at_hash",
  "c_hash",
  "s_hash",
  "sid",
  "uti",
  "rh",
  "aio",
]);

function aboutUser(claims: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !aboutTokens.has(name)));
}

/** The metadata of a provider that calls itself otherwise there than its URL. */
async function findIssuer(
  provider: OpenIdProvider,
  isIssuer: (issuer: string) => boolean,
  fetch: SafeFetch,
): Promise<JsonObject> {
  for (const place of serverMetadataUrls(new URL(provider.issuer)).toReversed()) {
    const found = await fetchMetadata(place, fetch);
    if (found.kind === "failed") throw found.error;
    if (found.kind === "missing") continue;
    if (typeof found.document.issuer === "string" && isIssuer(found.document.issuer)) return found.document;
    throw unclear(provider, "has metadata of another issuer");
  }
  throw unclear(provider, "has no metadata");
}

const tenantPart = "{tenantid}";

/** The issuer of the ID token in a response, where the provider has one for each tenant. */
async function ofTenant(server: AuthorizationServer, response: Response): Promise<AuthorizationServer> {
  if (!server.issuer.includes(tenantPart)) return server;
  const answer = await objectOf(response.clone());
  const { tid } = typeof answer?.id_token === "string" ? decodeJwt(answer.id_token) : {};
  return { ...server, issuer: server.issuer.replace(tenantPart, String(tid)) };
}
