import { isLocal, safeFetchFor } from "../../auth/client/authorizer.ts";
import { firstScopes, tokenChallenge, union, withOfflineAccess } from "../../auth/client/challenge.ts";
import { createCredentials } from "../../auth/client/credentials.ts";
import { canonicalUrl, discover, findIssuer } from "../../auth/client/discovery.ts";
import { toTokens } from "../../auth/client/held-token.ts";
import { identify } from "../../auth/client/registration.ts";
import { authorizationUrl, checkPkce, newCodeFlow, readCallback } from "../../auth/client/sign-in.ts";
import { type ClientIdentity, errorCodeOf, requestTokens } from "../../auth/client/token-request.ts";
import { nodeHop } from "../../auth/node/node-hop.ts";
import type { SafeFetch } from "../../auth/safe-fetch.ts";
import type { Clock } from "../../std/clock.ts";
import { identityOf } from "./account-credentials.ts";
import type { AccountClient, AccountRecords, PendingLink, Ticket } from "./account-records.ts";
import type { Accounts } from "./accounts.ts";
import type { UserCredentials } from "./vault-options.ts";

/** Signs users in to servers: by an authorization code with PKCE, for one resource, with the gateway as the client. */
export interface UpstreamSignIn {
  /** Where to send a user, and what has to be known when they come back. */
  begin(ticket: Ticket, given: UserCredentials, browser: string): Promise<Begun>;
  /** Takes a user who came back, and keeps their tokens. Rejects with an `McpError` that has no secret in it. */
  finish(pending: PendingLink, given: UserCredentials, callback: string): Promise<void>;
}

interface Begun {
  readonly url: URL;
  readonly pending: PendingLink;
}

interface UpstreamSignInOptions {
  readonly records: AccountRecords;
  readonly accounts: Accounts;
  readonly clock: Clock;
  /** What the gateway is called where it registers. */
  readonly clientName: string;
  redirectUri(server: string): string;
  /** Milliseconds of the time of day. */
  now(): number;
}

export function createUpstreamSignIn(options: UpstreamSignInOptions): UpstreamSignIn {
  const { records, accounts, clock, clientName, redirectUri, now } = options;
  const fetchFor = (url: string, given: UserCredentials): SafeFetch =>
    safeFetchFor(new URL(url), { allowPrivateNetwork: given.allowPrivateNetwork, clock }, { hop: nodeHop });

  /** The client that the gateway is: one for all users, whoever of them comes first. */
  const register = (
    place: Parameters<typeof identify>[0],
    { server }: Ticket,
    given: UserCredentials,
    fetch: SafeFetch,
  ) => {
    const credentials = createCredentials(records.clientsOf(server));
    const { client, clientMetadataUrl } = given;
    const known = client && { ...client, method: client.authMethod };
    const description = { clientName };
    return credentials.exclusive("register", () =>
      identify(place, { client: known, clientMetadataUrl, description, credentials, fetch, now }),
    );
  };

  return {
    async begin(ticket, given, browser) {
      const server = new URL(ticket.url);
      const fetch = fetchFor(ticket.url, given);
      const challenge = await challengeOf(server, fetch);
      const discovery = await discover(server, { fetch, challenge, required: given.client?.issuer });
      checkPkce(discovery);
      const { metadata, issuer, resource, scopesSupported } = discovery;
      const first = firstScopes({ challenged: challenge.scope, wanted: given.scopes, supported: scopesSupported });
      const scopes = withOfflineAccess(union(first, ticket.scopes), metadata.scopes_supported);
      const allScopes = scopes.length === 0 ? scopes : union(scopes, scopesSupported ?? []);
      const uri = redirectUri(ticket.server);
      const place = { resource: canonicalUrl(server), server: metadata, redirectUri: uri, scopes: allScopes };
      const client = await register(place, ticket, given, fetch);
      const { state, verifier } = newCodeFlow();
      const allowLoopback = isLocal(server);
      const url = await authorizationUrl({
        discovery,
        client,
        scopes,
        redirectUri: uri,
        state,
        verifier,
        allowLoopback,
      });
      const { resourceMetadata } = challenge;
      const kept = { ticket, state, verifier, browser, resource, scopes, client: toAccountClient(client, issuer) };
      return { url, pending: { ...kept, ...(resourceMetadata !== undefined && { metadataUrl: resourceMetadata }) } };
    },
    async finish(pending, given, callback) {
      const { ticket, client, state, verifier, resource, scopes, metadataUrl } = pending;
      const fetch = fetchFor(ticket.url, given);
      const uri = redirectUri(ticket.server);
      const server = await findIssuer(client.issuer, fetch);
      const code = readCallback(callback, { server, state, redirectUri: uri });
      const parameters = { code, redirect_uri: uri, code_verifier: verifier, resource };
      const identity = identityOf(client, given);
      const request = { server, client: identity, grant: "authorization_code", parameters, fetch };
      const answer = await requestTokens(request).catch(async (error: unknown) => {
        // The issuer does not know the client any more: the next user has it registered again.
        if (errorCodeOf(error) === "invalid_client")
          await createCredentials(records.clientsOf(ticket.server)).unregister(client.issuer);
        throw error;
      });
      const tokens = toTokens(answer, { requested: scopes, dpop: undefined, now: now() });
      const credentials = createCredentials(records.tokensOf(ticket));
      const name = canonicalUrl(new URL(ticket.url));
      const place = { issuer: client.issuer, resource, clientId: client.clientId, metadataUrl };
      await credentials.exclusive(name, () => credentials.keep(name, place, tokens));
      await accounts.connect(ticket, { url: ticket.url, client });
    },
  };
}

/** What the server says to who comes without a token. One that says nothing may have its metadata at the usual place. */
async function challengeOf(server: URL, fetch: SafeFetch) {
  const answer = await fetch(server).catch(() => undefined);
  if (answer?.status !== 401) return {};
  return tokenChallenge(answer.headers.get("www-authenticate") ?? undefined, undefined);
}

function toAccountClient({ clientId, clientSecret, method }: ClientIdentity, issuer: string): AccountClient {
  return {
    clientId,
    issuer,
    ...(clientSecret !== undefined && { clientSecret }),
    ...(method !== undefined && { method }),
  };
}
