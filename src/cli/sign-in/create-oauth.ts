import type { TokenAuthorizer } from "../../auth/client/authorizer.ts";
import type { OAuthOptions, RegisteredClient } from "../../auth/client/oauth.ts";
import type { Redirect } from "../../auth/client/sign-in.ts";
import type { TokenStore } from "../../auth/client/token-store.ts";
import { oauth } from "../../auth/node/client.ts";
import type { OAuthSettings } from "../../config/server-entry.ts";
import { defined } from "../../std/defined.ts";
import { UsageError } from "../usage-error.ts";

interface CreateOAuthOptions extends Pick<OAuthOptions, "signal" | "scopes"> {
  readonly tokens: TokenStore;
  readonly redirect: Redirect;
  /** What a configuration file says of signing in. */
  readonly settings?: OAuthSettings | undefined;
  /** The authorization server that a client secret may be sent to. */
  readonly issuer?: string | undefined;
}

/** Signs in as `plugbay`, with the client that a configuration file names. */
export function createOAuth({
  tokens,
  redirect,
  settings,
  issuer,
  scopes,
  signal,
}: CreateOAuthOptions): TokenAuthorizer {
  const client = clientOf(settings, issuer);
  return oauth(
    defined({ tokens, redirect, client, scopes: scopes ?? settings?.scopes, clientName: "plugbay", signal }),
  );
}

function clientOf(settings: OAuthSettings | undefined, issuer: string | undefined): RegisteredClient | undefined {
  const { clientId, clientSecret } = settings ?? {};
  if (clientId === undefined) return undefined;
  if (clientSecret === undefined) return { clientId, issuer };
  if (issuer !== undefined) return { clientId, clientSecret, issuer };
  throw new UsageError(
    "the configuration has a client secret, and does not say which authorization server may get it",
    "name it: --issuer https://login.example.com",
  );
}
