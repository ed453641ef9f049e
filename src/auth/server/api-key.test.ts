import { describe, expect, it } from "vitest";
import { httpWith } from "../../../test/support/tokens.ts";
import { apiKey, hashApiKey } from "./api-key.ts";

const pepper = "a pepper of some length";

describe("apiKey", () => {
  it("takes a key that is listed by its hash", async () => {
    const keys = {
      ci: await hashApiKey("key-of-ci", pepper),
      ops: {
        hash: await hashApiKey("key-of-ops", pepper),
        principal: "operator",
        scopes: ["write"],
        claims: { team: "ops" },
      },
    };
    const auth = apiKey({ keys, pepper });
    expect(await auth(httpWith({ "x-api-key": "key-of-ci" }))).toEqual({
      ok: true,
      auth: { principal: "ci", scopes: [] },
    });
    expect(await auth(httpWith({ "x-api-key": " key-of-ops " }))).toEqual({
      ok: true,
      auth: { principal: "operator", scopes: ["write"], claims: { team: "ops" } },
    });
  });

  it("refuses others, and asks for one where there is none", async () => {
    const auth = apiKey({ keys: { ci: await hashApiKey("key-of-ci", pepper) }, pepper });
    const unknown = {
      ok: false,
      status: 401,
      error: "invalid_token",
      description: "the key is not known",
      scheme: "ApiKey",
    };
    for (const key of ["key-of-c", "key-of-ci2", "x".repeat(2_000), "__proto__"]) {
      expect(await auth(httpWith({ "x-api-key": key }))).toEqual(unknown);
    }
    expect(await auth(httpWith())).toEqual({ ok: false, status: 401 });
    expect(await auth(httpWith({ authorization: "Bearer key-of-ci" }))).toEqual({ ok: false, status: 401 });
  });

  it("takes no key that was hashed with another pepper, or none", async () => {
    const hash = await hashApiKey("key", pepper);
    expect(await apiKey({ keys: { ci: hash }, pepper: `${pepper}!` })(httpWith({ "x-api-key": "key" }))).toMatchObject({
      ok: false,
    });
    expect(() => apiKey({ keys: { ci: hash } } as never)).toThrow(/pepper/);
    expect(() => apiKey({ keys: { ci: hash }, pepper: "short" })).toThrow(/pepper/);
    await expect(hashApiKey("key", "")).rejects.toThrow(/pepper/);
  });

  it.each(["key-of-ci", "sha256$abc", "hmac-sha256$abc", ""])(
    "refuses %j in place of a hash, without repeating it",
    (hash) => {
      expect(() => apiKey({ keys: { ci: hash }, pepper })).toThrow("apiKey ci: hash must be one of hashApiKey");
    },
  );

  it("reads another header, and Bearer where that is the usual one", async () => {
    const keys = { ci: await hashApiKey("key-of-ci", pepper) };
    const other = apiKey({ keys, pepper, header: "X-Shop-Key" });
    expect(await other(httpWith({ "x-shop-key": "key-of-ci" }))).toMatchObject({ ok: true });
    expect(other).toHaveProperty("credentials", ["x-shop-key"]);
    const usual = apiKey({ keys, pepper, header: "Authorization" });
    expect(await usual(httpWith({ authorization: "Bearer key-of-ci" }))).toMatchObject({ ok: true });
    expect(await usual(httpWith({ authorization: "Basic key-of-ci" }))).toEqual({ ok: false, status: 401 });
    expect(usual.schemes).toEqual([{ scheme: "Bearer" }]);
  });

  it("asks whoever looks keys up", async () => {
    const auth = apiKey({
      verify: async (key) => (key === "k" ? { principal: "ann", scopes: ["read"] } : undefined),
      requiredScopes: ["write"],
    });
    expect(await auth(httpWith({ "x-api-key": "x" }))).toMatchObject({ ok: false, status: 401 });
    expect(await auth(httpWith({ "x-api-key": "k" }))).toMatchObject({
      status: 403,
      error: "insufficient_scope",
      scopes: ["write"],
    });
  });
});
