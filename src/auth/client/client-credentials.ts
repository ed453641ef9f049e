import { McpError } from "../../model/errors.ts";
import { type AuthOptions, type AuthPlatform, createAuthorizer, type TokenAuthorizer } from "./authorizer.ts";
import type { ClientKey } from "./client-auth.ts";
import { commonParameters, machineGrant } from "./machine-grant.ts";
import { requestTokens } from "./token-request.ts";

/** Credentials of a program that acts for itself: a secret, or a key. */
export interface ClientCredentialsOptions extends AuthOptions {
  readonly clientId: string;
  readonly clientSecret?: string;
  /** Signs assertions that say who the client is, for the issuer only. Then there is no secret. */
  readonly privateKey?: ClientKey;
  /** How a secret is sent. Default: by what the authorization server says it takes. */
  readonly authMethod?: "client_secret_basic" | "client_secret_post";
  /** Who knows the client. Nobody else is shown its credentials. Default: the first issuer that the server names. */
  readonly issuer?: string;
}

export function createClientCredentials(options: ClientCredentialsOptions, platform: AuthPlatform): TokenAuthorizer {
  const { clientId, clientSecret, privateKey, authMethod, issuer } = options;
  if ((clientSecret === undefined) === (privateKey === undefined)) {
    throw new McpError("invalid-params", "give either clientSecret or privateKey");
  }
  const client = { clientId, clientSecret, privateKey, method: authMethod };
  const grant = machineGrant({
    client,
    issuer,
    ask: (context) =>
      requestTokens({
        server: context.discovery.metadata,
        client,
        grant: "client_credentials",
        parameters: commonParameters(context),
        fetch: context.fetch,
        dpop: context.dpop,
      }),
  });
  return createAuthorizer(options, grant, platform);
}
