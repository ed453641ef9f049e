import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redact } from "./redact.ts";
import { isSecretName } from "./secret-names.ts";

const hidden = "[REDACTED]";

describe("redact", () => {
  it.each([
    "password",
    "Password",
    "db_passwd",
    "token",
    "accessToken",
    "X-Auth-Token",
    "client_secret",
    "apiKey",
    "API-Key",
    "x_api_key",
    "api key",
    "Authorization",
    "bearer",
    "aws.credentials",
    "privateKey",
    "secretAccessKey",
    "Set-Cookie",
    "db.pwd",
    "x-hub-signature",
    "mcp-session-id",
  ])("C75: hides %s, wherever it is", (name) => {
    expect(redact({ [name]: "x" })).toEqual({ [name]: hidden });
    expect(redact([{ a: { [name]: { inner: "x" } } }])).toEqual([{ a: { [name]: hidden } }]);
    expect(redact({ [name]: ["x"], other: 1 })).toEqual({ [name]: hidden, other: 1 });
  });

  it.each(["user", "key", "pass", "sec", "author", "toke"])("shows %s", (name) => {
    expect(redact({ [name]: "x" })).toEqual({ [name]: "x" });
  });

  it("goes by names, not by values", () => {
    expect(redact({ note: "my password" })).toEqual({ note: "my password" });
    expect(redact("token")).toBe("token");
  });

  it("C75: gives a copy of any JSON and changes nothing", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const before = JSON.stringify(value);
        const copy = redact(value);
        expect(JSON.stringify(value)).toBe(before);
        if (!namesIn(value).some(isSecretName)) expect(JSON.stringify(copy)).toBe(before);
        if (typeof value === "object" && value !== null) expect(copy).not.toBe(value);
      }),
    );
  });

  it("gives what can be written as JSON, whatever it gets", () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
    });
    fc.assert(
      fc.property(anything, (value) => {
        expect(() => JSON.stringify(redact(value))).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });

  it.each<[string, unknown, unknown]>([
    ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["a URL", new URL("https://x/y"), "https://x/y"],
    ["an error", new TypeError("odd"), { name: "TypeError", message: "odd" }],
    [
      "an error with members",
      Object.assign(new Error("odd"), { code: 7, token: "x" }),
      {
        name: "Error",
        message: "odd",
        code: 7,
        token: hidden,
      },
    ],
    ["a large integer", 2n ** 64n, "18446744073709551616"],
    ["bytes", new Uint8Array(3), "[3 bytes]"],
    ["a function", () => {}, undefined],
    ["a symbol", Symbol("x"), undefined],
    ["what says itself how it is written", { toJSON: () => ({ token: "x", a: 1 }) }, { token: hidden, a: 1 }],
    ["an object without prototype", Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ["a member that is called toJSON", { toJSON: 1 }, { toJSON: 1 }],
    ["null", null, null],
    ["undefined", undefined, undefined],
  ])("says %s", (_, value, expected) => {
    expect(redact(value)).toEqual(expected);
  });

  it("says where it goes in circles", () => {
    const a: Record<string, unknown> = { n: 1 };
    a.self = a;
    a.list = [a];
    expect(redact(a)).toEqual({ n: 1, self: "[CIRCULAR]", list: ["[CIRCULAR]"] });
  });

  it("says what toJSON gives again and again", () => {
    const odd = { toJSON: () => odd };
    expect(redact(odd)).toBe("[CIRCULAR]");
  });

  it("stops where it is nested too deeply, and lets no secret through there", () => {
    let deep: unknown = { password: "x" };
    for (let i = 0; i < 100_000; i++) deep = [deep];
    const text = JSON.stringify(redact(deep));
    expect(text).toContain("[TOO DEEP]");
    expect(text).not.toContain('"x"');
  });

  it("takes time for each object once, however often it is used", () => {
    let shared: unknown = { token: "x" };
    for (let i = 0; i < 60; i++) shared = { a: shared, b: shared };
    let copy = redact(shared) as { a: object; b: object };
    for (let i = 0; i < 59; i++) copy = copy.a as typeof copy;
    expect(copy).toEqual({ a: { token: hidden }, b: { token: hidden } });
  });

  it("keeps a member called __proto__ a member", () => {
    const copy = redact(JSON.parse('{"__proto__":{"polluted":1}}')) as object;
    expect(Object.keys(copy)).toEqual(["__proto__"]);
    expect("polluted" in copy).toBe(false);
  });
});

/** The names of all members, at any depth. */
function namesIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const own = Array.isArray(value) ? [] : Object.keys(value);
  return [...own, ...Object.values(value).flatMap(namesIn)];
}
