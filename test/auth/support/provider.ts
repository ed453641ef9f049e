import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import { recordSecret, recordSecrets } from "../../support/secrets.ts";
import { barrier } from "./barrier.ts";

/** A real authorization server on this machine, which signs in anybody who asks. */
export interface AuthorizationServer extends AsyncDisposable {
  readonly issuer: string;
  readonly provider: Provider;
  /** Grant types of the token requests so far, in order. */
  readonly grants: string[];
  /** Everything that anybody has sent to it: request lines, headers and bodies. */
  heard(): string;
  /** Answers nobody who asks for its metadata until so many have. */
  gather(count: number): void;
}

export interface ProviderOptions {
  /** Seconds. */
  readonly accessTokenTtl?: number;
  /** Of access tokens. Default `opaque`. */
  readonly format?: "opaque" | "jwt";
  /** What may be asked for, at every server. Default: what the servers of these tests know. */
  readonly scopes?: readonly string[];
  /** Clients that it knows beforehand, beside `machine`. */
  readonly clients?: readonly object[];
  /** Default: any. */
  readonly port?: number;
}

export const scopes: readonly string[] = ["mcp:read", "mcp:write"];

export async function startProvider(options: ProviderOptions = {}): Promise<AuthorizationServer> {
  const server = createServer();
  const issuer = await listen(server, options.port);
  const provider = quietly(() => new Provider(issuer, configurationOf(options)));
  const grants: string[] = [];
  for (const event of ["grant.success", "grant.error"]) {
    provider.on(event, ({ oidc }) => grants.push(oidc.params?.grant_type ?? ""));
  }
  for (const event of ["grant.success", "grant.error", "registration_create.success"]) {
    provider.on(event, ({ oidc, headers, body }) => {
      for (const fields of [oidc.params, body]) recordSecrets(fields);
      recordSecret("credentials of a client", headers.authorization?.split(" ")[1]);
    });
  }
  const handle = provider.callback();
  let wait = barrier(0);
  const requests: unknown[] = [];
  server.on("request", async (request, response) => {
    requests.push(request.method, request.url, request.rawHeaders, bodyOf(request));
    if (request.url?.startsWith("/.well-known/")) await wait();
    handle(request, response);
  });
  const gather = (count: number): void => {
    wait = barrier(count);
  };
  const heard = (): string => JSON.stringify(requests);
  return { issuer, provider, grants, heard, gather, [Symbol.asyncDispose]: () => close(server) };
}

function configurationOf(options: ProviderOptions): object {
  const { accessTokenTtl = 3600, format = "opaque", scopes: offered = scopes, clients = [] } = options;
  return {
    clients: [
      {
        client_id: "machine",
        client_secret: "machine-secret",
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
        scope: offered.join(" "),
      },
      ...clients,
    ],
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@example.com`, name: id }),
    }),
    claims: { openid: ["sub"], email: ["email"], profile: ["name"] },
    scopes: ["openid", "offline_access", ...offered],
    cookies: { keys: ["only for tests"] },
    pkce: { required: () => true },
    ttl: {
      AccessToken: accessTokenTtl,
      ClientCredentials: accessTokenTtl,
      Grant: 3600,
      IdToken: 3600,
      Session: 3600,
      Interaction: 600,
      RefreshToken: 3600,
    },
    rotateRefreshToken: true,
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      registrationManagement: { enabled: true, rotateRegistrationAccessToken: false },
      revocation: { enabled: true, allowedPolicy: () => true },
      introspection: { enabled: true, allowedPolicy: () => true },
      clientCredentials: { enabled: true },
      dPoP: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: offered.join(" "),
          audience: resource,
          accessTokenTTL: accessTokenTtl,
          accessTokenFormat: format,
        }),
      },
    },
  };
}

/** The texts that a body has so far. Whoever reads it does not notice. */
function bodyOf(request: IncomingMessage): readonly string[] {
  const chunks: string[] = [];
  const { emit } = request;
  request.emit = (name: string, ...values: unknown[]) => {
    if (name === "data") chunks.push(String(values[0]));
    return emit.call(request, name, ...values);
  };
  return chunks;
}

/** It warns of what no server but one for tests would do. */
function quietly<T>(make: () => T): T {
  const { warn, info } = console;
  console.warn = () => {};
  console.info = () => {};
  try {
    return make();
  } finally {
    Object.assign(console, { warn, info });
  }
}

export async function listen(server: Server, port = 0): Promise<string> {
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
