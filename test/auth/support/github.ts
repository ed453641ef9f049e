import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { recordSecret } from "../../support/secrets.ts";
import { close, listen } from "./provider.ts";

/**
 * What the endpoints of GitHub look like from outside: OAuth without OpenID, errors with status 200, scopes with commas,
 * tokens that never end, and no second question to somebody who has agreed before.
 */
export interface GithubLike extends AsyncDisposable {
  readonly url: string;
  /** Who signs in next. */
  login: string;
  /** How often a user was asked. */
  readonly asked: number;
  /** Requests to the token endpoint, by grant. */
  readonly grants: string[];
  /** Access tokens that it has given, and takes. */
  readonly tokens: Map<string, string>;
  /** Forgets a user, as if the account was closed. */
  forget(login: string): void;
  /** Seconds that tokens are good from now on. They come with refresh tokens then, as those of GitHub Apps do. Undefined: for ever. */
  tokenTtl: number | undefined;
  /** Answers token requests with 500 until told otherwise. */
  broken: boolean;
}

interface Code {
  readonly login: string;
  readonly challenge: string;
  readonly redirectUri: string;
}

export const githubClient = { clientId: "Iv1.proxy", clientSecret: "github-secret-0123456789abcdef" };

export async function startGithubLike(): Promise<GithubLike> {
  const codes = new Map<string, Code>();
  const refreshTokens = new Map<string, string>();
  const tokens = new Map<string, string>();
  const forgotten = new Set<string>();
  const grants: string[] = [];
  let asked = 0;
  const server = createServer();
  const url = await listen(server);

  const newSecret = (kind: string): string => {
    const text = `gh_${randomBytes(20).toString("hex")}`;
    recordSecret(kind, text);
    return text;
  };

  const give = (login: string): object => {
    const token = newSecret("token of the provider");
    tokens.set(token, login);
    const answer = { access_token: token, token_type: "bearer", scope: "read:user,repo" };
    const { tokenTtl } = github;
    if (tokenTtl === undefined) return answer;
    const refresh = newSecret("refresh token of the provider");
    refreshTokens.set(refresh, login);
    return { ...answer, expires_in: tokenTtl, refresh_token: refresh, refresh_token_expires_in: 15_897_600 };
  };

  const authorize = (request: IncomingMessage, response: ServerResponse, query: URLSearchParams): void => {
    const isKnown = request.headers.cookie?.includes("user_session=") === true;
    if (!isKnown && request.method === "GET") {
      asked++;
      const action = `${request.url}`.replaceAll("&", "&#38;");
      response.writeHead(200, { "content-type": "text/html" });
      response.end(`<title>Authorize</title><form method="post" action="${action}"><button>Authorize</button></form>`);
      return;
    }
    const code = newSecret("code of the provider");
    const redirectUri = query.get("redirect_uri") ?? "";
    codes.set(code, { login: github.login, challenge: query.get("code_challenge") ?? "", redirectUri });
    const back = new URL(redirectUri);
    back.searchParams.set("code", code);
    back.searchParams.set("state", query.get("state") ?? "");
    response.writeHead(302, { location: back.href, "set-cookie": "user_session=1; Path=/; HttpOnly" }).end();
  };

  const answerToken = (form: URLSearchParams): object => {
    grants.push(form.get("grant_type") ?? "");
    const { clientId, clientSecret } = githubClient;
    if (form.get("client_id") !== clientId || form.get("client_secret") !== clientSecret) {
      return { error: "incorrect_client_credentials" };
    }
    const refresh = form.get("refresh_token");
    if (refresh !== null) {
      const login = refreshTokens.get(refresh);
      refreshTokens.delete(refresh);
      return login === undefined || forgotten.has(login) ? { error: "bad_refresh_token" } : give(login);
    }
    const code = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const fits = code?.challenge === challenge && code.redirectUri === form.get("redirect_uri");
    return code !== undefined && fits ? give(code.login) : { error: "bad_verification_code" };
  };

  const send = (response: ServerResponse, status: number, body: object): void => {
    response.writeHead(status, { "content-type": "application/json; charset=utf-8" }).end(JSON.stringify(body));
  };

  server.on("request", async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", url);
    if (pathname === "/login/oauth/authorize") return authorize(request, response, searchParams);
    if (pathname === "/login/oauth/access_token") {
      let body = "";
      for await (const chunk of request) body += chunk;
      return github.broken ? send(response, 500, {}) : send(response, 200, answerToken(new URLSearchParams(body)));
    }
    const login = tokens.get(request.headers.authorization?.replace(/^Bearer /, "") ?? "");
    const isUser = pathname === "/api/v3/user" && request.headers["user-agent"] !== undefined;
    if (!isUser) return send(response, 404, { message: "Not Found" });
    if (login === undefined || forgotten.has(login)) return send(response, 401, { message: "Bad credentials" });
    send(response, 200, {
      id: idOf(login),
      login,
      name: `The ${login}`,
      email: null,
      avatar_url: `${url}/${login}.png`,
    });
  });

  const github: GithubLike = {
    url,
    login: "octocat",
    broken: false,
    tokenTtl: undefined,
    grants,
    tokens,
    get asked() {
      return asked;
    },
    forget: (login) => void forgotten.add(login),
    [Symbol.asyncDispose]: () => close(server),
  };
  return github;
}

/** The number of an account. */
export function idOf(login: string): number {
  return [...login].reduce((sum, character) => sum * 31 + character.charCodeAt(0), 7) % 1_000_000;
}
