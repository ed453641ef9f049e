import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { describeTokenStore } from "../../../test/support/token-store-contract.ts";
import { stateFolder } from "./file-tokens.ts";
import { createKeychainTokens, type Keychain, keychainTokens, openKeychain } from "./keychain-tokens.ts";

/** An entry that nobody else can see. The one of a system is in test/e2e/keychain.test.ts. */
function createEntry(text?: string) {
  let kept = text;
  const keychain: Keychain = {
    read: vi.fn(async () => kept),
    write: vi.fn(async (next: string) => {
      kept = next;
    }),
  };
  return {
    keychain,
    get text() {
      return kept;
    },
    replace(next: string | undefined) {
      kept = next;
    },
  };
}

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "plugbay-keychain-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describeTokenStore("files, with a key in a keychain", () => {
  const place = mkdtempSync(join(tmpdir(), "plugbay-keychain-"));
  const { keychain } = createEntry();
  return {
    open: () => createKeychainTokens(place, keychain),
    [Symbol.asyncDispose]: async () => rmSync(place, { recursive: true, force: true }),
  };
});

describe("a key in a keychain", () => {
  it("is made once, random, and asked for once by each process", async () => {
    const entry = createEntry();
    const stores = Array.from({ length: 5 }, () => createKeychainTokens(folder, entry.keychain));
    await Promise.all(stores.map((store, index) => store.set(`t${index}`, "1")));
    expect(entry.keychain.write).toHaveBeenCalledOnce();
    expect(entry.text).toMatch(/^[\w-]{43}$/);
    const asked = vi.mocked(entry.keychain.read).mock.calls.length;
    for (const store of stores) expect(await store.get("t0")).toBe("1");
    expect(entry.keychain.read).toHaveBeenCalledTimes(asked);
    const other = createEntry();
    await createKeychainTokens(join(folder, "other"), other.keychain).set("t0", "1");
    expect(other.text).not.toBe(entry.text);
  });

  it("is all that opens the files, which are the user's and say nothing", async () => {
    const entry = createEntry();
    const tokens = createKeychainTokens(folder, entry.keychain);
    await tokens.set("a", "access-token-1");
    await tokens.set("b", "access-token-1");
    const files = readdirSync(folder).toSorted();
    expect(files).toEqual(["a.json", "b.json"]);
    const [a = "", b = ""] = files.map((file) => readFileSync(join(folder, file), "utf8"));
    expect(a).not.toContain("access-token");
    expect(JSON.parse(a)).toEqual({ version: 1, iv: expect.any(String), text: expect.any(String) });
    expect(JSON.parse(a).iv).not.toBe(JSON.parse(b).iv);
    expect(`${a}${b}`).not.toContain(entry.text);
    if (process.platform !== "win32") expect((statSync(join(folder, "a.json")).mode & 0o777).toString(8)).toBe("600");
  });

  it("opens no token in the place of another, and none that was changed", async () => {
    const { keychain } = createEntry();
    const tokens = createKeychainTokens(folder, keychain);
    await tokens.set("a", "1");
    const file = join(folder, "a.json");
    const sealed = JSON.parse(readFileSync(file, "utf8"));
    renameSync(file, join(folder, "b.json"));
    expect(await tokens.get("b")).toBeUndefined();
    const flipped = `${sealed.text[0] === "A" ? "B" : "A"}${sealed.text.slice(1)}`;
    for (const text of [
      JSON.stringify({ ...sealed, text: flipped }),
      JSON.stringify({ ...sealed, text: "" }),
      JSON.stringify({ ...sealed, iv: sealed.text }),
      JSON.stringify({ ...sealed, iv: "" }),
      JSON.stringify({ ...sealed, version: 2 }),
      "{}",
      "[]",
      "",
      '{"accessToken":"plain"}',
    ]) {
      writeFileSync(file, text);
      expect(await tokens.get("a")).toBeUndefined();
    }
    writeFileSync(file, JSON.stringify(sealed));
    expect(await tokens.get("a")).toBe("1");
  });

  it("that is gone makes tokens count as missing, and is made again", async () => {
    const entry = createEntry();
    await createKeychainTokens(folder, entry.keychain).set("a", "1");
    const first = entry.text;
    entry.replace(undefined);
    const tokens = createKeychainTokens(folder, entry.keychain);
    expect(await tokens.get("a")).toBeUndefined();
    await tokens.set("a", "2");
    expect(entry.text).not.toBe(first);
    expect(await createKeychainTokens(folder, entry.keychain).get("a")).toBe("2");
  });

  it("that was replaced is noticed by who has the old one", async () => {
    const entry = createEntry();
    const old = createKeychainTokens(folder, entry.keychain);
    await old.set("a", "1");
    entry.replace(undefined);
    await createKeychainTokens(folder, entry.keychain).set("a", "2");
    expect(await old.get("a")).toBe("2");
  });

  it.each(["", "a password of somebody", "a".repeat(42)])("is not %j, which is not touched", async (text) => {
    const entry = createEntry(text);
    const tokens = createKeychainTokens(folder, entry.keychain);
    const problem = { code: "unsupported", message: expect.stringContaining("is of somebody else; delete it") };
    await expect(tokens.get("a")).rejects.toMatchObject(problem);
    await expect(tokens.set("a", "1")).rejects.toMatchObject(problem);
    expect(entry.text).toBe(text);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("that cannot be kept is found out before anything needs it", async () => {
    const deaf: Keychain = { read: async () => undefined, write: async () => {} };
    await expect(createKeychainTokens(folder, deaf).get("a")).rejects.toMatchObject({
      code: "unsupported",
      message: "keychainTokens: the keychain keeps nothing that is written to it",
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("is asked for again after it could not be had", async () => {
    const entry = createEntry();
    vi.mocked(entry.keychain.read).mockRejectedValueOnce(new Error("locked"));
    const tokens = createKeychainTokens(folder, entry.keychain);
    await expect(tokens.set("a", "1")).rejects.toThrow("locked");
    await tokens.set("a", "1");
    expect(await tokens.get("a")).toBe("1");
  });
});

describe("a keychain", () => {
  const options = { service: "plugbay-test", account: "key", timeoutMs: 60_000 };
  type Keyring = typeof import("@napi-rs/keyring");
  const failing = (error: Error) => (): Promise<Keyring> => Promise.reject(error);
  /** The package, with entries that do this when they are read. */
  const reading = (getPassword: () => Promise<string | null>) => async (): Promise<Keyring> => {
    const AsyncEntry = vi.fn(function entry(this: { getPassword: typeof getPassword }) {
      this.getPassword = getPassword;
    });
    return { AsyncEntry } as unknown as Keyring;
  };

  it("needs a package, and says how to get it", async () => {
    const missing = Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
    await expect(openKeychain(options, failing(missing)).read()).rejects.toMatchObject({
      code: "unsupported",
      message: "keychainTokens: needs the package @napi-rs/keyring; install it with npm i @napi-rs/keyring",
    });
    const broken = new Error("Cannot find native binding");
    await expect(openKeychain(options, failing(broken)).write("x")).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringMatching(/^keychainTokens: cannot load @napi-rs\/keyring, .* or use fileTokens\(folder\)$/),
      cause: broken,
    });
  });

  it("that is not there is told apart from one without the entry", async () => {
    expect(
      await openKeychain(
        options,
        reading(async () => null),
      ).read(),
    ).toBeUndefined();
    const load = reading(() => Promise.reject(new Error("DBus error: no bus")));
    await expect(openKeychain(options, load).read()).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringMatching(/there is no keychain .* \(DBus error: no bus\); unlock it, or use fileTokens/),
    });
  });

  it("that nobody unlocks is not waited for for ever", async () => {
    const load = reading(() => new Promise(() => {}));
    await expect(openKeychain({ ...options, timeoutMs: 1 }, load).read()).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringContaining("it may wait for the user to unlock it"),
    });
  });
});

describe("keychainTokens", () => {
  it.each(["", "..", "a/b", "a b", "a".repeat(65)])("takes no service named %j", (service) => {
    expect(() => keychainTokens({ service })).toThrow(/^keychainTokens: service must be/);
  });

  it.each([
    ["linux", { XDG_STATE_HOME: "/state" }, /^\/state$/],
    ["linux", { XDG_STATE_HOME: "relative" }, /[\\/]\.local[\\/]state$/],
    ["linux", {}, /[\\/]\.local[\\/]state$/],
    ["darwin", { XDG_STATE_HOME: "/state" }, /[\\/]Library[\\/]Application Support$/],
    ["win32", { LOCALAPPDATA: "C:\\Local" }, /^C:\\Local$/],
    ["win32", {}, /[\\/]AppData[\\/]Local$/],
  ] as const)("keeps files on %s with %j where others do", (platform, env, expected) => {
    expect(stateFolder(env, platform)).toMatch(expected);
  });
});
