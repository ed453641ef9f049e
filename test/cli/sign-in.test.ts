import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ProtectedServer, startProtected } from "../auth/support/protected-server.ts";
import { type AuthorizationServer, startProvider } from "../auth/support/provider.ts";
import { createUser } from "../auth/support/user-agent.ts";
import { createHome, type Ended, type Home, json, plugbay, shop } from "./support/cli.ts";

// Signing in at a real authorization server; a user agent takes the part of the browser.

let home: Home;
let issuer: AuthorizationServer;
let server: ProtectedServer;
beforeEach(async () => {
  home = createHome();
  issuer = await startProvider();
  server = await startProtected(issuer);
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
});

/** Runs `plugbay login`, and signs in at the page that it shows. */
function login(...args: readonly string[]): Promise<Ended> {
  let visited = false;
  return plugbay(home, ["login", server.url, "--tokens", "file", ...args], {
    onOutput({ stderr }) {
      const [, page] = /\n {2}(http\S+)\n/.exec(stderr) ?? [];
      if (visited || page === undefined) return;
      visited = true;
      const url = new URL(page);
      const redirectUri = url.searchParams.get("redirect_uri") ?? "";
      void createUser()
        .authorize(url, { redirectUri })
        .then((back) => fetch(back));
    },
  });
}

const tokensFolder = (): string => join(home.folder, "user", ".state", "plugbay", "file-tokens");

describe("login, whoami, logout", () => {
  it("signs in, so that other commands need not ask", async () => {
    expect(await plugbay(home, ["whoami", server.url])).toMatchObject({ code: 4 });
    expect(await login()).toMatchObject({ code: 0, stdout: expect.stringContaining(`signed in to ${server.url}`) });
    expect(await plugbay(home, ["call", server.url, "read"])).toMatchObject({ code: 0, stdout: "read\n", stderr: "" });
    const told = json(await plugbay(home, ["whoami", server.url, "--json"]));
    expect(told).toMatchObject({ issuer: issuer.issuer, tokens: "file", scopes: expect.arrayContaining(["mcp:read"]) });
    for (const name of readdirSync(tokensFolder())) expect(statSync(join(tokensFolder(), name)).mode & 0o077).toBe(0);
  });

  it("is what a server that is kept goes by, and logout ends it", async () => {
    const call = ["--warm", "call", server.url, "read"];
    expect(await plugbay(home, call)).toMatchObject({ code: 4 });
    await login();
    for (const _ of ["first", "second"]) expect(await plugbay(home, call)).toMatchObject({ code: 0, stdout: "read\n" });
    expect(await plugbay(home, ["logout", server.url, "--tokens", "file"])).toMatchObject({ code: 0 });
    expect(json(await plugbay(home, ["warm", "status", "--json"]))).toEqual({ kept: [] });
    expect(await plugbay(home, call)).toMatchObject({ code: 4 });
  });

  it("shows no token", async () => {
    const ended = await login();
    const { stdout, stderr } = await plugbay(home, ["whoami", server.url]);
    const kept = readdirSync(tokensFolder()).map((name) => readFileSync(join(tokensFolder(), name), "utf8"));
    const tokens = kept.flatMap((text) =>
      [...text.matchAll(/"(?:accessToken|refreshToken)":"([^"]+)"/g)].map(([, token = ""]) => token),
    );
    expect(tokens.length).toBeGreaterThan(0);
    const said = ended.stdout + ended.stderr + stdout + stderr;
    expect(tokens.filter((token) => said.includes(token))).toEqual([]);
  });

  it("signs out, here and at the issuer", async () => {
    await login();
    expect(await plugbay(home, ["logout", server.url])).toMatchObject({
      code: 0,
      stdout: `signed out of ${server.url}\n`,
    });
    expect(await plugbay(home, ["call", server.url, "read"])).toMatchObject({ code: 4 });
    expect(await plugbay(home, ["logout", server.url])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("nobody"),
    });
    expect(issuer.heard()).toContain("/token/revocation");
  });

  it("signs out here when the issuer is unreachable, and says so", async () => {
    await login();
    await issuer[Symbol.asyncDispose]();
    const { code, stderr } = await plugbay(home, ["logout", server.url]);
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringMatching(/^error: signed out of .* here, but the authorization server was not told: /),
    });
    expect(await plugbay(home, ["whoami", server.url])).toMatchObject({ code: 4 });
  });

  it("ends with 4 where the token lacks a scope, and says how to sign in again", async () => {
    await login("--scope", "mcp:read");
    expect(await plugbay(home, ["call", server.url, "read"])).toMatchObject({ code: 0 });
    const ended = await plugbay(home, ["call", server.url, "write", "--json"]);
    expect(ended.code).toBe(4);
    const hint = `sign in with: plugbay login ${server.url}`;
    expect(json(ended)).toMatchObject({ error: { code: "unauthorized", hint } });
  });

  it("asks nobody in another command when the sign-in is over", async () => {
    await login();
    for (const token of [...server.taken]) server.block(token);
    for (const name of readdirSync(tokensFolder())) {
      const file = join(tokensFolder(), name);
      const text = readFileSync(file, "utf8").replace(/"refreshToken":"[^"]+",?/, "");
      writeFileSync(file, text);
    }
    const { code, stderr } = await plugbay(home, ["call", server.url, "read"]);
    expect(code).toBe(4);
    expect(stderr).toContain(`plugbay login ${server.url}`);
  });

  it("is for servers at URLs", async () => {
    for (const name of ["login", "whoami", "logout"]) {
      const { code, stderr } = await plugbay(home, [name, ...shop]);
      expect(code).toBe(2);
      expect(stderr).toContain("URL");
      expect(await plugbay(home, [name])).toMatchObject({ code: 2 });
    }
    home.write("mcp.json", "{");
    expect(await plugbay(home, ["login", "shop"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("mcp.json:1:"),
    });
  });

  it("of an unreachable server ends with 3", async () => {
    expect(await plugbay(home, ["login", "http://127.0.0.1:9/mcp", "--tokens", "file"])).toMatchObject({ code: 3 });
  });
});
