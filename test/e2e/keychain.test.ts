import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { AsyncEntry } from "@napi-rs/keyring";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { keychainTokens, oauth } from "../../src/auth/node/client.ts";
import { connect } from "../../src/connect/connect.ts";
import { startProtected } from "../auth/support/protected-server.ts";
import { startProvider } from "../auth/support/provider.ts";
import { createUser } from "../auth/support/user-agent.ts";
import { hasKeychain, inProcess, startKeychain, type TestKeychain } from "../support/keychain.ts";
import { recordSecret } from "../support/secrets.ts";
import { describeTokenStore } from "../support/token-store-contract.ts";

// A real keychain, as desktops have it, with a key for tokens in it.

const service = "plugbay-test";
const run = promisify(execFile);

/** Another process that calls a server with the same tokens, and signs nobody in. */
function refreshing(env: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const script = fileURLToPath(new URL("../auth/support/refresh-child.ts", import.meta.url));
  return run(process.execPath, ["--import", import.meta.resolve("tsx"), script, ...args], { env });
}

describe.skipIf(!hasKeychain)("gnome-keyring", () => {
  let keychain: TestKeychain;
  let before: string | undefined;
  beforeAll(async () => {
    before = process.env.DBUS_SESSION_BUS_ADDRESS;
    keychain = await startKeychain();
    // A process can use one bus only: it remembers the first.
    Object.assign(process.env, { DBUS_SESSION_BUS_ADDRESS: keychain.env.DBUS_SESSION_BUS_ADDRESS });
  });
  afterAll(async () => {
    if (before === undefined) delete process.env.DBUS_SESSION_BUS_ADDRESS;
    else process.env.DBUS_SESSION_BUS_ADDRESS = before;
    await keychain?.[Symbol.asyncDispose]();
  });

  const entry = () => new AsyncEntry(service, "token key", { linux: { store: "secret-service" } });
  beforeEach(async () => {
    await entry().deleteCredential();
    rmSync(keychain.folder, { recursive: true, force: true });
  });

  describeTokenStore("a real keychain", () => {
    const folder = mkdtempSync(join(tmpdir(), "plugbay-keychain-"));
    return {
      open: () => keychainTokens({ service, folder }),
      [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true, force: true }),
    };
  });

  it("has one entry, and the files are of no use without it", async () => {
    const { folder } = keychain;
    await keychainTokens({ service, folder }).set("a", "token-of-ann-1234567890");
    const key = await entry().getPassword();
    recordSecret("key of tokens", key);
    expect(key).toMatch(/^[\w-]{43}$/);
    const files = readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8"));
    expect(files).toHaveLength(1);
    expect(files.join()).not.toContain("token-of-ann");
    expect(files.join()).not.toContain(key);
    expect(await inProcess(keychain.env, folder, "get", "a")).toEqual({ value: "token-of-ann-1234567890" });
    await entry().deleteCredential();
    expect(await inProcess(keychain.env, folder, "get", "a")).toEqual({});
  });

  it("gets one key, however many processes start at once", async () => {
    const names = ["a", "b", "c", "d"];
    const { env, folder } = keychain;
    await Promise.all(names.map((name) => inProcess(env, folder, "set", name, `token ${name}`)));
    const tokens = keychainTokens({ service, folder });
    expect(await Promise.all(names.map((name) => tokens.get(name)))).toEqual(names.map((name) => `token ${name}`));
  });

  it("lets processes whose token is refused at the same time refresh it once", async () => {
    await using issuer = await startProvider();
    await using server = await startProtected(issuer);
    const { folder } = keychain;
    const auth = oauth({
      tokens: keychainTokens({ service, folder }),
      authorize: createUser().authorize,
      redirectUri: "http://127.0.0.1:4999/callback",
    });
    await using client = await connect(server.url, { auth });
    await client.callTool("read");
    server.block(server.taken.at(-1) ?? "", 3);
    issuer.gather(3);
    const child = () => refreshing(keychain.env, server.url, folder, service);
    const [one, other] = await Promise.all([child(), child(), client.callTool("read")]);
    for (const { stdout } of [one, other]) expect(stdout.trim()).toBe('[{"type":"text","text":"read"}]');
    expect(issuer.grants).toEqual(["authorization_code", "refresh_token"]);
  });

  it("that is locked is told of, and loses nothing", async () => {
    const { env, folder, lock } = keychain;
    const tokens = keychainTokens({ service, folder });
    await tokens.set("a", "1");
    await lock();
    expect(await inProcess(env, folder, "get", "a")).toEqual({ code: "unsupported", message: unusable });
    expect(await inProcess(env, folder, "set", "a", "2")).toEqual({ code: "unsupported", message: unusable });
    // Who has the key goes on.
    expect(await tokens.get("a")).toBe("1");
  });
});

const unusable = expect.stringMatching(
  /^keychainTokens: there is no keychain that can be used here \(.+\); unlock it, or use fileTokens\(folder\)$/,
);

describe.skipIf(!hasKeychain)("a machine without a keychain", () => {
  it.each(["none", "new"] as const)("(%s) is told of before anybody signs in", async (state) => {
    await using keychain = await startKeychain(state);
    const { env, folder } = keychain;
    expect(await inProcess(env, folder, "get", "a")).toEqual({ code: "unsupported", message: unusable });
    expect(await inProcess(env, folder, "set", "a", "1")).toEqual({ code: "unsupported", message: unusable });
    expect(existsSync(join(folder, "a.json"))).toBe(false);
  });

  it("is told of also where there is not even a bus, by who connects", async () => {
    await using issuer = await startProvider();
    await using server = await startProtected(issuer);
    const folder = mkdtempSync(join(tmpdir(), "plugbay-keychain-"));
    const env = { PATH: process.env.PATH ?? "", HOME: folder };
    expect(await inProcess(env, folder, "get", "a")).toEqual({ code: "unsupported", message: unusable });
    const failure = await refreshing(env, server.url, folder, service).catch(({ stderr }) => stderr);
    expect(failure).toContain("keychainTokens: there is no keychain that can be used here");
    expect(failure).not.toContain("nobody is to be asked");
    expect(issuer.grants).toEqual([]);
    rmSync(folder, { recursive: true, force: true });
  });
});
