import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { clientSecret, type OidcWorld, startOidcWorld } from "./support/proxied-server.ts";
import { call, createRawClient, register } from "./support/raw-client.ts";
import { createUser } from "./support/user-agent.ts";

// What passes between clients, this server and the provider behind it, and what must not.

let world: OidcWorld;
beforeEach(async () => {
  world = await startOidcWorld();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await world[Symbol.asyncDispose]();
});

/** Stops at the first answer. */
const first = () => true;
const HOUR_MS = 3_600_000;

/** Keeps all that this server answers from now on: headers and bodies. */
function recordAnswers(origin: string): () => Promise<string> {
  const answers: Promise<string>[] = [];
  const ask = globalThis.fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (...args) => {
    const response = await ask(...args);
    const headers = JSON.stringify([...response.headers]);
    if (response.url.startsWith(origin)) {
      const copy = response.clone();
      answers.push(copy.text().then((body) => `${headers} ${body}`));
    }
    return response;
  });
  return async () => (await Promise.all(answers)).join("\n");
}

describe("between a client and the provider", () => {
  it("no token of the provider and no secret of this server goes to the client (Q18)", async () => {
    const { server, issuer } = world;
    const answers = recordAnswers(server.origin);
    const client = await createRawClient(server.origin);
    const { access_token, refresh_token } = await client.tokens();
    await call(server.url, access_token, "upstream");
    server.pass(HOUR_MS - 30_000);
    await call(server.url, access_token, "upstream");
    await call(server.url, access_token, "whoami");
    await client.refresh(refresh_token);
    const [, refreshed = ""] = /refresh_token=([\w-]+)/.exec(issuer.heard()) ?? [];
    const secrets = [...server.upstreamTokens, refreshed, clientSecret];
    expect(new Set(secrets).size).toBe(4);
    expect(secrets.filter((secret) => secret.length < 16)).toEqual([]);
    const seen = await answers();
    expect(seen).toContain(access_token);
    expect(secrets.filter((secret) => seen.includes(secret))).toEqual([]);
  });

  it("no token, code or verifier of the client goes to the provider (Q18)", async () => {
    const { server, issuer } = world;
    const client = await createRawClient(server.origin);
    const code = (await client.signIn()).get("code") ?? "";
    const { access_token = "", refresh_token = "" } = await client.redeem(code);
    server.pass(HOUR_MS - 30_000);
    expect((await call(server.url, access_token, "upstream")).text).toContain("called");
    const heard = issuer.heard();
    expect(heard).toContain("grant_type=refresh_token");
    const ours = [code, access_token, refresh_token, client.verifier, client.clientId, "client-state"];
    expect(ours.filter((text) => text === "" || heard.includes(text))).toEqual([]);
  });

  it("a client that registers gets no secret, whatever it asks for (Q18)", async () => {
    for (const token_endpoint_auth_method of ["none", "client_secret_basic", "client_secret_post"]) {
      const metadata = { token_endpoint_auth_method, client_id: "proxy", client_secret: "mine" };
      const answer = await (await register(world.server.origin, metadata)).json();
      expect(answer).toMatchObject({ token_endpoint_auth_method: "none" });
      expect(answer.client_id).not.toBe("proxy");
      expect(answer).not.toHaveProperty("client_secret");
    }
  });
});

/** Sends a request with headers that a browser would not let a page choose. */
async function ask(origin: string, path: string, headers: Record<string, string>): Promise<number | undefined> {
  const asking = request(new URL(path, origin), { headers, agent: false }).end();
  const [response] = (await once(asking, "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

describe("a page of somebody else", () => {
  const paths = [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
    "/authorize",
    "/consent",
    "/callback?state=x",
    "/token",
    "/register",
    "/revoke",
  ];

  it.each(paths)("cannot reach %s under a name of its own (Q19)", async (path) => {
    const { origin } = world.server;
    expect(await ask(origin, path, { host: "evil.example" })).toBe(403);
    expect(await ask(origin, path, { host: `127.0.0.1.evil.example:${new URL(origin).port}` })).toBe(403);
    expect(await ask(origin, path, {})).not.toBe(403);
  });

  it("gets no other issuer into the metadata by headers (Q19)", async () => {
    const { origin } = world.server;
    const headers = {
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "https",
      forwarded: "host=evil.example",
      origin: "https://evil.example",
    };
    const response = await fetch(`${origin}/.well-known/oauth-authorization-server`, { headers });
    const text = await response.text();
    expect(text).toContain(`"issuer":"${origin}"`);
    expect(text).not.toContain("evil.example");
  });

  it("cannot read what has a cookie behind it (Q19)", async () => {
    const client = await createRawClient(world.server.origin);
    for (const url of [client.authorizeUrl(), new URL("/callback?state=x", world.server.origin)]) {
      const response = await fetch(url, { headers: { origin: "https://evil.example" } });
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
      expect(response.headers.get("access-control-allow-credentials")).toBeNull();
    }
  });
});

describe("what a client says of itself", () => {
  it.each([
    "https://a.example/cb/../x",
    "https://a.example/cb/",
    "https://a.example/CB",
    "https://a.example:443/cb",
    "https://a.example/cb%2f",
    "https://a.example/%63b",
    "https://a.example/cb?x=1",
    "https://A.example/cb",
    "https://a.example./cb",
    "https://a.example\\@evil.example/cb",
    "http://a.example/cb",
  ])("is compared as it was written: %s is not https://a.example/cb (Q3)", async (redirect_uri) => {
    const client = await createRawClient(world.server.origin, { redirectUri: "https://a.example/cb" });
    const { response, location } = await createUser().browse(client.authorizeUrl({ redirect_uri }), first);
    expect([response.status, location]).toEqual([400, null]);
  });

  it("is not followed: links in its metadata are on no page (Q10)", async () => {
    const link = "javascript:alert(1)";
    const metadata = { client_uri: link, logo_uri: link, tos_uri: link, policy_uri: link, jwks_uri: link };
    const client = await createRawClient(world.server.origin, { metadata });
    const { page, response } = await createUser().browse(client.authorizeUrl(), first);
    expect(response.status).toBe(200);
    expect(page).not.toContain("javascript:");
  });

  it("comes back in one header: a state with line ends starts no other (Q4)", async () => {
    const state = "a\r\nset-cookie: stolen=1\r\n\r\n<script>";
    const client = await createRawClient(world.server.origin);
    const answer = await client.signIn(createUser({ decision: "deny" }), { state });
    expect(Object.fromEntries(answer)).toMatchObject({ error: "access_denied", state });
    const url = client.authorizeUrl({ state, scope: "unknown" });
    const { response, location } = await createUser().browse(url, first);
    expect(location).toContain("state=a%0D%0Aset-cookie");
    expect(response.headers.getSetCookie().filter((line) => line.includes("stolen"))).toEqual([]);
  });
});
