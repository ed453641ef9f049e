import type { AuthorizedResponse, Authorizer } from "../../src/protocol/authorizer.ts";

/** A request that somebody in the world got. Bodies of forms and JSON alike are read into `fields`. */
export interface Heard {
  readonly method: string;
  readonly url: URL;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
}

type Answer = Response | object | undefined;

/** What is different in a world. Documents by URL; undefined is 404. */
export interface WorldOptions {
  readonly documents?: Readonly<Record<string, Answer>>;
  /** Metadata of the authorization server, beside what it has anyway. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Metadata of the resource, beside what it has anyway. */
  readonly resource?: Readonly<Record<string, unknown>>;
  /** Answers to requests for tokens, in turn; then tokens with numbers. */
  readonly tokens?: readonly Answer[];
  readonly server?: string;
  readonly issuer?: string;
}

/** A server, its authorization server, and a user who agrees to everything; without a network. */
export interface World {
  readonly server: URL;
  readonly fetch: typeof fetch;
  readonly heard: Heard[];
  /** URLs that the user was sent to. */
  readonly visited: URL[];
  /** Paths that were asked for, in order. */
  paths(): readonly string[];
  to(path: string): readonly Heard[];
  readonly authorize: (url: URL) => Promise<string>;
  readonly redirectUri: string;
  /** Changes documents by URL. */
  change(documents: Readonly<Record<string, Answer>>): void;
}

const redirectUri = "http://127.0.0.1:4000/callback";

export function createWorld(options: WorldOptions = {}): World {
  const server = new URL(options.server ?? "https://mcp.example/mcp");
  const issuer = options.issuer ?? "https://as.example";
  const heard: Heard[] = [];
  const visited: URL[] = [];
  const answers = [...(options.tokens ?? [])];
  let count = 0;

  const token = (): Answer => {
    count++;
    const given = answers.shift();
    return given ?? { access_token: `t${count}`, token_type: "Bearer", expires_in: 3600, refresh_token: `r${count}` };
  };
  const documents = new Map<string, Answer | ((heard: Heard) => Answer)>(
    Object.entries({
      [`${server.origin}/.well-known/oauth-protected-resource${server.pathname}`]: {
        resource: server.href,
        authorization_servers: [issuer],
        ...options.resource,
      },
      [`${issuer}/.well-known/oauth-authorization-server`]: metadataOf(issuer, options.metadata),
      [`${issuer}/register`]: () => Response.json({ client_id: `client-${heard.length}` }, { status: 201 }),
      [`${issuer}/token`]: token,
      [`${issuer}/revoke`]: () => new Response(null),
      ...options.documents,
    }),
  );

  return {
    server,
    heard,
    visited,
    redirectUri,
    paths: () => heard.map(({ url }) => url.pathname),
    to: (path) => heard.filter(({ url }) => url.pathname === path),
    change: (changed) => {
      for (const [url, answer] of Object.entries(changed)) documents.set(url, answer);
    },
    fetch: async (input, init) => {
      const url = new URL(String(input));
      const headers = Object.fromEntries(new Headers(init?.headers));
      const request = { method: init?.method ?? "GET", url, fields: fieldsOf(init?.body, headers), headers };
      heard.push(request);
      const known = documents.get(url.href);
      const answer = typeof known === "function" ? known(request) : known;
      if (answer === undefined) return new Response("nothing here", { status: 404 });
      return answer instanceof Response ? answer.clone() : Response.json(answer);
    },
    authorize: async (url) => {
      visited.push(url);
      const { searchParams } = url;
      return `${searchParams.get("redirect_uri")}?code=c${visited.length}&state=${searchParams.get("state")}`;
    },
  };
}

/** What authorization servers of this world say of themselves. */
export function metadataOf(issuer: string, more: Readonly<Record<string, unknown>> = {}): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    revocation_endpoint: `${issuer}/revoke`,
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
    ...more,
  };
}

function fieldsOf(body: unknown, headers: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> {
  if (typeof body !== "string") return {};
  if (headers["content-type"] === "application/json") return JSON.parse(body);
  return Object.fromEntries(new URLSearchParams(body));
}

/** An answer of a server that refuses. */
export function refusal(status: number, headers: Readonly<Record<string, string>> = {}): AuthorizedResponse {
  return { status, header: (name) => headers[name] };
}

export const challenge = (value: string, status = 401): AuthorizedResponse =>
  refusal(status, { "www-authenticate": value });

/** One request, which is sent as often as the authorizer wants; the server takes tokens that `accepts` does. */
export async function request(
  auth: Authorizer,
  server: URL,
  judge: (headers: Readonly<Record<string, string>>, attempt: number) => AuthorizedResponse | undefined,
): Promise<Readonly<Record<string, string>>> {
  const sent = { method: "POST", url: server, server };
  for (let attempt = 1; attempt <= 10; attempt++) {
    const headers = await auth.headers(sent);
    const answer = judge(headers, attempt);
    auth.answered?.(sent, answer ?? refusal(200));
    if (answer === undefined) return headers;
    if (!(await auth.refused(sent, answer))) throw new Error(`refused with ${answer.status}`);
  }
  throw new Error("it never ends");
}

/** A server that takes exactly these tokens, and challenges others. */
export function takes(...tokens: readonly string[]) {
  return takesOr(challenge("Bearer"), ...tokens);
}

export function takesOr(answer: AuthorizedResponse, ...tokens: readonly string[]) {
  return ({ authorization }: Readonly<Record<string, string>>): AuthorizedResponse | undefined =>
    tokens.some((token) => authorization === `Bearer ${token}`) ? undefined : answer;
}
