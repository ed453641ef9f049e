import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fileTokens, memoryTokens, oauth, storeTokens, type TokenStore } from "../../src/auth/node/client.ts";
import { createKeychainTokens } from "../../src/auth/node/keychain-tokens.ts";
import { connect } from "../../src/connect/connect.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { type ProtectedServer, startProtected } from "./support/protected-server.ts";
import { type AuthorizationServer, startProvider } from "./support/provider.ts";
import { createUser } from "./support/user-agent.ts";

// What a server made us keep is gone after signing out: here, and at the authorization server.

let issuer: AuthorizationServer;
let server: ProtectedServer;
let folder = "";
beforeEach(async () => {
  issuer = await startProvider();
  // A server that names no scopes makes the client register again for a wider one.
  server = await startProtected(issuer, { namesScopes: false });
  folder = mkdtempSync(join(tmpdir(), "plugbay-sign-out-"));
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const redirectUri = "http://127.0.0.1:4999/callback";
/** Each time another browser, so that no two grants are one to the issuer. */
const signingIn = (tokens: TokenStore) =>
  oauth({ authorize: (url, context) => createUser().authorize(url, context), redirectUri, tokens });

/** A store that says what was ever written to it, and what is there still. */
function watched(tokens: TokenStore) {
  const written = new Map<string, string[]>();
  const set: TokenStore["set"] = async (name, text) => {
    written.set(name, [...(written.get(name) ?? []), text]);
    await tokens.set(name, text);
  };
  const texts = (): readonly string[] => [...written.values()].flat();
  const membersOf = (name: string) => [
    ...new Set(
      texts().flatMap((text) =>
        (text.match(new RegExp(`"${name}":"([^"]+)"`, "g")) ?? []).map((hit) => hit.split('"')[3] ?? ""),
      ),
    ),
  ];
  return {
    tokens: { ...tokens, set },
    membersOf,
    left: async () => {
      const kept = await Promise.all([...written.keys()].map((name) => tokens.get(name)));
      return kept.filter((text) => text !== undefined);
    },
  };
}

function keychain() {
  let kept: string | undefined;
  return createKeychainTokens(folder, {
    read: async () => kept,
    write: async (text) => {
      kept = text;
    },
  });
}

describe.each<[name: string, make: () => TokenStore]>([
  ["memory", memoryTokens],
  ["files", () => fileTokens(folder)],
  ["a keychain", keychain],
  ["a store", () => storeTokens(memoryStore())],
])("signing out, with tokens in %s", (_name, make) => {
  it("deletes and revokes what every client of a step-up was given (S15)", async () => {
    const { tokens, membersOf, left } = watched(make());
    const auth = signingIn(tokens);
    await using client = await connect(server.url, { auth });
    await client.callTool("read");
    await client.callTool("write");
    const [clients, access, refresh] = [membersOf("clientId"), membersOf("accessToken"), membersOf("refreshToken")];
    expect([clients.length, access.length]).toEqual([2, 2]);
    const { AccessToken, RefreshToken, Client } = issuer.provider;
    for (const id of clients) expect(await Client.find(id)).toBeDefined();

    await signingIn(tokens).signOut(server.url);
    expect(await left()).toEqual([]);
    expect(readdirSync(folder).filter((file) => file.endsWith(".json"))).toEqual([]);
    for (const token of access) expect(await AccessToken.find(token)).toBeUndefined();
    for (const token of refresh) expect(await RefreshToken.find(token)).toBeUndefined();
    for (const id of clients) expect(await Client.find(id)).toBeUndefined();
  });
});

describe("signing out", () => {
  it("leaves the client to other servers of the same issuer, until the last one (S15)", async () => {
    const { tokens, membersOf, left } = watched(memoryTokens());
    await using other = await startProtected(issuer);
    const auth = signingIn(tokens);
    for (const { url } of [other, server]) {
      await using client = await connect(url, { auth });
      await client.callTool("read");
    }
    const [id = "", ...more] = membersOf("clientId");
    expect(more).toEqual([]);
    await auth.signOut(server.url);
    expect(await issuer.provider.Client.find(id)).toBeDefined();
    expect(await issuer.provider.AccessToken.find(other.taken.at(-1) ?? "")).toBeDefined();
    expect(await issuer.provider.AccessToken.find(server.taken.at(-1) ?? "")).toBeUndefined();
    await auth.signOut(other.url);
    expect(await issuer.provider.Client.find(id)).toBeUndefined();
    expect(await left()).toEqual([]);
  });

  it("deletes everything here also when the issuer cannot be told, and says so (S15)", async () => {
    const { tokens, left } = watched(memoryTokens());
    const auth = signingIn(tokens);
    await using client = await connect(server.url, { auth });
    await client.callTool("read");
    await issuer[Symbol.asyncDispose]();
    await expect(auth.signOut(server.url)).rejects.toMatchObject({ code: "connection-closed" });
    expect(await left()).toEqual([]);
  });
});
