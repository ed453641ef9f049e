import { type AuthOptions, type AuthPlatform, createAuthorizer, type TokenAuthorizer } from "./authorizer.ts";
import { commonParameters, machineGrant } from "./machine-grant.ts";
import { requestTokens } from "./token-request.ts";

/** Who an assertion is for. */
export interface AssertionContext {
  /** The authorization server, which should be its audience. */
  readonly issuer: string;
  /** The server that the token is for. */
  readonly resource: string;
}

/** How a workload shows who it is: by an assertion of the platform it runs on. */
export interface JwtBearerOptions extends AuthOptions {
  /** The assertion (a JWT), or how to get one. It is asked for before every request for a token. */
  readonly assertion: string | ((context: AssertionContext) => string | Promise<string>);
  readonly clientId?: string;
  /** Who takes the assertion. Nobody else is shown it. Default: the first issuer that the server names. */
  readonly issuer?: string;
}

export const jwtBearerType = "urn:ietf:params:oauth:grant-type:jwt-bearer";

export function createJwtBearer(options: JwtBearerOptions, platform: AuthPlatform): TokenAuthorizer {
  const { assertion, clientId, issuer } = options;
  const client = clientId === undefined ? undefined : { clientId, method: "none" };
  const grant = machineGrant({
    client,
    issuer,
    async ask(context) {
      const { discovery, fetch, dpop } = context;
      const { resource } = discovery;
      const shown = typeof assertion === "string" ? assertion : await assertion({ issuer: discovery.issuer, resource });
      return requestTokens({
        server: discovery.metadata,
        client,
        grant: jwtBearerType,
        parameters: { ...commonParameters(context), assertion: shown },
        fetch,
        dpop,
      });
    },
  });
  return createAuthorizer(options, grant, platform);
}
