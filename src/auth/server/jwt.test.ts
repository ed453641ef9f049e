import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import {
  audience,
  createFakeFetch,
  createFakeIssuer,
  httpWith,
  noon,
  withToken,
} from "../../../test/support/tokens.ts";
import type { Authenticator } from "../../protocol/authenticator.ts";
import type { McpError } from "../../protocol/errors.ts";
import type { SafeFetch } from "../safe-fetch.ts";
import { createJwt, type JwtOptions, jwt } from "./jwt.ts";

const nothing: SafeFetch = () => Promise.reject(new Error("nothing may be asked"));
const seconds = noon / 1_000;

async function protect(options: Partial<JwtOptions> = {}) {
  const issuer = await createFakeIssuer();
  const base = { issuer: issuer.issuer, audience, jwks: issuer.jwks };
  const auth = createJwt({ ...base, ...options }, { fetch: nothing, now: () => noon });
  return { issuer, auth };
}

const refused = (description: string) => ({ ok: false, status: 401, error: "invalid_token", description });

describe("jwt", () => {
  it("takes a good token, and says whose it is", async () => {
    const { issuer, auth } = await protect();
    expect(await auth(withToken(await issuer.token({ scope: "read write", team: "tea" })))).toMatchObject({
      ok: true,
      auth: {
        principal: "https://login.example#ann",
        scopes: ["read", "write"],
        claims: { sub: "ann", team: "tea", aud: audience },
      },
    });
  });

  it("asks for a token where there is none, and says nothing of errors", async () => {
    const { auth } = await protect();
    for (const http of [httpWith(), httpWith({ authorization: "Basic YTpi" })]) {
      expect(await auth(http)).toEqual({ ok: false, status: 401 });
    }
    expect(await auth(httpWith({ authorization: "Bearer a b" }))).toEqual(
      refused("the authorization header is malformed"),
    );
  });

  it.each([
    ["another audience", { aud: "https://other.example" }, "the token is not for this server"],
    ["no audience", { aud: undefined }, "the token is not for this server"],
    ["another issuer", { iss: "https://evil.example" }, "the token is of another issuer"],
    ["no issuer", { iss: undefined }, "the token is of another issuer"],
    ["an issuer that differs by a slash", { iss: "https://login.example/" }, "the token is of another issuer"],
    ["a time that is over", { exp: seconds - 61 }, "the token has expired"],
    ["no end", { exp: undefined }, "the token says not when it expires"],
    ["a beginning that is not yet", { nbf: seconds + 61 }, "the token is not valid yet"],
    ["a time of issue that is not yet", { iat: seconds + 61 }, "the token is not valid yet"],
    ["nobody in it", { sub: undefined }, "the token does not say whose it is"],
    ["an empty subject", { sub: "" }, "the token does not say whose it is"],
  ])("refuses one with %s", async (_, claims, description) => {
    const { issuer, auth } = await protect();
    expect(await auth(withToken(await issuer.token(claims)))).toMatchObject(refused(description));
  });

  it.each([
    ["an end 59 s ago", { exp: seconds - 59 }],
    ["a beginning in 59 s", { nbf: seconds + 59 }],
    ["a time of issue in 59 s", { iat: seconds + 59 }],
    ["several audiences, one of them ours", { aud: ["https://other.example", audience] }],
    ["a client and no subject", { sub: undefined, client_id: "robot" }],
  ])("takes one with %s", async (_, claims) => {
    const { issuer, auth } = await protect();
    expect(await auth(withToken(await issuer.token(claims)))).toMatchObject({ ok: true });
  });

  it.each([
    ["a user", { sub: "ann", client_id: "desktop" }, "https://login.example#ann"],
    ["a client without a subject", { sub: undefined, client_id: "ann" }, "client:https://login.example#ann"],
    ["a client that is its own subject", { sub: "ann", client_id: "ann" }, "client:https://login.example#ann"],
    ["a client of an issuer with azp", { sub: "ann", azp: "ann" }, "client:https://login.example#ann"],
    ["a client of an issuer with cid", { sub: "ann", cid: "ann" }, "client:https://login.example#ann"],
    ["a user named like the principal of a client", { sub: "client:ann" }, "https://login.example#client:ann"],
  ])(
    "of %s stands for a principal in a namespace of its own: client_id principals are no users",
    async (_, claims, principal) => {
      const { issuer, auth } = await protect();
      expect(await auth(withToken(await issuer.token(claims)))).toMatchObject({ ok: true, auth: { principal } });
    },
  );

  it.each([
    ["at+jwt", true],
    ["application/at+jwt", true],
    ["JWT", true],
    [undefined, true],
    ["dpop+jwt", false],
    ["logout+jwt", false],
    ["secevent+jwt", false],
  ])("by a type of %s it is taken: %s", async (typ, ok) => {
    const { issuer, auth } = await protect();
    expect(await auth(withToken(await issuer.token({}, { typ })))).toMatchObject({ ok });
  });

  it("refuses what is signed by somebody else, in a shared way, or not at all", async () => {
    const { issuer, auth } = await protect();
    const other = await createFakeIssuer();
    const unknown = await createFakeIssuer("https://login.example", "2");
    const claims = { iss: issuer.issuer, aud: audience, sub: "ann", exp: seconds + 60 };
    const shared = new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "1" });
    const bare = `${btoa('{"alg":"none"}')}.${btoa(JSON.stringify(claims))}.`.replaceAll("=", "");
    const [head, body] = (await issuer.token()).split(".");
    const cases = [
      [await other.token(), "the token is wrongly signed"],
      [await unknown.token(), "the token is signed with a key that is not known"],
      [
        await shared.sign(new TextEncoder().encode(JSON.stringify(issuer.jwks))),
        "the token is signed in a way that is not accepted",
      ],
      [bare, "the token is signed in a way that is not accepted"],
      [`${head}.${body}.`, "the token is wrongly signed"],
      ["abc", "the token is malformed"],
      ["a.b.c", "the token is malformed"],
      ["a.b.c.d.e", "the token is malformed"],
    ] as const;
    for (const [token, description] of cases) {
      const answer = await auth(withToken(token));
      expect(answer).toMatchObject(refused(description));
      expect(JSON.stringify(answer)).not.toContain(token);
    }
  });

  it("takes one without a key id that any of several keys has signed", async () => {
    const [first, second] = [await createFakeIssuer(), await createFakeIssuer()];
    const jwks = { keys: [...first.jwks.keys, ...second.jwks.keys].map(({ kid: _, ...key }) => key) };
    const { auth } = await protect({ jwks });
    const third = await createFakeIssuer();
    for (const { token } of [first, second]) {
      expect(await auth(withToken(await token({}, { kid: undefined })))).toMatchObject({ ok: true });
    }
    expect(await auth(withToken(await third.token({}, { kid: undefined })))).toMatchObject(
      refused("the token is wrongly signed"),
    );
  });

  it("takes only the algorithms it is told, and none with a shared secret", async () => {
    const { issuer, auth } = await protect({ algorithms: ["RS256"] });
    expect(await auth(withToken(await issuer.token()))).toMatchObject({ ok: false, status: 401 });
    for (const name of ["none", "HS256", "HS512", "RSA1_5"]) {
      expect(() => jwt({ issuer: "https://a.example", audience, algorithms: [name] })).toThrow(/is not accepted/);
    }
  });

  it("refuses bad options", () => {
    expect(() => jwt({ issuer: "login", audience })).toThrow(/issuer must be a URL/);
    expect(() => jwt({ issuer: "https://a.example", audience: [] })).toThrow(/audience/);
    expect(() => jwt({ issuer: "https://a.example", audience: "" })).toThrow(/audience/);
    expect(() => jwt({ issuer: "https://a.example", audience, jwks: "keys" })).toThrow(/the address of the keys/);
    expect(() => jwt({ issuer: "https://a.example", audience, jwks: {} as never })).toThrow(/object with keys/);
    expect(() => jwt({ issuer: "https://a.example", audience, requiredScopes: ["a b"] })).toThrow(/scope/);
    expect(() => jwt({ issuer: "https://a.example", audience, resource: "shop" })).toThrow(/resource/);
  });

  it("wants the scopes that every request takes, all of them, and honours those that hold others", async () => {
    const { issuer, auth } = await protect({
      requiredScopes: ["read", "list"],
      impliedScopes: { admin: ["all"], all: ["read", "list", "admin"] },
    });
    expect(await auth(withToken(await issuer.token()))).toMatchObject({
      ok: false,
      status: 403,
      error: "insufficient_scope",
      scopes: ["read", "list"],
    });
    expect(await auth(withToken(await issuer.token({ scope: "admin" })))).toMatchObject({
      ok: true,
      auth: { scopes: ["admin", "all", "read", "list"] },
    });
    expect(await auth(withToken(await issuer.token({ scope: undefined, scp: ["read", "list", 7] })))).toMatchObject({
      ok: true,
      auth: { scopes: ["read", "list"] },
    });
  });

  it("says of itself what clients need", async () => {
    const { auth } = await protect({ requiredScopes: ["read"], metadata: { resource_name: "Shop" }, dpop: true });
    expect({ ...auth }).toMatchObject({
      schemes: [{ scheme: "Bearer" }, { scheme: "DPoP", parameters: { algs: expect.stringContaining("ES256") } }],
      requiredScopes: ["read"],
      metadata: {
        resource: audience,
        authorization_servers: ["https://login.example"],
        scopes_supported: ["read"],
        bearer_methods_supported: ["header"],
        resource_name: "Shop",
      },
    });
    expect((await protect({ audience: "shop" })).auth.metadata).not.toHaveProperty("resource");
    expect((await protect({ dpop: { required: true } })).auth.schemes).toMatchObject([{ scheme: "DPoP" }]);
  });

  it("names principals as it is told", async () => {
    const { issuer, auth } = await protect({
      toPrincipal: ({ email }) => (typeof email === "string" ? email : undefined),
    });
    expect(await auth(withToken(await issuer.token({ email: "ann@example.com" })))).toMatchObject({
      auth: { principal: "ann@example.com" },
    });
    expect(await auth(withToken(await issuer.token()))).toMatchObject({ ok: false });
  });
});

describe("the keys of an issuer", () => {
  const metadata = "https://login.example/.well-known/oauth-authorization-server";
  const place = "https://login.example/keys";

  async function discover(documents: Record<string, unknown>) {
    const issuer = await createFakeIssuer();
    const { fetch, asked } = createFakeFetch(documents);
    let now = noon;
    const auth: Authenticator = createJwt({ issuer: issuer.issuer, audience }, { fetch, now: () => now });
    const wait = (ms: number): void => {
      now += ms;
    };
    return { issuer, asked, auth, wait };
  }

  it("are found by its metadata, and kept", async () => {
    const documents: Record<string, unknown> = { [metadata]: { issuer: "https://login.example", jwks_uri: place } };
    const { issuer, asked, auth } = await discover(documents);
    documents[place] = issuer.jwks;
    const token = await issuer.token();
    expect(await Promise.all([auth(withToken(token)), auth(withToken(token))])).toMatchObject([
      { ok: true },
      { ok: true },
    ]);
    expect(await auth(withToken(token))).toMatchObject({ ok: true });
    expect(asked).toEqual([metadata, place]);
  });

  it("are not looked for again and again because of keys that nobody has", async () => {
    const documents: Record<string, unknown> = { [metadata]: { issuer: "https://login.example", jwks_uri: place } };
    const { issuer, asked, auth } = await discover(documents);
    documents[place] = issuer.jwks;
    expect(await auth(withToken(await issuer.token()))).toMatchObject({ ok: true });
    const strange = await createFakeIssuer(issuer.issuer, "other");
    for (let count = 0; count < 5; count++) {
      expect(await auth(withToken(await strange.token()))).toMatchObject({ ok: false, status: 401 });
    }
    expect(asked.filter((url) => url === place)).toHaveLength(1);
  });

  it("can be had neither from metadata of another issuer nor from nowhere, which is no fault of the token", async () => {
    const other = await discover({ [metadata]: { issuer: "https://evil.example", jwks_uri: place } });
    const none = await discover({});
    const keyless = await discover({ [metadata]: { issuer: "https://login.example" } });
    const broken = await discover({
      [metadata]: { issuer: "https://login.example", jwks_uri: place },
      [place]: { a: 1 },
    });
    for (const { auth, issuer } of [other, none, keyless, broken]) {
      const token = await issuer.token();
      const error: McpError = await Promise.resolve(auth(withToken(token))).then(
        () => expect.unreachable(),
        (reason) => reason,
      );
      expect(String(error)).not.toContain(token);
    }
  });

  it("are not looked for because of tokens of others", async () => {
    const { asked, auth } = await discover({});
    const other = await createFakeIssuer("https://other.example");
    for (const token of [await other.token(), "abc", "a.b.c"]) {
      expect(await auth(withToken(token))).toMatchObject({ ok: false, status: 401 });
    }
    expect(asked).toEqual([]);
  });

  it("are looked for again a while after that has failed", async () => {
    const documents: Record<string, unknown> = {};
    const { issuer, asked, auth, wait } = await discover(documents);
    const token = await issuer.token();
    const ask = async () => auth(withToken(token));
    await expect(ask()).rejects.toThrow();
    const first = asked.length;
    await expect(ask()).rejects.toThrow();
    expect(asked).toHaveLength(first);
    documents[metadata] = { issuer: "https://login.example", jwks_uri: place };
    documents[place] = issuer.jwks;
    wait(5_000);
    expect(await ask()).toMatchObject({ ok: true });
  });

  it("are asked for once by all who come at the same time, and not again for a while when there are none", async () => {
    const documents: Record<string, unknown> = {
      [metadata]: { issuer: "https://login.example", jwks_uri: place },
      [place]: { a: 1 },
    };
    const { issuer, asked, auth, wait } = await discover(documents);
    const token = await issuer.token();
    const ask = async () => auth(withToken(token));
    const error = { code: "http-error", message: "https://login.example answered 200 and no keys when asked for them" };
    const failed = await Promise.allSettled(Array.from({ length: 5 }, ask));
    expect(failed.map((one) => one.status === "rejected" && one.reason)).toMatchObject(Array(5).fill(error));
    documents[place] = issuer.jwks;
    await expect(ask()).rejects.toMatchObject(error);
    expect(asked).toEqual([metadata, place]);
    wait(5_000);
    expect(await Promise.all(Array.from({ length: 5 }, ask))).toMatchObject(Array(5).fill({ ok: true }));
    expect(asked).toEqual([metadata, place, place]);
  });

  it("may be at a place that is given, of any kind with a public key", async () => {
    for (const alg of ["RS256", "PS384", "ES384", "EdDSA"]) {
      const issuer = await createFakeIssuer("https://login.example", "k", alg);
      const { fetch, asked } = createFakeFetch({ [place]: issuer.jwks });
      const auth = createJwt({ issuer: issuer.issuer, audience, jwks: new URL(place) }, { fetch, now: () => noon });
      expect(await auth(withToken(await issuer.token()))).toMatchObject({ ok: true });
      expect(asked).toEqual([place]);
    }
  });
});
