import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { memoryTokens, type OAuthOptions, oauth } from "../../src/auth/node/client.ts";
import { type HostEvent, openHost } from "../../src/host/index.ts";
import { createServer, tool } from "../../src/server/index.ts";
import { type ProtectedServer, startProtected } from "./support/protected-server.ts";
import { type AuthorizationServer, startProvider } from "./support/provider.ts";
import { createUser } from "./support/user-agent.ts";

// A host of ours, servers of ours, and somebody else's authorization server between them.

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
const open = () => createServer({ name: "open", version: "1", tools: { hi: tool({ run: () => "hi" }) } });

function signingIn(options: OAuthOptions = {}) {
  const user = createUser();
  return { user, auth: oauth({ authorize: user.authorize, redirectUri, ...options }) };
}

describe.each(["2025-11-25", "2026-07-28"] as const)("a server of %s that needs its user to sign in", (revision) => {
  const withAuth = (auth: OAuthOptions = {}) => {
    const { user, auth: authorizer } = signingIn(auth);
    return { user, protectedOne: { target: server.url, connectOptions: { auth: authorizer, revision } } };
  };

  it("is needs-auth, is not tried again by itself, and nobody is asked", async () => {
    const { user, protectedOne } = withAuth();
    const restart = { minDelayMs: 1, maxDelayMs: 1 };
    await using host = await openHost({ protected: protectedOne, open: open() }, { restart });
    const [status, other] = await host.settled();
    expect(other).toMatchObject({ state: "ready" });
    expect(status).toMatchObject({
      name: "protected",
      state: "needs-auth",
      reason: { code: "unauthorized", data: { reason: "interaction-required" } },
      hint: expect.stringContaining("host.signIn"),
    });
    const { length } = server.refused;
    const tools = await host.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["open:hi"]);
    expect(tools.missing).toMatchObject([{ server: "protected", reason: { code: "unauthorized" } }]);
    await expect(host.callTool("protected:read")).rejects.toMatchObject({
      code: "unauthorized",
      message: expect.stringContaining("server protected is not available"),
    });
    expect(server.refused).toHaveLength(length);
    expect(user.pages).toBe(0);
  });

  it("is ready after signIn, and needs-auth after signOut, which gives the tokens back", async () => {
    const { user, protectedOne } = withAuth();
    await using host = await openHost({ protected: protectedOne });
    await host.settled();
    await Promise.all([host.signIn("protected"), host.signIn("protected")]);
    expect(user.pages).toBe(2);
    expect(host.servers()).toMatchObject([{ state: "ready" }]);
    expect(await host.callTool("protected:read")).toMatchObject({ content: [{ text: "read" }] });
    const token = server.taken.at(-1) ?? "";
    await host.signOut("protected");
    expect(host.servers()).toMatchObject([{ state: "needs-auth" }]);
    expect(await issuer.provider.AccessToken.find(token)).toBeUndefined();
    await expect(host.callTool("protected:read")).rejects.toMatchObject({ code: "unauthorized" });
    await host.signIn("protected");
    expect(await host.callTool("protected:read")).toMatchObject({ content: [{ text: "read" }] });
  });

  it("is needs-auth when its token is taken no more and cannot be refreshed, and tells so once", async () => {
    const tokens = memoryTokens();
    const { user, protectedOne } = withAuth({ tokens });
    await using host = await openHost({ protected: protectedOne });
    await host.settled();
    await host.signIn("protected");
    const states: HostEvent[] = [];
    const over = new AbortController();
    const reading = (async () => {
      for await (const event of host.events(over.signal)) if (event.kind === "state") states.push(event);
    })().catch(() => {});
    // Revoked by another process.
    await oauth({ tokens }).signOut(server.url);
    await expect(host.callTool("protected:read")).rejects.toMatchObject({ code: "unauthorized" });
    await vi.waitFor(() => expect(host.servers()).toMatchObject([{ state: "needs-auth" }]));
    expect(user.pages).toBe(2);
    await host.signIn("protected");
    expect(await host.callTool("protected:read")).toMatchObject({ content: [{ text: "read" }] });
    over.abort();
    await reading;
    expect(states.map((event) => event.kind === "state" && event.status.state)).toEqual([
      "needs-auth",
      "connecting",
      "ready",
    ]);
  });

  it("uses tokens of an earlier process without asking", async () => {
    const tokens = memoryTokens();
    const first = withAuth({ tokens });
    await using host = await openHost({ protected: first.protectedOne });
    await host.settled();
    await host.signIn("protected");
    const second = withAuth({ tokens });
    await using again = await openHost({ protected: second.protectedOne });
    expect(await again.settled()).toMatchObject([{ state: "ready" }]);
    expect(second.user.pages).toBe(0);
  });

  it("stays needs-auth when its user does not sign in", async () => {
    const authorize = async (url: URL) =>
      `${redirectUri}?error=access_denied&iss=${issuer.issuer}&state=${url.searchParams.get("state")}`;
    const { protectedOne } = withAuth({ authorize });
    await using host = await openHost({ protected: protectedOne });
    await host.settled();
    await expect(host.signIn("protected")).rejects.toMatchObject({ code: "unauthorized", data: { reason: "denied" } });
    expect(host.servers()).toMatchObject([{ state: "needs-auth" }]);
  });
});

it("a scope that the token lacks is asked for by signIn only", async () => {
  const { user, auth } = signingIn({ scopes: ["mcp:read"] });
  await using host = await openHost({ protected: { target: server.url, connectOptions: { auth } } });
  await host.settled();
  await host.signIn("protected");
  expect(await host.callTool("protected:read")).toMatchObject({ content: [{ text: "read" }] });
  const { pages } = user;
  await expect(host.callTool("protected:write")).rejects.toMatchObject({
    code: "unauthorized",
    data: { reason: "interaction-required", scopes: ["mcp:write"] },
  });
  expect(user.pages).toBe(pages);
  expect(host.servers()).toMatchObject([{ state: "ready" }]);
  await host.signIn("protected");
  expect(await host.callTool("protected:write")).toMatchObject({ content: [{ text: "written" }] });
});

it("signIn and signOut say what is missing where a server has no auth, or is none", async () => {
  const token = { authorization: "Bearer wrong" };
  const specs = { open: open(), fixed: { target: server.url, connectOptions: { headers: token } } };
  await using host = await openHost(specs);
  expect(await host.settled()).toMatchObject([
    { state: "ready" },
    { state: "needs-auth", reason: { code: "unauthorized" } },
  ]);
  for (const name of ["open", "fixed"]) {
    await expect(host.signIn(name)).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringMatching(
        /^cannot sign in: server (open|fixed) has no auth that can; give it one, such as oauth\(\)/,
      ),
    });
    await expect(host.signOut(name)).rejects.toMatchObject({ code: "unsupported" });
  }
  await expect(host.signIn("nobody")).rejects.toMatchObject({ data: { reason: "unknown-server" } });
});
