import { createHash, randomBytes } from "node:crypto";
import { recordSecrets } from "../../support/secrets.ts";
import { createUser } from "./user-agent.ts";

type Fields = Readonly<Record<string, string | undefined>>;

/** Tokens, or an error, as an endpoint answers them. */
export interface TokenAnswer {
  readonly status: number;
  readonly access_token?: string;
  readonly refresh_token?: string;
  readonly scope?: string;
  readonly error?: string;
}

/** A client that sends what it is told to, right or wrong. */
export interface RawClient {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly verifier: string;
  /** The URL to send a user to. What is undefined is left out. */
  authorizeUrl(changes?: Fields): URL;
  /** Has a user sign in. What came back with them. */
  signIn(user?: ReturnType<typeof createUser>, changes?: Fields): Promise<URLSearchParams>;
  /** Redeems a code. */
  redeem(code: string, changes?: Fields): Promise<TokenAnswer>;
  refresh(token: string, changes?: Fields): Promise<TokenAnswer>;
  /** Signs in and redeems the code. */
  tokens(
    user?: ReturnType<typeof createUser>,
    changes?: Fields,
  ): Promise<Required<Pick<TokenAnswer, "access_token" | "refresh_token">>>;
}

export async function post(url: string, fields: Fields): Promise<TokenAnswer> {
  const form = new URLSearchParams(present(fields));
  const response = await fetch(url, { method: "POST", body: form, headers: { connection: "close" } });
  const text = await response.text();
  const answer = text === "" ? {} : JSON.parse(text);
  recordSecrets(answer);
  return { ...answer, status: response.status };
}

function present(fields: Fields): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

export function register(origin: string, metadata: object = {}): Promise<Response> {
  return fetch(`${origin}/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ redirect_uris: ["http://127.0.0.1:4999/callback"], client_name: "Raw client", ...metadata }),
  });
}

export async function createRawClient(
  origin: string,
  options: { readonly redirectUri?: string; readonly metadata?: object; readonly clientId?: string } = {},
): Promise<RawClient> {
  const { redirectUri = "http://127.0.0.1:4999/callback", metadata } = options;
  const registered =
    options.clientId ??
    (await (await register(origin, { redirect_uris: [redirectUri], ...metadata })).json()).client_id;
  const clientId = String(registered);
  const verifier = randomBytes(32).toString("base64url");
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const resource = `${origin}/mcp`;

  const authorizeUrl = (changes: Fields = {}): URL => {
    const url = new URL("/authorize", origin);
    const parameters = {
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUri,
      state: "client-state",
      code_challenge: challenge,
      code_challenge_method: "S256",
      resource,
      ...changes,
    };
    for (const [name, value] of Object.entries(present(parameters))) url.searchParams.append(name, value);
    return url;
  };

  const signIn: RawClient["signIn"] = async (user = createUser(), changes = {}) =>
    new URL(await user.authorize(authorizeUrl(changes), { redirectUri: changes.redirect_uri ?? redirectUri }))
      .searchParams;

  const redeem: RawClient["redeem"] = (code, changes = {}) =>
    post(`${origin}/token`, {
      grant_type: "authorization_code",
      client_id: clientId,
      redirect_uri: redirectUri,
      code_verifier: verifier,
      resource,
      code,
      ...changes,
    });

  return {
    clientId,
    redirectUri,
    verifier,
    authorizeUrl,
    signIn,
    redeem,
    refresh: (token, changes = {}) =>
      post(`${origin}/token`, { grant_type: "refresh_token", client_id: clientId, refresh_token: token, ...changes }),
    async tokens(user, changes = {}) {
      const answer = await signIn(user, changes);
      const { access_token, refresh_token = "", error } = await redeem(answer.get("code") ?? "");
      if (access_token === undefined) throw new Error(`no token: ${error ?? answer.get("error")}`);
      return { access_token, refresh_token };
    },
  };
}

/** The status of a call with a token. */
export async function call(url: string, token: string, tool = "whoami"): Promise<{ status: number; text: string }> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      connection: "close",
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": tool,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        name: tool,
        arguments: {},
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {},
          "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
        },
      },
    }),
  });
  return { status: response.status, text: await response.text() };
}
