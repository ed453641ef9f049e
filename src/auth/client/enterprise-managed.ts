import type { AuthorizationServer } from "oauth4webapi";
import { McpError } from "../../model/errors.ts";
import {
  type AuthOptions,
  type AuthPlatform,
  createAuthorizer,
  safeFetchFor,
  type TokenAuthorizer,
} from "./authorizer.ts";
import type { ClientKey } from "./client-auth.ts";
import { findIssuer } from "./discovery.ts";
import type { GrantContext } from "./grant.ts";
import { jwtBearerType } from "./jwt-bearer.ts";
import { commonParameters, machineGrant } from "./machine-grant.ts";
import { type SubjectToken, subjectExpired, subjectParameters, tokenExchangeType } from "./subject-token.ts";
import { errorCodeOf, requestTokens } from "./token-request.ts";

/** The identity provider of a company, and what the client is called there. */
export interface IdentityProvider {
  readonly issuer: string;
  /** Default: what the metadata of the issuer says. */
  readonly tokenEndpoint?: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly privateKey?: ClientKey;
}

/** How a user who has signed in to their company gets to servers that the company has approved. */
export interface EnterpriseManagedOptions extends AuthOptions {
  readonly identityProvider: IdentityProvider;
  /** What the user got when they signed in: an ID token, or a SAML assertion. */
  readonly subjectToken: SubjectToken;
  /** Default `id-token`. */
  readonly subjectTokenType?: "id-token" | "saml2";
  /** What the client is called at the authorization server of the MCP server. */
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly privateKey?: ClientKey;
  /** Who knows the client. Nobody else is shown its credentials. Default: the first issuer that the server names. */
  readonly issuer?: string;
}

const idJag = "urn:ietf:params:oauth:token-type:id-jag";

/**
 * Two steps: the identity provider exchanges the user's token for an assertion
 * (ID-JAG), which the authorization server of the MCP server takes for a token.
 */
export function createEnterpriseManaged(options: EnterpriseManagedOptions, platform: AuthPlatform): TokenAuthorizer {
  const { clientId, clientSecret, privateKey, issuer } = options;
  const client = { clientId, clientSecret, privateKey };
  const grant = machineGrant({
    client,
    issuer,
    async ask(context) {
      const assertion = await assertionFor(context, options, platform);
      const { discovery, fetch, dpop } = context;
      const parameters = { ...commonParameters(context), assertion };
      return requestTokens({ server: discovery.metadata, client, grant: jwtBearerType, parameters, fetch, dpop });
    },
  });
  return createAuthorizer(options, grant, platform);
}

async function assertionFor(
  context: GrantContext,
  options: EnterpriseManagedOptions,
  platform: AuthPlatform,
): Promise<string> {
  const { identityProvider: provider, subjectToken, subjectTokenType = "id-token" } = options;
  const parameters = {
    ...commonParameters(context),
    ...(await subjectParameters(subjectToken, subjectTokenType, context.now())),
    requested_token_type: idJag,
    audience: context.discovery.issuer,
  };
  // The user trusts the provider, not the server, to say where it is.
  const fetch = safeFetchFor(new URL(provider.issuer), options, platform);
  const server = await serverOf(provider, fetch);
  const { clientId, clientSecret, privateKey } = provider;
  const client = { clientId, clientSecret, privateKey };
  const tokenTypes = { n_a: () => {} };
  const answer = await requestTokens({ server, client, grant: tokenExchangeType, parameters, fetch, tokenTypes }).catch(
    (error: unknown) => {
      throw errorCodeOf(error) === "invalid_grant" ? subjectExpired() : error;
    },
  );
  if (answer.issued_token_type === idJag) return answer.access_token;
  throw new McpError("invalid-response", `${new URL(provider.issuer).origin} did not issue the assertion asked for`);
}

async function serverOf(
  { issuer, tokenEndpoint }: IdentityProvider,
  fetch: Parameters<typeof findIssuer>[1],
): Promise<AuthorizationServer> {
  return tokenEndpoint === undefined ? findIssuer(issuer, fetch) : { issuer, token_endpoint: tokenEndpoint };
}
