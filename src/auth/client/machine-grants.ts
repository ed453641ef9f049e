import { McpError } from "../../protocol/errors.ts";
import { type AuthorizerOptions, type AuthPlatform, createAuthorizer, type TokenAuthorizer } from "./authorizer.ts";
import type { Grant, GrantContext } from "./grant.ts";
import { type ClientIdentity, type ClientKey, requestTokens, type TokenAnswer } from "./token-request.ts";

/** A way to a token that no user takes part in. */
interface MachineGrant {
  /** The client authentication. Undefined when the assertion identifies the client. */
  readonly client: ClientIdentity | undefined;
  /** The only issuer that is asked. */
  readonly issuer: string;
  ask(context: GrantContext): Promise<TokenAnswer>;
}

export function machineGrant({ client, issuer, ask }: MachineGrant): Grant {
  return {
    silent: true,
    issuer,
    bound: true,
    async obtain(context) {
      return { answer: await ask(context), clientId: client?.clientId ?? "", scopes: context.scopes };
    },
    clientFor: () => client,
  };
}

/** What every request for a token of a resource says. */
export function commonParameters({ discovery, scopes }: GrantContext): Readonly<Record<string, string>> {
  return { resource: discovery.resource, ...(scopes.length > 0 && { scope: scopes.join(" ") }) };
}

/** Credentials of a program that acts for itself: a secret, or a key. */
export interface ClientCredentialsOptions extends AuthorizerOptions {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /** Signs assertions of the client's identity, for the issuer only, instead of a secret. */
  readonly privateKey?: ClientKey | undefined;
  /** How a secret is sent. Default: by what the authorization server says it takes. */
  readonly authMethod?: "client_secret_basic" | "client_secret_post" | undefined;
  /** The authorization server that knows the client. Its credentials are sent nowhere else. */
  readonly issuer: string;
}

export function createClientCredentials(options: ClientCredentialsOptions, platform: AuthPlatform): TokenAuthorizer {
  const { clientId, clientSecret, privateKey, authMethod } = options;
  if ((clientSecret === undefined) === (privateKey === undefined)) {
    throw new McpError("invalid-params", "give either clientSecret or privateKey");
  }
  const issuer = requiredIssuer(
    "issuer of clientCredentials",
    options.issuer,
    clientSecret === undefined ? "private key" : "client secret",
  );
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

/** The audience of an assertion. */
export interface AssertionContext {
  /** The authorization server, which should be its audience. */
  readonly issuer: string;
  /** The server that the token is for. */
  readonly resource: string;
}

/** Authenticates a workload by an assertion of the platform that it runs on. */
export interface JwtBearerOptions extends AuthorizerOptions {
  /** The assertion (a JWT), or how to get one. It is asked for before every request for a token. */
  readonly assertion: string | ((context: AssertionContext) => string | Promise<string>);
  readonly clientId?: string | undefined;
  /** The authorization server that takes the assertion. It is sent nowhere else. */
  readonly issuer: string;
}

export const jwtBearerType = "urn:ietf:params:oauth:grant-type:jwt-bearer";

export function createJwtBearer(options: JwtBearerOptions, platform: AuthPlatform): TokenAuthorizer {
  const { assertion, clientId } = options;
  const issuer = requiredIssuer("issuer of jwtBearer", options.issuer, "assertion");
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

/** What goes to the issuer and to nobody else, for the message. */
type Credential = "client secret" | "private key" | "subject token" | "assertion";

/**
 * The one issuer that credentials go to. A server could name any issuer in its
 * metadata, so credentials without an issuer are refused before anything is sent.
 * Throws `invalid-params`.
 */
export function requiredIssuer(option: string, issuer: string | undefined, credential: Credential): string {
  if (typeof issuer !== "string" || issuer === "") {
    const reason = `without it any server could have the ${credential} sent to an authorization server of its choice`;
    throw new McpError("invalid-params", `${option} is needed: ${reason}; give the URL of the one that knows you`);
  }
  if (!URL.canParse(issuer)) throw new McpError("invalid-params", `${option} is not a URL: give that of the issuer`);
  return issuer;
}
