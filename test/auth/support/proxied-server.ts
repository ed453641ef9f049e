import { randomBytes } from "node:crypto";
import { nodeHop } from "../../../src/auth/node/node-hop.ts";
import { type OAuthProxyOptions, oidc } from "../../../src/auth/node/proxy.ts";
import { createOAuthProxy } from "../../../src/auth/proxy/oauth-proxy.ts";
import type { IdentityProviderPreset } from "../../../src/auth/proxy/provider.ts";
import type { Hop } from "../../../src/auth/safe-fetch.ts";
import { createServer, requireAuth, tool } from "../../../src/server/index.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import type { Store } from "../../../src/store/store.ts";
import type { HttpWarning } from "../../../src/transport/http/options.ts";
import { serveHttp } from "../../../src/transport/node/serve-http.ts";
import { quietPort } from "../../support/quiet-port.ts";
import { recordSecret } from "../../support/secrets.ts";
import { type AuthorizationServer, type ProviderOptions, startProvider } from "./provider.ts";

/** A server behind a proxy, and the time of day that it goes by. */
export interface ProxiedServer extends AsyncDisposable {
  readonly url: string;
  readonly origin: string;
  readonly store: Store;
  readonly warnings: HttpWarning[];
  /** Tokens of the provider that handlers have got. */
  readonly upstreamTokens: string[];
  /** Lets time pass. */
  pass(ms: number): void;
}

export interface ProxiedOptions extends Partial<Omit<OAuthProxyOptions, "resource" | "provider" | "store">> {
  readonly store?: Store;
  readonly port?: number;
  readonly hop?: Hop;
  /** Default: where it listens. */
  readonly resource?: string;
  /** The path of the endpoint. Default `/mcp`. */
  readonly path?: string;
}

export const proxyKey = (): string => randomBytes(32).toString("base64url");

export async function startProxied(provider: IdentityProviderPreset, options: ProxiedOptions): Promise<ProxiedServer> {
  const {
    store = memoryStore(),
    port = await quietPort(),
    hop = nodeHop,
    path = "/mcp",
    resource = `http://127.0.0.1:${port}${path}`,
    keys = [proxyKey()],
    ...more
  } = options;
  const origin = `http://127.0.0.1:${port}`;
  const upstreamTokens: string[] = [];
  const warnings: HttpWarning[] = [];
  let offset = 0;
  const service = createServer({
    name: "proxied",
    version: "1.0.0",
    tools: {
      whoami: tool({ run: (_, ctx) => JSON.stringify(requireAuth(ctx)) }),
      write: tool({ scopes: ["orders:write"], run: () => "written" }),
      upstream: tool({
        run: async (_, ctx) => {
          const token = (await ctx.auth?.upstreamToken()) ?? "";
          recordSecret("token of the provider", token);
          upstreamTokens.push(token);
          return "called";
        },
      }),
    },
  });
  const proxy = {
    scopes: ["orders:read", "orders:write"],
    ...more,
    provider,
    resource,
    store,
    keys,
  };
  const auth = createOAuthProxy(proxy, { hop, now: () => Date.now() + offset });
  const serving = await serveHttp(service, { port, path, auth, onWarning: (warning) => warnings.push(warning) });
  return {
    url: serving.url,
    origin,
    store,
    warnings,
    upstreamTokens,
    pass(ms) {
      offset += ms;
    },
    async [Symbol.asyncDispose]() {
      await serving.close();
    },
  };
}

/** A server behind a proxy, with a real OpenID provider behind that. */
export interface OidcWorld extends AsyncDisposable {
  readonly issuer: AuthorizationServer;
  readonly server: ProxiedServer;
}

export const clientSecret = "only-for-tests-0123456789abcdef";

/** What an OpenID provider knows of the proxy at an origin. */
export function proxyClient(origin: string): object {
  return {
    client_id: "proxy",
    client_secret: clientSecret,
    grant_types: ["authorization_code", "refresh_token"],
    redirect_uris: [`${origin}/callback`],
    scope: "openid email profile offline_access",
  };
}

export async function startOidcWorld(options: ProxiedOptions & ProviderOptions = {}): Promise<OidcWorld> {
  const { port = await quietPort(), accessTokenTtl, ...more } = options;
  const issuer = await startProvider({
    scopes: ["email", "profile"],
    clients: [proxyClient(`http://127.0.0.1:${port}`)],
    ...(accessTokenTtl !== undefined && { accessTokenTtl }),
  });
  const provider = oidc({ issuer: issuer.issuer, clientId: "proxy", clientSecret, name: "Example ID" });
  const server = await startProxied(provider, { port, ...more });
  return {
    issuer,
    server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await issuer[Symbol.asyncDispose]();
    },
  };
}
