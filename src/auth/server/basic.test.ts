import { beforeAll, describe, expect, it, vi } from "vitest";
import { eventually } from "../../../test/support/patience.ts";
import { httpWith } from "../../../test/support/tokens.ts";
import { fromBase64Url } from "../../std/base64.ts";
import { basic } from "./basic.ts";
import { hashPassword } from "./secrets.ts";

const as = (user: string, password: string) =>
  httpWith({ authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` });

let hash = "";
beforeAll(async () => {
  hash = await hashPassword("pässword:1");
});

const refused = {
  ok: false,
  status: 401,
  error: "invalid_token",
  description: "the user is not known, or the password is wrong",
  scheme: "Basic",
};

describe("basic", () => {
  it("takes a user with the right password, and no other", async () => {
    const auth = basic({ users: { ann: { hash, scopes: ["read"] } } });
    expect(await auth(as("ann", "pässword:1"))).toEqual({ ok: true, auth: { principal: "ann", scopes: ["read"] } });
    expect(await auth(as("ann", "pässword"))).toEqual(refused);
    expect(await auth(as("constructor", "pässword:1"))).toEqual(refused);
    expect(auth.schemes).toEqual([{ scheme: "Basic", parameters: { realm: "mcp", charset: "UTF-8" } }]);
  });

  it("checks one password for whoever logs in, known or not, and none again that was right", async () => {
    const derive = vi.spyOn(crypto.subtle, "deriveBits");
    const auth = basic({ users: { ann: hash } });
    const iterations: unknown[] = [];
    for (const [user, password] of [
      ["ann", "wrong"],
      ["nobody", "wrong"],
      ["ann", "pässword:1"],
      ["ann", "pässword:1"],
    ] as const) {
      derive.mockClear();
      await auth(as(user, password));
      iterations.push(derive.mock.calls.map(([algorithm]) => (algorithm as Pbkdf2Params).iterations));
    }
    expect(iterations).toEqual([[600_000], [600_000], [600_000], []]);
    derive.mockRestore();
  });

  it("checks every time where nothing may be kept", async () => {
    const derive = vi.spyOn(crypto.subtle, "deriveBits");
    const auth = basic({ users: { ann: hash }, cacheTtlMs: 0 });
    await auth(as("ann", "pässword:1"));
    await auth(as("ann", "pässword:1"));
    expect(derive).toHaveBeenCalledTimes(2);
    derive.mockRestore();
  });

  it("asks for a login where there is none, and refuses what is none", async () => {
    const verify = vi.fn(() => undefined);
    const auth = basic({ verify });
    for (const authorization of ["Bearer abc", "", "Basic"]) {
      expect(await auth(httpWith({ authorization }))).toEqual({ ok: false, status: 401 });
    }
    for (const bytes of ["nocolon", "a\u0000b:c", "a:b\n"]) {
      expect(await auth(httpWith({ authorization: `Basic ${btoa(bytes)}` }))).toEqual(refused);
    }
    expect(await auth(httpWith({ authorization: "Basic !!!" }))).toEqual({ ok: false, status: 401 });
    expect(await auth(httpWith({ authorization: `Basic ${btoa("\xff\xfe:a")}` }))).toEqual(refused);
    expect(await auth(as("a", "x".repeat(2_000)))).toEqual(refused);
    expect(verify).not.toHaveBeenCalled();
    expect(await auth(as("", ""))).toEqual(refused);
    expect(verify).toHaveBeenCalledWith({ user: "", password: "" }, expect.anything());
  });

  it("lets the right login from another address in while 90 wrong ones of one address wait (H7)", async () => {
    const auth = basic({ users: { ann: hash } });
    const key = fromBase64Url(hash.split("$").at(-1) ?? "")?.buffer ?? new ArrayBuffer(0);
    const checks: (() => void)[] = [];
    const hold = vi.spyOn(crypto.subtle, "deriveBits").mockImplementation(async () => {
      await new Promise<void>((resolve) => checks.push(resolve));
      return settled.at(-1) === "the turn of ann" ? key : new ArrayBuffer(32);
    });
    const settled: string[] = [];
    const note = (name: string) => (): void => void settled.push(name);
    const wrong = Array.from({ length: 90 }, (_, at) =>
      Promise.resolve(auth({ ...as("ann", `wrong ${at}`), remoteAddress: `2001:db8:0:0::${at}` })).then(
        note("wrong"),
        note("full"),
      ),
    );
    await eventually(() => expect(checks).toHaveLength(2));
    await eventually(() => expect(settled).toHaveLength(24));
    const right = Promise.resolve(auth({ ...as("ann", "pässword:1"), remoteAddress: "192.0.2.1" }));
    // It takes the place of one that waits, which is told so; then one of its neighbours has a turn at most.
    await eventually(() => expect(settled).toHaveLength(25));
    for (const turn of [1, 2]) {
      checks.shift()?.();
      await eventually(() => expect(settled).toHaveLength(25 + turn));
      await eventually(() => expect(checks).toHaveLength(2));
    }
    settled.push("the turn of ann");
    checks.at(0)?.();
    checks.at(1)?.();
    expect(await right).toMatchObject({ ok: true, auth: { principal: "ann" } });
    hold.mockRestore();
    expect(settled.filter((name) => name === "full")).toHaveLength(25);
    void wrong;
  });

  it("lets no more wait for a check than it can serve", async () => {
    const auth = basic({ users: {} });
    const hold = vi.spyOn(crypto.subtle, "deriveBits").mockImplementation(() => new Promise(() => {}));
    const all = Array.from({ length: 80 }, (_, at) => Promise.resolve(auth(as("ann", `${at}`))));
    const failed = await Promise.any(
      all.map((one) =>
        one.then(
          () => Promise.reject(new Error()),
          (error: unknown) => error,
        ),
      ),
    );
    expect(String(failed)).toMatch(/too many passwords/);
    hold.mockRestore();
  });

  it.each([
    "secret",
    "$2b$10$abcdefghijklmnopqrstuv",
    "{SHA}abc",
    "$apr1$x$y",
    "pbkdf2-sha256$100000$c2FsdHNhbHRzYWx0c2FsdA$aaaa",
    "pbkdf2-sha256$600000$c2FsdA$aaaa",
  ])("refuses %j in place of a hash, without repeating it", (weak) => {
    const attempt = () => basic({ users: { ann: weak } });
    expect(attempt).toThrow(/^basic ann: hash/);
    expect(attempt).not.toThrow(weak);
  });

  it("refuses hashes that are faster to guess", async () => {
    const [name, , salt, key] = hash.split("$");
    expect(() => basic({ users: { ann: [name, 599_999, salt, key].join("$") } })).toThrow(/600000/);
    await expect(hashPassword("x", { iterations: 1_000 })).rejects.toThrow(/600000/);
  });

  it("wants scopes", async () => {
    const auth = basic({ verify: () => ({ principal: "ann" }), requiredScopes: ["read"], realm: "Shop" });
    expect(await auth(as("ann", "x"))).toMatchObject({ status: 403, scopes: ["read"] });
  });
});
