import { type AuthOptions, type AuthPlatform, createAuthorizer, type TokenAuthorizer } from "./authorizer.ts";
import type { ClientKey } from "./client-auth.ts";
import { commonParameters, machineGrant } from "./machine-grant.ts";
import {
  type SubjectToken,
  type SubjectTokenType,
  subjectExpired,
  subjectParameters,
  tokenExchangeType,
} from "./subject-token.ts";
import { errorCodeOf, requestTokens } from "./token-request.ts";

/** How a token of a user becomes one for a server (RFC 8693). */
export interface TokenExchangeOptions extends AuthOptions {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly privateKey?: ClientKey;
  readonly subjectToken: SubjectToken;
  /** Default `access-token`. */
  readonly subjectTokenType?: SubjectTokenType;
  readonly audience?: string;
  /** Who knows the client. Nobody else is shown anything. Default: the first issuer that the server names. */
  readonly issuer?: string;
}

export function createTokenExchange(options: TokenExchangeOptions, platform: AuthPlatform): TokenAuthorizer {
  const {
    clientId,
    clientSecret,
    privateKey,
    subjectToken,
    subjectTokenType = "access-token",
    audience,
    issuer,
  } = options;
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
