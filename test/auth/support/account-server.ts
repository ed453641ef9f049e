import { createServer, requireAuth, resource, tool } from "../../../src/server/index.ts";
import { serveHttp } from "../../../src/transport/node/serve-http.ts";
import { quietPort } from "../../support/quiet-port.ts";
import { type AuthorizationServer, scopes } from "./provider.ts";

const sure = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;

/** An MCP server with something for each of its users, which takes tokens of one authorization server. */
export interface AccountServer extends AsyncDisposable {
  readonly url: string;
  /** All values of headers that came with requests. */
  readonly heard: string[];
  /** Takes a token no more, whatever the authorization server thinks of it. */
  block(token: string): void;
  /** Tokens that it was shown, in order. */
  readonly shown: string[];
}

export async function startAccountServer(
  { issuer, provider }: AuthorizationServer,
  options: { readonly keys?: Readonly<Record<string, string>> } = {},
): Promise<AccountServer> {
  const port = await quietPort();
  const url = `http://127.0.0.1:${port}/mcp`;
  const blocked = new Set<string>();
  const heard: string[] = [];
  const shown: string[] = [];
  const server = createServer({
    name: "notes",
    version: "1.0.0",
    tools: {
      whoami: tool({ annotations: { readOnlyHint: true }, run: (_, ctx) => requireAuth(ctx).principal }),
      confirm: tool({
        run: async (_, ctx) => {
          const { ok } = await ctx.ask("Sure?", sure);
          return `${requireAuth(ctx).principal} says ${ok ? "yes" : "no"}`;
        },
      }),
      write: tool({ scopes: ["mcp:write"], run: (_, ctx) => `written by ${requireAuth(ctx).principal}` }),
    },
    resources: [resource("notes://mine", { read: (_, ctx) => `notes of ${requireAuth(ctx).principal}` })],
  });

  const authenticate = async (token: string) => {
    const byKey = options.keys?.[token];
    if (byKey !== undefined) return { principal: byKey, scopes: [] };
    const found = (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
    const isGood = found?.isValid === true && found.aud === url && !blocked.has(token);
    if (!isGood) return undefined;
    const { accountId, clientId } = found as { accountId?: string; clientId?: string };
    return { principal: accountId ?? `client ${clientId}`, scopes: found.scope?.split(" ") ?? [] };
  };

  const auth = Object.assign(
    async (http: { header(name: string): string | undefined }) => {
      for (const name of ["authorization", "x-api-key", "cookie"]) heard.push(http.header(name) ?? "");
      const token = http.header("x-api-key") ?? http.header("authorization")?.replace(/^Bearer /, "") ?? "";
      if (token !== "") shown.push(token);
      const found = await authenticate(token);
      return found === undefined ? ({ ok: false, status: 401 } as const) : ({ ok: true, auth: found } as const);
    },
    {
      metadata: { resource: url, authorization_servers: [issuer], scopes_supported: scopes },
      credentials: ["x-api-key"],
    },
  );
  const serving = await serveHttp(server, { port, auth });
  return {
    url,
    heard,
    shown,
    block: (token) => void blocked.add(token),
    [Symbol.asyncDispose]: () => serving.close(),
  };
}
