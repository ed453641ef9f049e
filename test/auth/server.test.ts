import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { clientCredentials, oauth } from "../../src/auth/node/client.ts";
import { introspection, jwt } from "../../src/auth/node/server.ts";
import { createSafeFetch } from "../../src/auth/safe-fetch.ts";
import { createJwt, type JwtOptions } from "../../src/auth/server/jwt.ts";
import { connect } from "../../src/connect/connect.ts";
import type { Authenticator } from "../../src/protocol/authenticator.ts";
import { createServer, tool } from "../../src/server/index.ts";
import { toBase64Url } from "../../src/std/base64.ts";
import { type HttpServeHandle, serveHttp } from "../../src/transport/node/http.ts";
import { modernCall } from "../support/fake-endpoint.ts";
import { quietPort } from "../support/quiet-port.ts";
import { createRawClient } from "../support/raw-http.ts";
import { recordSecret } from "../support/secrets.ts";
import { type AuthorizationServer, startProvider } from "./support/provider.ts";
import { createUser } from "./support/user-agent.ts";

// A server of ours, somebody else's authorization server, and tokens of all kinds.

/** The server as tokens name it. It does not matter where it listens. */
const audience = "http://localhost/mcp";

let issuer: AuthorizationServer;
let stranger: AuthorizationServer;
let serving: HttpServeHandle | undefined;
const said: string[] = [];
const tokens: string[] = [];
const stderr = vi.spyOn(console, "error");

beforeAll(async () => {
  [issuer, stranger] = await Promise.all([startProvider({ format: "jwt" }), startProvider({ format: "jwt" })]);
});
afterAll(async () => {
  await issuer[Symbol.asyncDispose]();
  await stranger[Symbol.asyncDispose]();
});
afterEach(async () => {
  await serving?.close();
  serving = undefined;
});

const service = createServer({
  name: "protected",
  version: "1",
  onError: (error) => said.push(String(error)),
  tools: {
    read: tool({ run: (_, { auth }) => `${auth?.principal} may ${auth?.scopes?.join(" ")}` }),
    write: tool({ scopes: ["mcp:write"], run: () => "written" }),
  },
});

async function serve(auth: Authenticator) {
  serving = await serveHttp(service, {
    port: 0,
    auth,
    onWarning: ({ message }) => said.push(message),
  });
  const raw = createRawClient(serving.port);
  return async (name: string, headers: Readonly<Record<string, string>>) => {
    const { body, headers: own } = modernCall(1, name);
    const answer = await raw.request({ headers: { ...own, ...headers }, body });
    said.push(JSON.stringify(answer.headers), answer.body);
    return { status: answer.status, challenge: answer.headers["www-authenticate"] ?? "", body: answer.body };
  };
}

const protect = (options: Partial<JwtOptions> = {}) => jwt({ issuer: issuer.issuer, audience, ...options });

/** A token of the machine, from the endpoint itself. */
async function tokenFrom(
  from: AuthorizationServer,
  resource = audience,
  scope = "mcp:read",
  dpop?: string,
): Promise<string> {
  const response = await fetch(`${from.issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa("machine:machine-secret")}`, ...(dpop !== undefined && { dpop }) },
    body: new URLSearchParams({ grant_type: "client_credentials", resource, scope }),
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  tokens.push(token);
  return token;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe("a server that takes JWTs", () => {
  it("takes a token that was made for it", async () => {
    const call = await serve(protect());
    const { status, body } = await call("read", bearer(await tokenFrom(issuer)));
    expect(status).toBe(200);
    expect(body).toContain(`client:${issuer.issuer}#machine may mcp:read`);
  });

  it("refuses one for somebody else, of somebody else, and one that was changed (V13)", async () => {
    const call = await serve(protect());
    const good = await tokenFrom(issuer);
    const cases = [
      [await tokenFrom(issuer, "http://localhost/other"), "the token is not for this server"],
      [await tokenFrom(stranger), "the token is of another issuer"],
      [`${good.slice(0, -8)}AAAAAAAA`, "the token is wrongly signed"],
    ] as const;
    for (const [token, problem] of cases) {
      const { status, challenge } = await call("read", bearer(token));
      expect(status).toBe(401);
      expect(challenge).toMatch(new RegExp(`error="invalid_token", error_description="${problem}"`));
      expect(challenge).toContain('resource_metadata="http://localhost/.well-known/oauth-protected-resource/mcp"');
    }
  });

  it("refuses one that has expired", async () => {
    const later = { fetch: createSafeFetch(), now: () => Date.now() + 7_200_000 };
    const call = await serve(createJwt({ issuer: issuer.issuer, audience }, later));
    const { status, challenge } = await call("read", bearer(await tokenFrom(issuer)));
    expect([status, challenge]).toEqual([401, expect.stringContaining("the token has expired")]);
  });

  it("refuses one without the scopes that everything takes, and one without those of a tool", async () => {
    const call = await serve(protect({ requiredScopes: ["mcp:read"] }));
    const [reader, writer] = [await tokenFrom(issuer), await tokenFrom(issuer, audience, "mcp:write")];
    expect(await call("read", bearer(writer))).toMatchObject({
      status: 403,
      challenge: expect.stringMatching(/scope="mcp:read", error="insufficient_scope"/),
    });
    expect(await call("write", bearer(reader))).toMatchObject({
      status: 403,
      challenge: expect.stringMatching(/scope="mcp:read mcp:write", error="insufficient_scope"/),
    });
    const both = await tokenFrom(issuer, audience, "mcp:read mcp:write");
    expect(await call("write", bearer(both))).toMatchObject({ status: 200 });
  });

  it("cannot tell when its issuer is gone, and says so without the token", async () => {
    const gone = await startProvider({ format: "jwt", port: await quietPort() });
    const token = await tokenFrom(gone);
    await gone[Symbol.asyncDispose]();
    const call = await serve(jwt({ issuer: gone.issuer, audience }));
    const { status, challenge } = await call("read", bearer(token));
    expect([status, challenge]).toEqual([503, ""]);
    expect(said.join()).toContain(`no answer from ${gone.issuer}`);
  });
});

describe("a server on a socket", () => {
  it("refuses every method before it reads or looks for anything", async () => {
    await serve(protect());
    const raw = createRawClient(serving?.port ?? 0);
    const session = { "mcp-session-id": "unknown" };
    for (const method of ["GET", "DELETE", "POST"]) {
      const { status, headers } = await raw.request({
        method,
        headers: session,
        body: method === "POST" ? "no json" : undefined,
      });
      expect([method, status]).toEqual([method, 401]);
      expect(headers["www-authenticate"]).toMatch(/^Bearer resource_metadata="[^"]+"$/);
    }
    const large = await raw.request({ body: "x".repeat(1_000_000) });
    expect(large.status).toBe(401);
  });

  it("tells everybody what it is", async () => {
    await serve(protect());
    const raw = createRawClient(serving?.port ?? 0);
    for (const path of ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"]) {
      const { status, headers, body } = await raw.request({
        method: "GET",
        path,
        headers: { origin: "https://any.example" },
      });
      expect([status, headers["access-control-allow-origin"]]).toEqual([200, "*"]);
      expect(JSON.parse(body)).toMatchObject({ resource: audience, authorization_servers: [issuer.issuer] });
    }
    expect((await raw.request({ method: "GET", path: "/.well-known/oauth-protected-resource/other" })).status).toBe(
      404,
    );
  });
});

describe("a server that takes tokens bound to keys", () => {
  async function createKey() {
    const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
    recordSecret("private key", (await exportJWK(privateKey)).d);
    const jwk = await exportJWK(publicKey);
    const sign = (claims: object) =>
      new SignJWT({ jti: crypto.randomUUID(), iat: Math.floor(Date.now() / 1_000), ...claims })
        .setProtectedHeader({ alg: "ES256", typ: "dpop+jwt", jwk })
        .sign(privateKey);
    const digest = async (text: string) =>
      toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
    const token = async () =>
      tokenFrom(issuer, audience, "mcp:read", await sign({ htm: "POST", htu: `${issuer.issuer}/token` }));
    const prove = async (access: string, claims: object = {}) =>
      sign({ htm: "POST", htu: audience, ath: await digest(access), ...claims });
    return { token, prove, thumbprint: await calculateJwkThumbprint(jwk) };
  }

  it("takes one with a proof, once", async () => {
    const call = await serve(protect({ dpop: true }));
    const key = await createKey();
    const token = await key.token();
    expect(JSON.parse(atob(token.split(".")[1] ?? ""))).toMatchObject({ cnf: { jkt: key.thumbprint } });
    const headers = { authorization: `DPoP ${token}`, dpop: await key.prove(token) };
    expect(await call("read", headers)).toMatchObject({ status: 200 });
    expect(await call("read", headers)).toMatchObject({
      status: 401,
      challenge: expect.stringMatching(
        /DPoP algs=".*error="invalid_dpop_proof", error_description="the proof was used before"/,
      ),
    });
    expect(await call("read", { ...headers, dpop: await key.prove(token) })).toMatchObject({ status: 200 });
  });

  it("refuses one as a bearer token, with the proof of another key, for another request, or with none", async () => {
    const call = await serve(protect());
    const [key, other] = [await createKey(), await createKey()];
    const token = await key.token();
    const dpop = { authorization: `DPoP ${token}` };
    const attempts = [
      bearer(token),
      dpop,
      { ...dpop, dpop: await other.prove(token) },
      { ...dpop, dpop: await key.prove(token, { htm: "GET" }) },
      { ...dpop, dpop: await key.prove("another token") },
    ];
    for (const headers of attempts) expect(await call("read", headers)).toMatchObject({ status: 401 });
  });
});

describe("clients of ours", () => {
  /** The server by the name that it is reached by: its port is known only when it listens. */
  async function serveAtPort(options: Partial<JwtOptions> = {}) {
    const late: { auth?: Authenticator } = {};
    const metadata = { authorization_servers: [issuer.issuer], scopes_supported: ["mcp:read"] };
    const ask: Authenticator = (http) => late.auth?.(http) ?? { ok: false, status: 401 };
    serving = await serveHttp(service, {
      port: 0,
      auth: Object.assign(ask, { metadata, requiredScopes: ["mcp:read"] }),
    });
    late.auth = jwt({ issuer: issuer.issuer, audience: serving.url, ...options });
    return serving.url;
  }

  it.each([false, true])("get a token by themselves, bound to a key: %s", async (dpop) => {
    const url = await serveAtPort();
    const auth = clientCredentials({
      issuer: issuer.issuer,
      clientId: "machine",
      clientSecret: "machine-secret",
      dpop,
    });
    await using client = await connect(url, { auth });
    expect(await client.callTool("read")).toMatchObject({
      content: [{ text: `client:${issuer.issuer}#machine may mcp:read` }],
    });
  });

  it.each(["2025-11-25", "2026-07-28"] as const)(
    "that speak %s log in, and ask for more when a tool takes more",
    async (revision) => {
      const url = await serveAtPort();
      const user = createUser();
      const auth = oauth({ authorize: user.authorize, redirectUri: "http://127.0.0.1:4998/callback" });
      await using client = await connect(url, { auth, revision });
      expect(await client.callTool("read")).toMatchObject({ content: [{ text: `${issuer.issuer}#ann may mcp:read` }] });
      expect(await client.callTool("write")).toMatchObject({ content: [{ text: "written" }] });
    },
  );
});

describe("a server that asks about tokens", () => {
  it("takes those that are active and for it", async () => {
    await using opaque = await startProvider();
    const client = { clientId: "machine", clientSecret: "machine-secret" };
    const call = await serve(introspection({ issuer: opaque.issuer, audience, ...client, cacheTtlMs: 0 }));
    const token = await tokenFrom(opaque);
    expect(await call("read", bearer(token))).toMatchObject({
      status: 200,
      body: expect.stringContaining(`client:${opaque.issuer}#machine may mcp:read`),
    });
    expect(await call("read", bearer(await tokenFrom(opaque, "http://localhost/other")))).toMatchObject({
      status: 401,
    });
    expect(await call("read", bearer("guessed"))).toMatchObject({ status: 401 });
    await (await opaque.provider.ClientCredentials.find(token))?.destroy();
    expect(await call("read", bearer(token))).toMatchObject({
      status: 401,
      challenge: expect.stringContaining("the token is not active"),
    });
  });
});

describe("what a server says", () => {
  it("has no token in it, in no error, warning or answer", async () => {
    expect(tokens.length).toBeGreaterThan(10);
    expect(said.length).toBeGreaterThan(20);
    const all = said.join("\n");
    for (const token of tokens) {
      expect(all).not.toContain(token);
      expect(all).not.toContain(token.split(".").at(-1));
    }
    expect(stderr).not.toHaveBeenCalled();
  });
});
