import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { clientCredentials, fileTokens, memoryTokens, type OAuthOptions, oauth } from "../../src/auth/node/client.ts";
import { connect } from "../../src/connect/connect.ts";
import { recordSecret } from "../support/secrets.ts";
import { type ProtectedServer, startProtected } from "./support/protected-server.ts";
import { type AuthorizationServer, startProvider } from "./support/provider.ts";
import { createUser } from "./support/user-agent.ts";

// A client of ours, a server of ours, and somebody else's authorization server between them.

let issuer: AuthorizationServer;
let server: ProtectedServer;
beforeEach(async () => {
  issuer = await startProvider();
  server = await startProtected(issuer);
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
});

const redirectUri = "http://127.0.0.1:4999/callback";

function signingIn(options: OAuthOptions = {}) {
  const user = createUser();
  return { user, auth: oauth({ authorize: user.authorize, redirectUri, ...options }) };
}

describe.each(["2025-11-25", "2026-07-28"] as const)("a client of %s", (revision) => {
  it("signs in once, and has its token refreshed once", async () => {
    const { user, auth } = signingIn();
    await using client = await connect(server.url, { auth, revision });
    expect(await client.callTool("read")).toMatchObject({ content: [{ text: "read" }] });
    expect(issuer.grants).toEqual(["authorization_code"]);
    expect(user.pages).toBe(2);

    server.block(server.taken.at(-1) ?? "");
    await Promise.all([client.callTool("read"), client.callTool("read"), client.callTool("read")]);
    expect(issuer.grants).toEqual(["authorization_code", "refresh_token"]);
    expect(user.pages).toBe(2);
  });
});

describe("a token", () => {
  it("is asked for again with more scopes, when they are needed", async () => {
    const { auth } = signingIn();
    await using client = await connect(server.url, { auth });
    await client.callTool("write");
    expect(server.refused).toEqual([401, 403]);
    const token = await issuer.provider.AccessToken.find(server.taken.at(-1) ?? "");
    expect(token?.scope?.split(" ").toSorted()).toEqual(["mcp:read", "mcp:write"]);
  });

  it("is asked for again when it was revoked, and cannot be refreshed either", async () => {
    const tokens = memoryTokens();
    const first = signingIn({ tokens });
    await using client = await connect(server.url, { auth: first.auth });
    await client.callTool("read");
    const other = oauth({ tokens, authorize: first.user.authorize, redirectUri });
    await other.signOut(server.url);
    expect(await issuer.provider.AccessToken.find(server.taken.at(-1) ?? "")).toBeUndefined();
    await client.callTool("read");
    expect(issuer.grants).toEqual(["authorization_code", "authorization_code"]);
  });

  it("is kept in files, and of use to the next process", async () => {
    const folder = mkdtempSync(join(tmpdir(), "plugbay-auth-"));
    try {
      const first = signingIn({ tokens: fileTokens(folder) });
      await using client = await connect(server.url, { auth: first.auth });
      await client.callTool("read");
      const second = signingIn({ tokens: fileTokens(folder) });
      await using again = await connect(server.url, { auth: second.auth });
      await again.callTool("read");
      expect(second.user.pages).toBe(0);
      expect(issuer.grants).toEqual(["authorization_code"]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("is bound to a key, and of no use to others", async () => {
    const tokens = memoryTokens();
    const set = vi.spyOn(tokens, "set");
    const { auth } = signingIn({ dpop: true, tokens });
    await using client = await connect(server.url, { auth });
    await client.callTool("read");
    const token = server.taken.at(-1) ?? "";
    expect((await issuer.provider.AccessToken.find(token))?.jkt).toMatch(/^[\w-]{43}$/);
    const keys = set.mock.calls.flatMap(([, text]) => JSON.parse(text).key?.d ?? []);
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) recordSecret("private key", key);
    await expect(connect(server.url, { headers: { authorization: `Bearer ${token}` } })).rejects.toMatchObject({
      code: "unauthorized",
      data: { status: 401 },
    });
  });

  it("is had by a program for itself", async () => {
    const auth = clientCredentials({ issuer: issuer.issuer, clientId: "machine", clientSecret: "machine-secret" });
    await using client = await connect(server.url, { auth });
    await client.callTool("write");
    expect(server.refused).toEqual([]);
    expect(issuer.grants).toEqual(["client_credentials"]);
  });

  it("is not had with a wrong secret, which nobody gets to see", async () => {
    const auth = clientCredentials({ issuer: issuer.issuer, clientId: "machine", clientSecret: "wrong-secret" });
    const failure = await connect(server.url, { auth }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "unauthorized", data: { reason: "token-refused", error: "invalid_client" } });
    expect(JSON.stringify([failure, String(failure), (failure as Error).stack])).not.toContain("wrong-secret");
  });

  it("is not had by who does not want to sign in", async () => {
    const authorize = async (url: URL) =>
      `${redirectUri}?error=access_denied&iss=${issuer.issuer}&state=${url.searchParams.get("state")}`;
    const { auth } = signingIn({ authorize });
    await expect(connect(server.url, { auth })).rejects.toMatchObject({
      code: "unauthorized",
      data: { reason: "denied" },
    });
    expect(issuer.grants).toEqual([]);
  });

  it("is not had for a code that somebody else brings", async () => {
    const { user } = signingIn();
    const authorize = async (url: URL, context: { redirectUri: string }) => {
      const callback = new URL(await user.authorize(url, context));
      callback.searchParams.set("iss", "https://evil.example");
      return callback;
    };
    await expect(connect(server.url, { auth: oauth({ authorize, redirectUri }) })).rejects.toMatchObject({
      code: "unauthorized",
      data: { reason: "issuer-mismatch" },
    });
    expect(issuer.grants).toEqual([]);
  });
});

describe("an authorization header of the user", () => {
  it("C135: is sent instead, and nobody signs in", async () => {
    const { user, auth } = signingIn();
    const failed = connect(server.url, { auth, headers: { authorization: "Bearer mine" } });
    await expect(failed).rejects.toMatchObject({ code: "unauthorized", data: { status: 401 } });
    expect(user.pages).toBe(0);
  });
});
