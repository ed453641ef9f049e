import { exportJWK, generateKeyPair, type JSONWebKeySet, type JWTPayload, SignJWT } from "jose";
import type { SafeFetch } from "../../src/auth/safe-fetch.ts";
import type { HttpRequestInfo } from "../../src/std/http-request-info.ts";
import { recordSecret } from "./secrets.ts";

/** Makes tokens as an authorization server would, without being one. */
export interface FakeIssuer {
  readonly issuer: string;
  readonly jwks: JSONWebKeySet;
  /** A good token, but for what is said. Undefined leaves a claim out. */
  token(claims?: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): Promise<string>;
}

/** The time of day in all tests of tokens, in ms. */
export const noon: number = Date.UTC(2026, 10, 15, 12);

export const audience = "https://shop.example/mcp";

export async function createFakeIssuer(
  issuer = "https://login.example",
  kid = "1",
  alg = "ES256",
): Promise<FakeIssuer> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  recordSecret("private key", (await exportJWK(privateKey)).d);
  const jwk = { ...(await exportJWK(publicKey)), kid, alg };
  return {
    issuer,
    jwks: { keys: [jwk] },
    async token(claims = {}, header = {}) {
      const seconds = noon / 1_000;
      const good = { iss: issuer, aud: audience, sub: "ann", iat: seconds - 10, exp: seconds + 300, scope: "read" };
      const token = await new SignJWT({ ...good, ...claims } as JWTPayload)
        .setProtectedHeader({ alg, kid, typ: "at+jwt", ...header } as { alg: string })
        .sign(privateKey);
      recordSecret("access token", token);
      return token;
    },
  };
}

export interface FakeFetch {
  readonly fetch: SafeFetch;
  /** What was asked for, in order. */
  readonly asked: string[];
}

/** Answers with documents by URL, and with 404 where there is none. A function is called each time. */
export function createFakeFetch(documents: Record<string, unknown>): FakeFetch {
  const asked: string[] = [];
  return {
    asked,
    fetch: async (url, request) => {
      asked.push(String(url));
      const document = documents[String(url)];
      const body = typeof document === "function" ? await document(request) : document;
      return body === undefined ? new Response(null, { status: 404 }) : Response.json(body);
    },
  };
}

/** A request with these headers. */
export function httpWith(
  headers: Readonly<Record<string, string>> = {},
  method = "POST",
  url = "/mcp",
): HttpRequestInfo {
  const all: Readonly<Record<string, string>> = { host: "shop.example", ...headers };
  return { method, url, header: (name) => all[name] };
}

/** A request with a token. */
export function withToken(token: string, more: Readonly<Record<string, string>> = {}): HttpRequestInfo {
  return httpWith({ authorization: `Bearer ${token}`, ...more });
}
