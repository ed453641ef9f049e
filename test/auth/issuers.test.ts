import { generateKeyPairSync } from "node:crypto";
import { createServer, type Server } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type Authorizer,
  clientCredentials,
  enterpriseManaged,
  jwtBearer,
  memoryTokens,
  oauth,
  type TokenStore,
  tokenExchange,
} from "../../src/auth/node/client.ts";
import { connect } from "../../src/connect/connect.ts";
import { recordSecret } from "../support/secrets.ts";
import { type ProtectedServer, startProtected } from "./support/protected-server.ts";
import { type AuthorizationServer, close, listen, startProvider } from "./support/provider.ts";
import { createUser } from "./support/user-agent.ts";

// Two real authorization servers: what one of them is given, the other never hears of.

let [known, other]: AuthorizationServer[] = [];
let [safe, foreign]: ProtectedServer[] = [];
const sites: Server[] = [];
beforeEach(async () => {
  [known, other] = await Promise.all([startProvider(), startProvider()]);
  [safe, foreign] = await Promise.all([startProtected(known), startProtected(other)]);
});
afterEach(async () => {
  for (const site of sites.splice(0)) await close(site);
  for (const one of [safe, foreign, known, other]) await one?.[Symbol.asyncDispose]();
});

const need = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error("not there");
  return value;
};
const redirectUri = "http://127.0.0.1:4999/callback";
const secret = "machine-secret";
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
for (const line of pem.split("\n").slice(1, -2)) recordSecret("private key", line);

/** A store that shows every secret it was ever given. */
function openTokens(): { readonly tokens: TokenStore; secrets(): readonly string[] } {
  const inner = memoryTokens();
  const found = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      const isSecret = ["accessToken", "refreshToken", "clientSecret", "clientId", "token", "d", "x"].includes(name);
      if (isSecret && typeof member === "string") found.add(member);
      collect(member);
    }
  };
  const set: TokenStore["set"] = async (name, text) => {
    collect(JSON.parse(text));
    await inner.set(name, text);
  };
  return { tokens: { ...inner, set }, secrets: () => [...found] };
}

describe("one authorizer, used for servers of two issuers", () => {
  type Make = (issuer: string) => Authorizer;
  const user = () => ({ authorize: createUser().authorize, redirectUri });
  const idp = "https://idp.example";
  const pinned: readonly (readonly [string, Make])[] = [
    ["clientCredentials", (issuer) => clientCredentials({ issuer, clientId: "machine", clientSecret: secret })],
    [
      "clientCredentials with a key",
      (issuer) => clientCredentials({ issuer, clientId: "machine", privateKey: { pem, algorithm: "ES256" } }),
    ],
    ["tokenExchange", (issuer) => tokenExchange({ issuer, clientId: "machine", subjectToken: "subject-token" })],
    ["jwtBearer", (issuer) => jwtBearer({ issuer, assertion: "a.b.c" })],
    [
      "enterpriseManaged",
      (issuer) =>
        enterpriseManaged({
          issuer,
          identityProvider: { issuer: idp, clientId: "machine" },
          subjectToken: "subject-token",
          clientId: "machine",
          clientSecret: secret,
        }),
    ],
    [
      "oauth with a secret",
      (issuer) => oauth({ ...user(), client: { issuer, clientId: "app", clientSecret: secret } }),
    ],
  ];

  it.each(pinned)("%s asks nothing of the second issuer (S1, V12)", async (_name, make) => {
    const auth = make(need(known).issuer);
    await connect(need(safe).url, { auth }).then(
      (client) => client.close(),
      () => "not every kind is known there",
    );
    await expect(connect(need(foreign).url, { auth })).rejects.toMatchObject({
      code: "unauthorized",
      data: { reason: "issuer-mismatch" },
      message: expect.stringContaining(need(known).issuer),
    });
    expect(need(other).heard()).toBe("[]");
  });

  it("signs in at both, and each hears only of its own (S1)", async () => {
    const { tokens, secrets } = openTokens();
    const auth = oauth({ ...user(), tokens, dpop: true });
    await using first = await connect(need(safe).url, { auth });
    await first.callTool("read");
    const ofKnown = secrets();
    expect(ofKnown.length).toBeGreaterThanOrEqual(4);
    const before = need(known).heard();
    await using second = await connect(need(foreign).url, { auth });
    await second.callTool("read");
    for (const one of ofKnown) expect(need(other).heard()).not.toContain(one);
    expect(need(known).heard()).toBe(before);
    expect(need(other).grants).toEqual(["authorization_code"]);
  });

  it("sends no refresh token and no key to the issuer that a server names later (S1)", async () => {
    const { tokens, secrets } = openTokens();
    const server = need(safe);
    const auth = oauth({ ...user(), tokens, dpop: true });
    await using client = await connect(server.url, { auth });
    await client.callTool("read");
    const ofKnown = secrets();
    server.moveTo(need(other));
    await client.callTool("read");
    expect(need(other).grants).toEqual(["authorization_code"]);
    for (const one of ofKnown) expect(need(other).heard()).not.toContain(one);
    const { AccessToken } = need(known).provider;
    const [before, after] = await Promise.all([
      AccessToken.find(need(server.taken[0])),
      need(other).provider.AccessToken.find(need(server.taken.at(-1))),
    ]);
    expect(before?.jkt).toMatch(/^[\w-]{43}$/);
    expect(after?.jkt).toMatch(/^[\w-]{43}$/);
    expect(after?.jkt).not.toBe(before?.jkt);
  });
});

describe("an issuer that is not what it seems", () => {
  /** An authorization server of a few lines, that answers as it is told. */
  async function startSite(documents: (origin: string) => Readonly<Record<string, object>>) {
    const heard: string[] = [];
    const site = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += String(chunk);
      });
      request.on("end", () => {
        heard.push(`${request.method} ${request.url} ${request.headers.authorization} ${body}`);
        const {
          status = request.url === "/register" ? 201 : 200,
          location,
          ...answer
        } = Object(documents(origin)[request.url ?? ""] ?? { status: 404 });
        response.writeHead(status, { "content-type": "application/json", ...(location && { location }) });
        response.end(JSON.stringify(answer));
      });
    });
    sites.push(site);
    const origin = await listen(site);
    return { origin, heard };
  }
  const metadata = (issuer: string, more: object = {}): object => ({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
    code_challenge_methods_supported: ["S256"],
    ...more,
  });
  const wellKnown = "/.well-known/oauth-authorization-server";
  const resource = (origin: string, issuer: string) => ({
    "/.well-known/oauth-protected-resource/mcp": { resource: `${origin}/mcp`, authorization_servers: [issuer] },
    "/mcp": { status: 401 },
  });

  it("calls itself by the name of another: nothing is sent (S1)", async () => {
    const site = await startSite((origin) => ({
      ...resource(origin, origin),
      [wellKnown]: metadata(need(known).issuer, { token_endpoint: `${origin}/token` }),
      "/.well-known/openid-configuration": metadata(need(known).issuer, { token_endpoint: `${origin}/token` }),
    }));
    const auth = clientCredentials({ issuer: site.origin, clientId: "machine", clientSecret: secret });
    await expect(connect(`${site.origin}/mcp`, { auth })).rejects.toMatchObject({
      data: { reason: "issuer-mismatch" },
    });
    expect(site.heard.join()).not.toContain("/token");
  });

  it("sends users to another one, to get the code of that one: it is not handed on (S1)", async () => {
    const registered = await fetch(`${need(known).issuer}/reg`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: "none",
        application_type: "native",
      }),
    }).then((response) => response.json());
    const site = await startSite((origin) => ({
      ...resource(origin, origin),
      [wellKnown]: metadata(origin, { authorization_endpoint: `${need(known).issuer}/auth` }),
      "/register": { client_id: registered.client_id },
      "/token": { access_token: "stolen", token_type: "Bearer" },
    }));
    const auth = oauth({ authorize: createUser().authorize, redirectUri, scopes: ["mcp:read"] });
    await expect(connect(`${site.origin}/mcp`, { auth })).rejects.toMatchObject({
      data: { reason: "issuer-mismatch" },
    });
    expect(site.heard.join()).not.toContain("/token");
  });

  it("sends what is asked of its token endpoint on to another: that is not followed (S1)", async () => {
    const site = await startSite((origin) => ({
      ...resource(origin, origin),
      [wellKnown]: metadata(origin),
      "/token": { status: 307, location: `${need(other).issuer}/token` },
    }));
    const auth = clientCredentials({ issuer: site.origin, clientId: "machine", clientSecret: secret });
    await expect(connect(`${site.origin}/mcp`, { auth })).rejects.toMatchObject({ code: "invalid-response" });
    expect(site.heard.join()).toContain("/token");
    expect(need(other).heard()).toBe("[]");
  });
});
