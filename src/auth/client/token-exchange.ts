import { decodeJwt } from "jose";
import type { AuthorizationServer } from "oauth4webapi";
import { McpError } from "../../protocol/errors.ts";
import {
  type AuthorizerOptions,
  type AuthPlatform,
  createAuthorizer,
  safeFetchFor,
  type TokenAuthorizer,
} from "./authorizer.ts";
import { findIssuer } from "./discovery.ts";
import type { GrantContext } from "./grant.ts";
import { commonParameters, jwtBearerType, machineGrant, requiredIssuer } from "./machine-grants.ts";
import { unauthorized } from "./problems.ts";
import { type ClientKey, errorCodeOf, requestTokens } from "./token-request.ts";

/** How a token of a user becomes one for a server (RFC 8693). */
export interface TokenExchangeOptions extends AuthorizerOptions {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly privateKey?: ClientKey | undefined;
  readonly subjectToken: SubjectToken;
  /** Default `access-token`. */
  readonly subjectTokenType?: SubjectTokenType | undefined;
  readonly audience?: string | undefined;
  /** The authorization server that exchanges tokens. The subject token and the credentials are sent nowhere else. */
  readonly issuer: string;
}

export function createTokenExchange(options: TokenExchangeOptions, platform: AuthPlatform): TokenAuthorizer {
  const { clientId, clientSecret, privateKey, subjectToken, subjectTokenType = "access-token", audience } = options;
  const issuer = requiredIssuer("issuer of tokenExchange", options.issuer, "subject token");
  const client = { clientId, clientSecret, privateKey };
  const grant = machineGrant({
    client,
    issuer,
    async ask(context) {
      const parameters = {
        ...commonParameters(context),
        ...(await subjectParameters(subjectToken, subjectTokenType, context.now())),
        requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
        ...(audience !== undefined && { audience }),
      };
      const { discovery, fetch, dpop } = context;
      const request = { server: discovery.metadata, client, grant: tokenExchangeType, parameters, fetch, dpop };
      return requestTokens(request).catch((error: unknown) => {
        throw errorCodeOf(error) === "invalid_grant" ? subjectExpired() : error;
      });
    },
  });
  return createAuthorizer(options, grant, platform);
}

/** The token of a user, or how to get one that has not expired. */
export type SubjectToken = string | (() => string | Promise<string>);

const tokenExchangeType = "urn:ietf:params:oauth:grant-type:token-exchange";

const tokenTypes = {
  "access-token": "urn:ietf:params:oauth:token-type:access_token",
  "id-token": "urn:ietf:params:oauth:token-type:id_token",
  jwt: "urn:ietf:params:oauth:token-type:jwt",
  saml2: "urn:ietf:params:oauth:token-type:saml2",
} as const;

/** What kind of token a user's is. */
export type SubjectTokenType = keyof typeof tokenTypes;

/** The parameters that say whose behalf it is on. Rejects with `subject-token-expired` when the token says so itself. */
async function subjectParameters(
  token: SubjectToken,
  type: SubjectTokenType,
  now: number,
): Promise<Readonly<Record<string, string>>> {
  const subject = typeof token === "string" ? token : await token();
  const expires = expiryOf(subject);
  if (expires !== undefined && expires * 1000 <= now) throw subjectExpired();
  return { subject_token: subject, subject_token_type: tokenTypes[type] };
}

/** The error of a user who has to sign in again where the subject token comes from. */
function subjectExpired(): McpError {
  return unauthorized("subject-token-expired", "the token of the user has expired, or is not taken any more");
}

/** When a token expires, in seconds. Undefined when it does not tell. */
function expiryOf(token: string): number | undefined {
  try {
    return decodeJwt(token).exp;
  } catch {
    return undefined;
  }
}

/** The identity provider of a company, and what the client is called there. */
export interface IdentityProvider {
  readonly issuer: string;
  /** Default: what the metadata of the issuer says. */
  readonly tokenEndpoint?: string | undefined;
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly privateKey?: ClientKey | undefined;
}

/** How a user who has signed in to their company gets to servers that the company has approved. */
export interface EnterpriseManagedOptions extends AuthorizerOptions {
  readonly identityProvider: IdentityProvider;
  /** What the user got when they signed in: an ID token, or a SAML assertion. */
  readonly subjectToken: SubjectToken;
  /** Default `id-token`. */
  readonly subjectTokenType?: "id-token" | "saml2" | undefined;
  /** What the client is called at the authorization server of the MCP server. */
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  readonly privateKey?: ClientKey | undefined;
  /** The authorization server of the MCP server. Assertions and the credentials of the client are sent nowhere else. */
  readonly issuer: string;
}

const idJag = "urn:ietf:params:oauth:token-type:id-jag";

/**
 * Two steps: the identity provider exchanges the user's token for an assertion
 * (ID-JAG), which the authorization server of the MCP server takes for a token.
 */
export function createEnterpriseManaged(options: EnterpriseManagedOptions, platform: AuthPlatform): TokenAuthorizer {
  const { clientId, clientSecret, privateKey } = options;
  const issuer = requiredIssuer("issuer of enterpriseManaged", options.issuer, "assertion");
  requiredIssuer("identityProvider.issuer of enterpriseManaged", options.identityProvider.issuer, "subject token");
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
