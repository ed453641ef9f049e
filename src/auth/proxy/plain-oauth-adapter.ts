import { type Client, processAuthorizationCodeResponse } from "oauth4webapi";
import type { JsonObject } from "../../json/json.ts";
import { objectOf, type SafeFetch } from "../safe-fetch.ts";
import type { PlainOAuthProvider } from "./provider.ts";
import { type ProviderAdapter, signInEnded, unclear } from "./provider-adapter.ts";

/** Signs users in by OAuth alone, and asks with their access token who they are. */
export function plainOAuthAdapter(
  provider: PlainOAuthProvider,
  { fetch, client }: { readonly fetch: SafeFetch; readonly client: Client },
): ProviderAdapter {
  const { issuer, authorizationEndpoint, tokenEndpoint, userEndpoint, scopes, toClaims } = provider;

  const askUser = async (accessToken: string): Promise<JsonObject> => {
    const headers = { authorization: `Bearer ${accessToken}`, "user-agent": "plugbay" };
    const response = await fetch(userEndpoint, { headers });
    if (response.status === 401) throw signInEnded(provider);
    const user = response.ok ? await objectOf(response) : undefined;
    if (user === undefined) throw unclear(provider, `answered ${response.status} when asked who signed in`);
    return toClaims(user);
  };

  return {
    discover: async () => ({
      issuer,
      authorization_endpoint: authorizationEndpoint,
      token_endpoint: tokenEndpoint,
      token_endpoint_auth_methods_supported: ["client_secret_post"],
    }),
    parametersFor: () => (scopes.length === 0 ? {} : { scope: scopes.join(" ") }),
    async readSignIn(server, response) {
      const answer = await processAuthorizationCodeResponse(server, client, response);
      return { answer, issuer, claims: await askUser(answer.access_token) };
    },
    async check({ accessToken }) {
      await askUser(accessToken);
    },
  };
}
