import { describe, expect, it } from "vitest";
import { httpWith, withToken } from "../../../test/support/tokens.ts";
import { anonymous, anyOf } from "./any-of.ts";
import { apiKey } from "./api-key.ts";
import { basic } from "./basic.ts";
import { createRecent } from "./dpop.ts";
import { bearer } from "./tokens.ts";

const ann = bearer((token) => (token === "ann" ? { principal: "ann", scopes: ["read"] } : undefined), {
  metadata: { authorization_servers: ["https://login.example"] },
});
const bob = bearer((token) => (token === "bob" ? { principal: "bob" } : undefined), { requiredScopes: ["write"] });
const basicOfNobody = basic({ users: {} });
const keys = apiKey({ verify: (key) => (key === "k" ? { principal: "robot" } : undefined) });

describe("bearer", () => {
  it("takes what it is told to take", async () => {
    expect(await ann(withToken("ann"))).toEqual({ ok: true, auth: { principal: "ann", scopes: ["read"] } });
    expect(await ann(withToken("eve"))).toEqual({
      ok: false,
      status: 401,
      error: "invalid_token",
      description: "the token is not known",
      scheme: "bearer",
    });
    expect(await bob(withToken("bob"))).toMatchObject({ status: 403, error: "insufficient_scope", scopes: ["write"] });
    expect(bob.metadata).toBeUndefined();
  });

  it("checks the key of a token that says it is bound to one", async () => {
    const bound = bearer(() => ({ principal: "ann", claims: { cnf: { jkt: "abc" } } }));
    expect(await bound(withToken("x"))).toMatchObject({ ok: false, scheme: "DPoP" });
  });
});

describe("anyOf", () => {
  const any = anyOf(ann, bob, keys);

  it("takes whoever one of them knows", async () => {
    expect(await any(withToken("ann"))).toMatchObject({ ok: true, auth: { principal: "ann" } });
    expect(await any(httpWith({ "x-api-key": "k" }))).toMatchObject({ ok: true, auth: { principal: "robot" } });
    expect(await any(withToken("eve", { "x-api-key": "k" }))).toMatchObject({ ok: true, auth: { principal: "robot" } });
  });

  it("tells the refusal that says most", async () => {
    expect(await any(httpWith())).toEqual({ ok: false, status: 401 });
    expect(await any(withToken("eve"))).toMatchObject({ status: 401, error: "invalid_token" });
    expect(await any(withToken("bob"))).toMatchObject({ status: 403, error: "insufficient_scope" });
  });

  it("offers all their ways, each once, and hides all their credentials", () => {
    expect(any.schemes?.map(({ scheme }) => scheme)).toEqual(["Bearer", "ApiKey"]);
    expect(any.credentials).toEqual(["x-api-key"]);
    expect(any.metadata).toMatchObject({ authorization_servers: ["https://login.example"] });
  });

  it("lets in nobody with bad credentials, though somebody without may come in", async () => {
    const open = anyOf(ann, anonymous());
    expect(await open(httpWith())).toEqual({ ok: true });
    expect(await open(withToken("ann"))).toMatchObject({ ok: true, auth: { principal: "ann" } });
    expect(await open(withToken("eve"))).toMatchObject({ ok: false, status: 401 });
    expect(open.schemes).toEqual([{ scheme: "Bearer" }]);
  });

  it("answers 401 to credentials of a scheme that none of them knows, though somebody without may come in (H21)", async () => {
    const open = anyOf(ann, keys, anonymous());
    const refused = {
      ok: false,
      status: 401,
      description: "the credentials are of a scheme that is not accepted here",
    };
    for (const authorization of ["Digest username=ann", "Basic YW5uOmFubg==", "Negotiate abc", "ann"]) {
      expect(await open(httpWith({ authorization }))).toMatchObject({ ok: false, status: 401 });
    }
    expect(await open(httpWith({ authorization: "Negotiate abc" }))).toEqual(refused);
    expect(await anyOf(basicOfNobody, anonymous())(withToken("ann"))).toEqual(refused);
    expect(await open(httpWith({ authorization: " " }))).toEqual({ ok: true });
  });

  it("needs at least one", () => {
    expect(() => anyOf()).toThrow(/at least one/);
  });

  it("cannot tell when one of them cannot, unless another one can", async () => {
    const broken = bearer(() => Promise.reject(new Error("down")));
    expect(await anyOf(broken, ann)(withToken("ann"))).toMatchObject({ ok: true });
    await expect(async () => anyOf(broken, anonymous())(withToken("x"))).rejects.toThrow("down");
    await expect(async () => anyOf(broken, keys)(withToken("x"))).rejects.toThrow("down");
  });
});

describe("what is remembered", () => {
  it("is forgotten after a while, and when there is more of it", () => {
    let now = 0;
    const recent = createRecent<number>({ max: 2, now: () => now });
    recent.set("a", 1, 10);
    recent.set("b", 2, 20);
    recent.set("a", 3, 10);
    recent.set("c", 4, 10);
    expect(["a", "b", "c"].map(recent.get)).toEqual([3, undefined, 4]);
    now = 10;
    expect(recent.get("a")).toBeUndefined();
    recent.delete("c");
    expect(recent.get("c")).toBeUndefined();
  });
});
