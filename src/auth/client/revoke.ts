import { allowInsecureRequests, customFetch, revocationRequest } from "oauth4webapi";
import type { SafeFetch } from "../safe-fetch.ts";
import { type ClientIdentity, clientAuthOf } from "./client-auth.ts";
import type { Discovery } from "./discovery.ts";
import type { Tokens } from "./vault.ts";

export interface Revocation {
  readonly discovery: Discovery;
  readonly client: ClientIdentity;
  readonly tokens: Tokens;
  readonly fetch: SafeFetch;
}

/** Tells the authorization server that tokens are not needed any more (RFC 7009). It may not care. */
export async function revoke({ discovery, client, tokens, fetch }: Revocation): Promise<void> {
  const { metadata } = discovery;
  if (metadata.revocation_endpoint === undefined) return;
  const auth = await clientAuthOf(client, metadata);
  for (const token of [tokens.refreshToken, tokens.accessToken]) {
    if (token === undefined) continue;
    await revocationRequest(metadata, { client_id: client.clientId }, auth, token, {
      [allowInsecureRequests]: true,
      [customFetch]: (url, { headers, body }) => fetch(url, { method: "POST", headers, body: String(body) }),
    });
  }
}
