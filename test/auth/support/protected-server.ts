import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer, tool } from "../../../src/server/index.ts";
import { toNodeHandler } from "../../../src/transport/node/http.ts";
import { barrier } from "./barrier.ts";
import { type AuthorizationServer, close, listen, scopes } from "./provider.ts";

/** An MCP server that takes tokens of one authorization server. `write` needs a scope of its own. */
export interface ProtectedServer extends AsyncDisposable {
  readonly url: string;
  /** Tokens that were taken, in order. */
  readonly taken: string[];
  /** Statuses of what was refused. */
  readonly refused: number[];
  /**
   * Takes this token no more, whatever the authorization server thinks of it.
   * Says so when as many requests as are given have come with it.
   */
  block(token: string, together?: number): void;
  /** Takes tokens of another authorization server from now on. */
  moveTo(issuer: AuthorizationServer): void;
}

const service = createServer({
  name: "protected",
  version: "1.0.0",
  tools: { read: tool({ run: () => "read" }), write: tool({ run: () => "written" }) },
});

export interface ProtectedOptions {
  /** Whether its metadata names the scopes it knows. Default true. */
  readonly namesScopes?: boolean;
}

export async function startProtected(
  first: AuthorizationServer,
  { namesScopes = true }: ProtectedOptions = {},
): Promise<ProtectedServer> {
  let { issuer, provider } = first;
  const handle = toNodeHandler(service);
  const server = createHttpServer();
  const origin = await listen(server);
  const resource = `${origin}/mcp`;
  const taken: string[] = [];
  const refused: number[] = [];
  const blocked = new Map<string, () => Promise<void>>();

  const refuse = (response: ServerResponse, status: number, challenge: string): void => {
    refused.push(status);
    const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
    response.writeHead(status, { "www-authenticate": `Bearer ${challenge}, ${metadata}` }).end();
  };

  const judge = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [scheme, token = ""] = (request.headers.authorization ?? "").split(" ");
    const found = (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
    const isBound = found?.jkt !== undefined;
    const shown = isBound ? scheme === "DPoP" && request.headers.dpop !== undefined : scheme === "Bearer";
    const wait = blocked.get(token);
    await wait?.();
    if (found?.aud !== resource || !found.isValid || !shown || wait !== undefined) {
      return refuse(response, 401, 'scope="mcp:read"');
    }
    const isWrite = request.headers["mcp-name"] === "write";
    if (isWrite && !found.scope?.split(" ").includes("mcp:write")) {
      return refuse(response, 403, 'error="insufficient_scope", scope="mcp:write"');
    }
    taken.push(token);
    handle(request, response);
  };

  server.on("request", (request, response) => {
    if (request.url === "/mcp") return void judge(request, response);
    const isMetadata = request.url === "/.well-known/oauth-protected-resource/mcp";
    response.writeHead(isMetadata ? 200 : 404, { "content-type": "application/json" });
    const named = namesScopes ? { scopes_supported: scopes } : {};
    response.end(JSON.stringify({ resource, authorization_servers: [issuer], ...named }));
  });

  return {
    url: resource,
    taken,
    refused,
    moveTo(next) {
      ({ issuer, provider } = next);
    },
    block: (token, together = 1) => blocked.set(token, barrier(together)),
    async [Symbol.asyncDispose]() {
      await handle.close();
      await close(server);
    },
  };
}
