import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { oauth } from "../../src/auth/node/client.ts";
import { github } from "../../src/auth/node/proxy.ts";
import type { SignedInUser } from "../../src/auth/proxy/upstream.ts";
import { connect } from "../../src/connect/connect.ts";
import { nodeWithSqlite } from "../store/node22.ts";
import { redisProgram, startRedis } from "../support/redis.ts";
import { type GithubLike, githubClient, idOf, startGithubLike } from "./support/github.ts";
import {
  type ProxiedOptions,
  type ProxiedServer,
  proxyKey,
  startOidcWorld,
  startProxied,
} from "./support/proxied-server.ts";
import { startProxyProcess } from "./support/proxy-process.ts";
import { call, createRawClient, post } from "./support/raw-client.ts";
import { createUser } from "./support/user-agent.ts";

// What this server does at the provider, and what becomes of those who have signed in there.

let provider: GithubLike;
beforeEach(async () => {
  provider = await startGithubLike();
});
afterEach(() => provider[Symbol.asyncDispose]());

function start(options: ProxiedOptions = {}, client = githubClient): Promise<ProxiedServer> {
  return startProxied(github({ ...client, baseUrl: provider.url }), options);
}

const HOUR_MS = 3_600_000;

describe("a token of the provider", () => {
  it("is had by handlers, and refreshed before it ends, once for all who wait (Q15)", async () => {
    provider.tokenTtl = 3_600;
    await using server = await start();
    const { access_token } = await (await createRawClient(server.origin)).tokens();
    await call(server.url, access_token, "upstream");
    await call(server.url, access_token, "upstream");
    expect(provider.grants).toEqual(["authorization_code"]);
    server.pass(HOUR_MS - 30_000);
    await Promise.all(Array.from({ length: 6 }, () => call(server.url, access_token, "upstream")));
    expect(provider.grants).toEqual(["authorization_code", "refresh_token"]);
    const [first, , ...later] = server.upstreamTokens;
    expect(new Set(later).size).toBe(1);
    expect(later[0]).not.toBe(first);
  });

  it("is refreshed by an OpenID provider, too (Q15)", async () => {
    await using world = await startOidcWorld();
    const { access_token } = await (await createRawClient(world.server.origin)).tokens();
    world.server.pass(HOUR_MS - 30_000);
    expect((await call(world.server.url, access_token, "upstream")).text).toContain("called");
    expect(world.issuer.grants).toEqual(["authorization_code", "refresh_token"]);
  });

  it("that is given no more ends the sign-in: the client is told to sign in again (Q15)", async () => {
    provider.tokenTtl = 3_600;
    await using server = await start();
    const { access_token } = await (await createRawClient(server.origin)).tokens();
    server.pass(HOUR_MS - 30_000);
    provider.forget("octocat");
    expect(await call(server.url, access_token, "upstream")).toMatchObject({ status: 401 });
    expect(await call(server.url, access_token, "whoami")).toMatchObject({ status: 401 });
  });

  it("that is given no more lets our client sign its user in again, and the call goes on (Q15)", async () => {
    provider.tokenTtl = 3_600;
    await using server = await start();
    const user = createUser();
    await using client = await connect(server.url, {
      auth: oauth({ authorize: user.authorize, redirectUri: "http://127.0.0.1:4999/callback" }),
    });
    await client.callTool("upstream");
    server.pass(HOUR_MS - 30_000);
    provider.forget("octocat");
    provider.login = "hubot";
    expect(await client.callTool("whoami")).toMatchObject({ content: [{ text: expect.stringContaining("octocat") }] });
    expect(await client.callTool("upstream")).toMatchObject({ content: [{ text: "called" }] });
    expect(await client.callTool("whoami")).toMatchObject({ content: [{ text: expect.stringContaining("hubot") }] });
  });

  it("that cannot be refreshed right now ends nothing (Q15)", async () => {
    provider.tokenTtl = 3_600;
    await using server = await start();
    const client = await createRawClient(server.origin);
    const { access_token, refresh_token } = await client.tokens();
    server.pass(HOUR_MS - 30_000);
    provider.broken = true;
    expect((await call(server.url, access_token, "upstream")).text).toContain("isError");
    expect(await client.refresh(refresh_token)).toMatchObject({ status: 503 });
    provider.broken = false;
    expect((await call(server.url, access_token, "upstream")).text).toContain("called");
    expect(await client.refresh(refresh_token)).toMatchObject({ status: 200 });
  });

  it("is refreshed when the client refreshes, so that a user who was removed gets in no more (Q15)", async () => {
    provider.tokenTtl = 3_600;
    await using server = await start();
    const client = await createRawClient(server.origin);
    const { refresh_token } = await client.tokens();
    server.pass(HOUR_MS);
    const next = await client.refresh(refresh_token);
    expect(next).toMatchObject({ status: 200 });
    expect(provider.grants).toEqual(["authorization_code", "refresh_token"]);
    server.pass(HOUR_MS);
    provider.forget("octocat");
    expect(await client.refresh(next.refresh_token ?? "")).toMatchObject({ error: "invalid_grant" });
  });
});

describe("a user", () => {
  it("may be refused by what the provider says (Q16)", async () => {
    const seen: SignedInUser[] = [];
    const onSignIn = (user: SignedInUser): boolean => {
      seen.push(user);
      return user.claims.login !== "octocat";
    };
    await using server = await start({ onSignIn });
    const client = await createRawClient(server.origin);
    const refused = await client.signIn();
    expect(Object.fromEntries(refused)).toMatchObject({
      error: "access_denied",
      state: "client-state",
      iss: server.origin,
    });
    const id = String(idOf("octocat"));
    expect(seen).toEqual([
      {
        principal: `${provider.url}#${id}`,
        claims: {
          iss: provider.url,
          sub: id,
          login: "octocat",
          name: "The octocat",
          picture: `${provider.url}/octocat.png`,
        },
      },
    ]);
    provider.login = "hubot";
    expect((await client.signIn()).has("code")).toBe(true);
  });

  it("is told nothing when the provider refuses this server, and the operator what it calls that (Q16)", async () => {
    const secret = "wrong-secret-0123456789";
    await using server = await start({}, { ...githubClient, clientSecret: secret });
    const answer = await (await createRawClient(server.origin)).signIn();
    expect(Object.fromEntries(answer)).toMatchObject({
      error: "server_error",
      error_description: "signing in with GitHub failed",
    });
    expect(server.warnings).toEqual([
      { kind: "authenticator-failed", message: "oauthProxy: GitHub refuses: incorrect_client_credentials" },
    ]);
    expect(JSON.stringify([server.warnings, [...answer]])).not.toContain(secret);
  });

  it("sees a page when the provider cannot be reached (Q16)", async () => {
    await using world = await startOidcWorld();
    const client = await createRawClient(world.server.origin);
    await world.issuer[Symbol.asyncDispose]();
    const { response, page } = await createUser().browse(client.authorizeUrl(), ({ page }) =>
      page.includes("cannot be reached"),
    );
    expect(response.status).toBe(503);
    expect(page).toContain("Example ID cannot be reached");
    expect(world.server.warnings[0]?.message).toMatch(/^oauthProxy: /);
  });
});

describe.each(["sqlite", "redis"])("two processes on one store: %s", (kind) => {
  const node = kind === "redis" ? process.execPath : nodeWithSqlite();

  it.skipIf(node === undefined || (kind === "redis" && redisProgram === undefined))(
    "serve one user, who signs in with one and refreshes with the other (Q17)",
    async () => {
      await using redis = kind === "redis" ? await startRedis() : undefined;
      const folder = mkdtempSync(join(tmpdir(), "plugbay-proxy-"));
      try {
        const shared = {
          store: redis?.url ?? `sqlite:${join(folder, "store.db")}`,
          key: proxyKey(),
          provider: provider.url,
          node: node ?? "",
        };
        provider.tokenTtl = 30;
        await using one = await startProxyProcess(shared);
        await using two = await startProxyProcess({ ...shared, resource: one.url });
        const client = await createRawClient(one.origin);
        const { access_token, refresh_token } = await client.tokens();
        expect((await call(two.url, access_token)).status).toBe(200);

        // The token of the provider ends within a minute, the next one does not: one of all that ask refreshes it.
        provider.tokenTtl = 3_600;
        const urls = [one.url, two.url, one.url, two.url, one.url, two.url];
        const called = await Promise.all(urls.map((url) => call(url, access_token, "upstream")));
        expect(called.filter(({ text }) => text.includes("a token"))).toHaveLength(urls.length);
        expect(provider.grants).toEqual(["authorization_code", "refresh_token"]);

        const form = { grant_type: "refresh_token", client_id: client.clientId, refresh_token };
        const refreshed = await post(`${two.origin}/token`, form);
        expect(refreshed).toMatchObject({ status: 200 });
        expect((await call(one.url, refreshed.access_token ?? "")).status).toBe(200);
        expect(await post(`${one.origin}/token`, form)).toMatchObject({ error: "invalid_grant" });
        expect((await call(two.url, refreshed.access_token ?? "")).status).toBe(401);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );
});
