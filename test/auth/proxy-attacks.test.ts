import { createServer } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { github } from "../../src/auth/node/proxy.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { Store } from "../../src/store/store.ts";
import { gate } from "../support/served.ts";
import { type GithubLike, githubClient, startGithubLike } from "./support/github.ts";
import { close, listen } from "./support/provider.ts";
import {
  type ProxiedOptions,
  type ProxiedServer,
  proxyKey,
  startOidcWorld,
  startProxied,
} from "./support/proxied-server.ts";
import { call, createRawClient, post, register } from "./support/raw-client.ts";
import { createUser } from "./support/user-agent.ts";

// What an attacker tries who knows that this server is one fixed client of a provider that asks its users only once.

let provider: GithubLike;
let server: ProxiedServer;
beforeEach(async () => {
  provider = await startGithubLike();
  server = await start();
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

function start(options: ProxiedOptions = {}): Promise<ProxiedServer> {
  return startProxied(github({ ...githubClient, baseUrl: provider.url }), options);
}

/** What a consent page posts, to know again what was asked. */
function sealedIn(page: string): string {
  const [, sealed = ""] = /name="request" value="([^"]+)"/.exec(page) ?? [];
  return sealed.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
}

/** Stops at the first answer. */
const first = () => true;
const evil = "https://evil.example/callback";
/** What a browser says that was opened by a program. */
const direct = { "sec-fetch-site": "none" };

describe("a user who has signed in before", () => {
  it("is asked again for every other client, although the provider asks no more (Q1)", async () => {
    const victim = createUser({ headers: direct });
    await (await createRawClient(server.origin)).tokens(victim);
    expect(provider.asked).toBe(1);
    const attacker = await createRawClient(server.origin, { redirectUri: evil, metadata: { client_name: "Evil" } });
    const visit = await victim.browse(attacker.authorizeUrl(), first);
    expect(visit.response.status).toBe(200);
    expect(visit.page).toContain("Evil");
    expect(visit.page).toContain("evil.example");
  });

  it("is asked again for the same client when a page of somebody else sends them (Q1)", async () => {
    const client = await createRawClient(server.origin);
    for (const headers of [{}, { "sec-fetch-site": "cross-site" }, { "sec-fetch-site": "same-site" }]) {
      const victim = createUser({ headers });
      await client.tokens(victim);
      const visit = await victim.browse(client.authorizeUrl(), first);
      expect(visit.location).toBeNull();
      expect(visit.page).toContain("Raw client");
    }
  });

  it.each(["http://127.0.0.1:4998/callback", "http://localhost/callback", "com.example.app:/callback"])(
    "is asked again where any program could wait for the answer: %s (Q1)",
    async (redirectUri) => {
      const client = await createRawClient(server.origin, { redirectUri });
      const user = createUser({ headers: direct });
      await client.signIn(user);
      const visit = await user.browse(client.authorizeUrl(), first);
      expect(visit.location).toBeNull();
      expect(visit.page).toContain("Raw client");
    },
  );

  it("is not asked again for the same client, place and scopes, but for any other (Q1)", async () => {
    const client = await createRawClient(server.origin, { redirectUri: "https://app.example/callback" });
    const user = createUser({ headers: direct });
    await client.tokens(user, { scope: "orders:read" });
    const again = await user.browse(client.authorizeUrl({ scope: "orders:read" }), first);
    expect(again.location).toMatch(`${provider.url}/login/oauth/authorize?`);
    for (const changes of [{ scope: "orders:read orders:write" }, { redirect_uri: "https://app.example/other" }]) {
      const visit = await user.browse(client.authorizeUrl({ scope: "orders:read", ...changes }), first);
      expect(visit.location).toBeNull();
    }
    await client.tokens(user, { scope: "orders:read" });
    expect(user.titles.filter((title) => title.startsWith("Allow"))).toHaveLength(1);
  });

  it("does not agree for somebody else who uses the browser next (Q1)", async () => {
    const client = await createRawClient(server.origin, { redirectUri: "https://app.example/callback" });
    const user = createUser({ headers: direct });
    await client.tokens(user);
    provider.login = "hubot";
    const { page, url } = await user.browse(client.authorizeUrl(), (at) => at.page !== "");
    expect(url.pathname).toBe("/callback");
    expect(page).toContain("Raw client");
  });
});

describe("another browser", () => {
  it("cannot finish what an attacker has begun and agreed to (Q2)", async () => {
    const attacker = await createRawClient(server.origin, { redirectUri: evil });
    const own = createUser();
    const sent = await own.browse(attacker.authorizeUrl(), (at) => at.location?.startsWith(provider.url) === true);
    const victim = createUser();
    await (await createRawClient(server.origin)).tokens(victim);
    const visit = await victim.browse(new URL(sent.location ?? ""), (at) => at.page !== "");
    expect(visit.url.pathname).toBe("/callback");
    expect(visit.response.status).toBe(403);
    // Who began it still can: nobody else's visit uses it up.
    const { location } = await own.browse(visit.url, first);
    expect(location).toMatch(/^https:\/\/evil\.example\/callback\?(?:code|error)=/);
  });

  it("cannot post the form of a page that an attacker was shown (Q2)", async () => {
    const attacker = await createRawClient(server.origin, { redirectUri: evil });
    const { page } = await createUser().browse(attacker.authorizeUrl(), first);
    const request = sealedIn(page);
    const victim = createUser();
    await (await createRawClient(server.origin)).tokens(victim);
    const form = new URLSearchParams({ request, decision: "allow" });
    expect((await victim.visit(new URL("/consent", server.origin), form)).status).toBe(403);
    expect((await createUser().visit(new URL("/consent", server.origin), form)).status).toBe(403);
  });

  it("cannot post the form from a page of somebody else (Q2)", async () => {
    const client = await createRawClient(server.origin);
    const user = createUser();
    const { page } = await user.browse(client.authorizeUrl(), first);
    const request = sealedIn(page);
    const cookie = [...user.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    for (const [origin, status] of [
      ["https://evil.example", 403],
      ["null", 403],
      [server.origin, 303],
    ] as const) {
      const body = new URLSearchParams({ request, decision: "allow" });
      const init = { method: "POST", redirect: "manual", headers: { origin, cookie }, body } as const;
      expect((await fetch(`${server.origin}/consent`, init)).status).toBe(status);
    }
  });

  it("gets nowhere with a state that was never given, was used, or is too old (Q2)", async () => {
    const client = await createRawClient(server.origin);
    const user = createUser();
    const callback = (at: { readonly location: string | null }): boolean =>
      at.location?.startsWith(`${server.origin}/callback`) === true;
    const { location } = await user.browse(client.authorizeUrl(), callback);
    const back = new URL(location ?? "");
    const made = new URL(back);
    made.searchParams.set("state", "made-up");
    expect((await user.visit(made)).status).toBe(400);
    expect((await user.visit(back)).headers.get("location")).toContain("code=");
    expect((await user.visit(back)).status).toBe(400);
  });
});

describe("where users are sent back to", () => {
  it.each([
    "http://127.0.0.1:4999/callback/",
    "http://127.0.0.1:4999/callback/../x",
    "http://127.0.0.1:4999/callback?a=b",
    "http://127.0.0.1:4999/Callback",
    "http://127.0.0.1:4999@evil.example/callback",
    "http://127.0.0.1.evil.example/callback",
    "https://127.0.0.1:4999/callback",
    "http://127.0.0.1:4999/callback#x",
    "https://evil.example/",
    "javascript:alert(1)",
    "",
  ])("cannot be changed to %j (Q3)", async (redirect_uri) => {
    const client = await createRawClient(server.origin);
    const { response, location } = await createUser().browse(client.authorizeUrl({ redirect_uri }), first);
    expect(response.status).toBe(400);
    expect(location).toBeNull();
  });

  it("may be another port of the same machine, and no other scheme or host with another port (Q3)", async () => {
    const client = await createRawClient(server.origin, {
      metadata: {
        redirect_uris: ["http://localhost/callback", "http://[::1]:80/callback", "https://app.example:8443/callback"],
      },
    });
    for (const [redirect_uri, status] of [
      ["http://localhost:50123/callback", 200],
      ["http://[::1]:50123/callback", 200],
      ["http://127.0.0.1:50123/callback", 400],
      ["https://app.example:8443/callback", 200],
      ["https://app.example:8444/callback", 400],
    ] as const) {
      const { response } = await createUser().browse(client.authorizeUrl({ redirect_uri }), first);
      expect([redirect_uri, response.status]).toEqual([redirect_uri, status]);
    }
  });

  it.each([
    "http://evil.example/callback",
    "javascript:alert(1)",
    "data:text/html,x",
    "https://user:password@evil.example/",
    "https://evil.example/#x",
    "/callback",
    "https://evil.example/\u202egnp",
  ])("cannot be registered as %j (Q3)", async (uri) => {
    const response = await register(server.origin, { redirect_uris: [uri] });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: "invalid_redirect_uri" });
  });

  it("may be limited to what is listed (Q3)", async () => {
    await using strict = await start({ allowedRedirectUris: ["https://app.example/callback", "http://127.0.0.1/*"] });
    const statusOf = async (uri: string): Promise<number> =>
      (await register(strict.origin, { redirect_uris: [uri] })).status;
    expect(await statusOf("https://app.example/callback")).toBe(201);
    expect(await statusOf("http://127.0.0.1:5000/any/path")).toBe(201);
    for (const uri of [
      "https://app.example/other",
      "http://localhost/callback",
      "https://evil.example/callback",
      "app://x",
    ]) {
      expect([uri, await statusOf(uri)]).toEqual([uri, 400]);
    }
  });

  it("is no way to send people anywhere: a wrong request ends on a page (Q4)", async () => {
    const attacker = await createRawClient(server.origin, { redirectUri: evil });
    for (const changes of [
      { scope: "unknown" },
      { response_type: "token" },
      { code_challenge: undefined },
      { resource: "https://other.example/mcp" },
    ]) {
      const { response, location } = await createUser().browse(attacker.authorizeUrl(changes), first);
      expect([response.status, location]).toEqual([400, null]);
    }
    const local = await createRawClient(server.origin);
    const { location } = await createUser().browse(local.authorizeUrl({ scope: "unknown" }), first);
    const { searchParams } = new URL(location ?? "");
    expect(Object.fromEntries(searchParams)).toMatchObject({
      error: "invalid_scope",
      state: "client-state",
      iss: server.origin,
    });
  });
});

describe("a code", () => {
  it("is good once: another use ends what came of the first (Q5)", async () => {
    const client = await createRawClient(server.origin);
    const code = (await client.signIn()).get("code") ?? "";
    const tokens = await client.redeem(code);
    expect((await call(server.url, tokens.access_token ?? "")).status).toBe(200);
    expect(await client.redeem(code)).toMatchObject({ status: 400, error: "invalid_grant" });
    expect((await call(server.url, tokens.access_token ?? "")).status).toBe(401);
    expect(await client.refresh(tokens.refresh_token ?? "")).toMatchObject({ error: "invalid_grant" });
  });

  it("is good once, however many redeem it at the same time (Q5)", async () => {
    const client = await createRawClient(server.origin);
    const code = (await client.signIn()).get("code") ?? "";
    const answers = await Promise.all(Array.from({ length: 8 }, () => client.redeem(code)));
    const good = answers.filter(({ status }) => status === 200);
    expect(good.length).toBeLessThanOrEqual(1);
    for (const { access_token } of good) expect((await call(server.url, access_token ?? "")).status).toBe(401);
  });

  it("that is used again before the first use has given a token gives none that lasts (Q5)", async () => {
    const store = memoryStore();
    const { opened: reached, open: reach } = gate();
    const { opened: goOn, open: letGo } = gate();
    const put: Store["values"]["put"] = async (name, text, options) => {
      // The first use is marked, and its grant is about to be written.
      if (options?.group !== undefined && name.includes("grant")) {
        reach();
        await goOn;
      }
      return store.values.put(name, text, options);
    };
    await using slow = await start({ store: { ...store, values: { ...store.values, put } } });
    const client = await createRawClient(slow.origin);
    const code = (await client.signIn()).get("code") ?? "";
    const one = client.redeem(code);
    await reached;
    expect(await client.redeem(code)).toMatchObject({ status: 400, error: "invalid_grant" });
    letGo();
    expect(await one).toMatchObject({ status: 400, error: "invalid_grant" });
  });

  it("is for the client that it was made for (Q5)", async () => {
    const [client, other] = [await createRawClient(server.origin), await createRawClient(server.origin)];
    const code = (await client.signIn()).get("code") ?? "";
    expect(await other.redeem(code, { code_verifier: client.verifier })).toMatchObject({ error: "invalid_grant" });
    expect(await client.redeem(code, { redirect_uri: "http://127.0.0.1:5000/callback" })).toMatchObject({
      error: "invalid_grant",
    });
    expect(await client.redeem(code, { resource: "https://other.example/mcp" })).toMatchObject({
      error: "invalid_target",
    });
    expect(await client.redeem(code)).toMatchObject({ status: 200 });
  });

  it("ends after a minute (Q5)", async () => {
    const client = await createRawClient(server.origin);
    const code = (await client.signIn()).get("code") ?? "";
    server.pass(61_000);
    expect(await client.redeem(code)).toMatchObject({ status: 400, error: "invalid_grant" });
  });

  it("takes PKCE with S256, and the verifier of who asked (Q6)", async () => {
    const client = await createRawClient(server.origin);
    for (const changes of [
      { code_challenge: undefined, code_challenge_method: undefined },
      { code_challenge_method: "plain" },
      { code_challenge_method: undefined },
      { code_challenge: "short" },
    ]) {
      const { location } = await createUser().browse(client.authorizeUrl(changes), first);
      expect(new URL(location ?? "").searchParams.get("error")).toBe("invalid_request");
    }
    const code = (await client.signIn()).get("code") ?? "";
    for (const code_verifier of [undefined, "", "a".repeat(43), `${client.verifier}a`]) {
      expect(await client.redeem(code, { code_verifier })).toMatchObject({ status: 400, error: "invalid_grant" });
    }
    expect(await client.redeem(code)).toMatchObject({ status: 200 });
  });
});

describe("mix-up", () => {
  it("is noticed by clients, who are told the issuer with every answer (Q7)", async () => {
    const client = await createRawClient(server.origin);
    expect((await client.signIn()).get("iss")).toBe(server.origin);
    const denied = await client.signIn(createUser({ decision: "deny" }));
    expect(Object.fromEntries(denied)).toMatchObject({
      error: "access_denied",
      iss: server.origin,
      state: "client-state",
    });
    const metadata = await (await fetch(`${server.origin}/.well-known/oauth-authorization-server`)).json();
    expect(metadata).toMatchObject({ issuer: server.origin, authorization_response_iss_parameter_supported: true });
  });

  it("is noticed where a provider says who it is (Q7)", async () => {
    await using world = await startOidcWorld();
    const client = await createRawClient(world.server.origin);
    const user = createUser();
    const callback = (at: { readonly location: string | null }): boolean =>
      at.location?.includes("/callback?") === true;
    const { location } = await user.browse(client.authorizeUrl(), callback);
    const back = new URL(location ?? "");
    expect(back.searchParams.get("iss")).toBe(world.issuer.issuer);
    back.searchParams.set("iss", "https://evil.example");
    const answer = new URL((await user.visit(back)).headers.get("location") ?? "").searchParams;
    expect(answer.get("error")).toBe("server_error");
    expect(world.issuer.grants).toEqual([]);
    expect(world.server.warnings).toMatchObject([{ kind: "authenticator-failed" }]);
  });
});

describe("a token", () => {
  it("of another server on the same store is none (Q8)", async () => {
    const [store, key] = [memoryStore(), proxyKey()];
    await using one = await start({ store, keys: [key] });
    await using two = await start({ store, keys: [key], path: "/other" });
    const { access_token, refresh_token } = await (await createRawClient(one.origin)).tokens();
    expect((await call(one.url, access_token)).status).toBe(200);
    expect((await call(two.url, access_token)).status).toBe(401);
    const other = await createRawClient(two.origin, { metadata: {} });
    expect(await other.refresh(refresh_token)).toMatchObject({ error: "invalid_grant" });
  });

  it("of the provider is none, nor is anything else that is not an access token of ours (Q8)", async () => {
    const { access_token, refresh_token } = await (await createRawClient(server.origin)).tokens();
    const [upstream = ""] = provider.tokens.keys();
    for (const token of [upstream, refresh_token, `${access_token}x`, access_token.slice(0, -1), "at.a.b", "x"]) {
      expect((await call(server.url, token)).status).toBe(401);
    }
  });

  it("ends after an hour, and is refreshed with another refresh token each time (Q9)", async () => {
    const client = await createRawClient(server.origin);
    const old = await client.tokens();
    server.pass(3_601_000);
    expect((await call(server.url, old.access_token)).status).toBe(401);
    const next = await client.refresh(old.refresh_token);
    expect(next).toMatchObject({ status: 200, scope: "orders:read orders:write" });
    expect(next.refresh_token).not.toBe(old.refresh_token);
    expect((await call(server.url, next.access_token ?? "")).status).toBe(200);
  });

  it("that was refreshed twice ends all of it (Q9)", async () => {
    const client = await createRawClient(server.origin);
    const old = await client.tokens();
    const next = await client.refresh(old.refresh_token);
    expect(await client.refresh(old.refresh_token)).toMatchObject({ status: 400, error: "invalid_grant" });
    expect(await client.refresh(next.refresh_token ?? "")).toMatchObject({ error: "invalid_grant" });
    expect((await call(server.url, next.access_token ?? "")).status).toBe(401);
  });

  it("is refreshed by its client only, and for no more scopes (Q9)", async () => {
    const [client, other] = [await createRawClient(server.origin), await createRawClient(server.origin)];
    const { refresh_token } = await client.tokens(undefined, { scope: "orders:read" });
    expect(await other.refresh(refresh_token)).toMatchObject({ error: "invalid_grant" });
    expect(await client.refresh(refresh_token, { scope: "orders:read orders:write" })).toMatchObject({
      error: "invalid_scope",
    });
    expect(await client.refresh(refresh_token)).toMatchObject({ status: 200, scope: "orders:read" });
  });

  it("is good no more when it was revoked, by its client (Q9)", async () => {
    const [client, other] = [await createRawClient(server.origin), await createRawClient(server.origin)];
    const { access_token, refresh_token } = await client.tokens();
    const revoke = (token: string, client_id: string) => post(`${server.origin}/revoke`, { token, client_id });
    expect(await revoke(access_token, other.clientId)).toMatchObject({ status: 200 });
    expect((await call(server.url, access_token)).status).toBe(200);
    await revoke(access_token, client.clientId);
    expect((await call(server.url, access_token)).status).toBe(401);
    const next = await client.refresh(refresh_token);
    expect(next).toMatchObject({ status: 200 });
    await revoke(next.refresh_token ?? "", client.clientId);
    expect((await call(server.url, next.access_token ?? "")).status).toBe(401);
  });

  it("is given no more to who is unknown to the provider by now (Q9)", async () => {
    const client = await createRawClient(server.origin);
    const { refresh_token, access_token } = await client.tokens();
    provider.forget("octocat");
    expect(await client.refresh(refresh_token)).toMatchObject({ error: "invalid_grant" });
    expect((await call(server.url, access_token)).status).toBe(401);
  });
});

describe("a page", () => {
  it("shows names of strangers as text (Q10)", async () => {
    const name = `<img src=x onerror=alert(1)>"'</title><script>alert(1)</script>\u202e\u0000`;
    const client = await createRawClient(server.origin, { metadata: { client_name: name } });
    const { page, response } = await createUser().browse(client.authorizeUrl(), first);
    expect(page).not.toMatch(/<img|<script|\u202e|\0/);
    expect(page).toContain("&#60;img src=x onerror=alert(1)&#62;");
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("script-src");
    expect(response.headers.get("x-frame-options")).toBe("DENY");
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  it("shows client, host, scopes, and what is asked of the provider (Q10)", async () => {
    const client = await createRawClient(server.origin, { redirectUri: "https://app.example/callback" });
    const { page } = await createUser().browse(client.authorizeUrl({ scope: "orders:read" }), first);
    for (const text of [
      "Raw client",
      "app.example",
      "https://app.example/callback",
      "orders:read",
      "GitHub",
      "read:user",
    ]) {
      expect(page).toContain(text);
    }
    expect(page).not.toContain("orders:write");
  });

  it("shows errors without what was sent (Q10)", async () => {
    const url = new URL(
      "/authorize?client_id=%3Cscript%3Ealert(1)%3C/script%3E&redirect_uri=javascript:alert(1)",
      server.origin,
    );
    const { page, response } = await createUser().browse(url, first);
    expect(response.status).toBe(400);
    expect(page).not.toContain("alert(1)");
    expect(
      (await createUser().browse(new URL("/callback?state=x&error=<script>", server.origin), first)).page,
    ).not.toContain("<script>");
  });
});

describe("a metadata document", () => {
  it("is not fetched from this machine, a private network, or without TLS (Q11)", async () => {
    let connections = 0;
    const trap = createServer().on("connection", () => connections++);
    const place = await listen(trap);
    const { port } = new URL(place);
    try {
      for (const id of [
        `${place}/client`,
        `https://127.0.0.1:${port}/client`,
        `https://localhost:${port}/client`,
        `https://[::1]:${port}/client`,
        `https://[::ffff:7f00:1]:${port}/client`,
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/client",
        "https://metadata.google.internal/computeMetadata",
        "https://user:password@app.example/client",
        "https://app.example/",
        "file:///etc/passwd",
      ]) {
        const client = await createRawClient(server.origin, { clientId: id });
        const { response, page } = await createUser().browse(client.authorizeUrl(), first);
        expect([id, response.status]).toEqual([id, 400]);
        expect(page).not.toMatch(/ECONNREFUSED|ENOTFOUND|private|certificate/);
      }
      expect(connections).toBe(0);
    } finally {
      await close(trap);
    }
  });
});

describe("what is kept", () => {
  it("is encrypted: nothing that is secret can be read in the store (Q12)", async () => {
    const inner = memoryStore();
    const texts: string[] = [];
    const values: Store["values"] = {
      ...inner.values,
      put(name, text, options) {
        texts.push(name, text);
        return inner.values.put(name, text, options);
      },
    };
    await using watched = await start({ store: { ...inner, values } });
    const client = await createRawClient(watched.origin);
    const answer = await client.signIn();
    const tokens = await client.redeem(answer.get("code") ?? "");
    await call(watched.url, tokens.access_token ?? "", "upstream");
    const all = texts.join("\n");
    const secrets = [
      ...provider.tokens.keys(),
      answer.get("code"),
      tokens.access_token,
      tokens.refresh_token,
      "octocat",
    ];
    expect(watched.upstreamTokens).toEqual([...provider.tokens.keys()]);
    expect(secrets.filter((secret) => all.includes(String(secret)))).toEqual([]);
    expect(all).toContain("oauth:grant:");
  });

  it("can be read with any of the keys, and by nobody without them (Q12)", async () => {
    const [old, next, store] = [proxyKey(), proxyKey(), memoryStore()];
    await using before = await start({ store, keys: [old] });
    const withKeys = (...keys: string[]) => start({ store, keys, resource: before.url });
    await using during = await withKeys(next, old);
    await using after = await withKeys(next);
    await using other = await withKeys(proxyKey());
    const client = await createRawClient(before.origin);
    const { access_token, refresh_token } = await client.tokens();
    const statuses = async (token: string) =>
      Promise.all([during, after, other].map(async ({ url }) => (await call(url, token)).status));
    expect(await statuses(access_token)).toEqual([200, 401, 401]);
    const form = { grant_type: "refresh_token", client_id: client.clientId, refresh_token };
    const refreshed = await post(`${during.origin}/token`, form);
    expect(await statuses(refreshed.access_token ?? "")).toEqual([200, 200, 401]);
  });

  it("is bounded: registrations and metadata documents of an address (Q13)", async () => {
    await using small = await start({ limits: { maxRegistrationsPerAddress: 3 } });
    const statuses = [];
    for (let count = 0; count < 4; count++) statuses.push((await register(small.origin)).status);
    expect(statuses).toEqual([201, 201, 201, 429]);
    const document = await createRawClient(small.origin, { clientId: "https://10.0.0.1/client" });
    expect((await createUser().browse(document.authorizeUrl(), first)).response.status).toBe(429);
  });

  it("is bounded: users who are sent to the provider, also by one who agrees again and again (Q13)", async () => {
    await using small = await start({ limits: { maxSignInsPerAddress: 2 } });
    const client = await createRawClient(small.origin);
    const user = createUser();
    const { page } = await user.browse(client.authorizeUrl(), first);
    const form = new URLSearchParams({ request: sealedIn(page), decision: "allow" });
    const statuses = [];
    for (let count = 0; count < 3; count++) {
      statuses.push((await user.visit(new URL("/consent", small.origin), form)).status);
    }
    expect(statuses).toEqual([303, 303, 429]);
  });

  it("is bounded: sign-ins of a user, of which the oldest ends (Q13)", async () => {
    const many = await createRawClient(server.origin);
    const oldest = await many.tokens();
    for (let count = 0; count < 50; count++) await many.tokens();
    expect((await call(server.url, oldest.access_token)).status).toBe(401);
  });

  it("is no longer body than a form has (Q13)", async () => {
    const body = "x".repeat(70_000);
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    expect((await fetch(`${server.origin}/token`, { method: "POST", headers, body })).status).toBe(413);
    expect((await register(server.origin, { redirect_uris: Array.from({ length: 21 }, () => evil) })).status).toBe(400);
    const long = Array.from({ length: 5 }, (_, index) => `https://app.example/${index}${"x".repeat(1_900)}`);
    expect((await register(server.origin, { redirect_uris: long })).status).toBe(400);
    const client = await createRawClient(server.origin);
    const { location } = await createUser().browse(client.authorizeUrl({ state: "x".repeat(4_097) }), first);
    expect(location).toContain("error=invalid_request");
  });
});
