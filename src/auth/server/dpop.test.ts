import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { recordSecret } from "../../../test/support/secrets.ts";
import { audience, createFakeIssuer, httpWith, noon } from "../../../test/support/tokens.ts";
import { digestText } from "../../std/digest.ts";
import { openStore } from "../../store/open-store.ts";
import { createJwt, type JwtOptions } from "./jwt.ts";
import { createUsedProofs } from "./proofs.ts";

type Changes = Readonly<Record<string, unknown>>;

async function createKey(alg = "ES256") {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  recordSecret("private key", (await exportJWK(privateKey)).d);
  const jwk = await exportJWK(publicKey);
  const jkt = await calculateJwkThumbprint(jwk);
  let count = 0;
  return {
    jkt,
    secret: await exportJWK(privateKey),
    async prove(token: string, claims: Changes = {}, header: Changes = {}): Promise<string> {
      const good = {
        jti: `proof-${count++}`,
        htm: "POST",
        htu: audience,
        iat: noon / 1_000,
        ath: await digestText(token),
      };
      return new SignJWT({ ...good, ...claims } as JWTPayload)
        .setProtectedHeader({ alg, typ: "dpop+jwt", jwk, ...header } as { alg: string })
        .sign(privateKey);
    },
  };
}

async function protect(options: Partial<JwtOptions> = {}, now = () => noon) {
  const issuer = await createFakeIssuer();
  const key = await createKey();
  const fetch = () => Promise.reject(new Error("nothing may be asked"));
  const auth = createJwt({ issuer: issuer.issuer, audience, jwks: issuer.jwks, ...options }, { fetch, now });
  const token = await issuer.token({ cnf: { jkt: key.jkt } });
  const send = async (dpop: string | undefined, scheme = "DPoP", access = token) =>
    auth(httpWith({ authorization: `${scheme} ${access}`, ...(dpop !== undefined && { dpop }) }));
  return { issuer, key, auth, token, send };
}

const refused = (description: string, error = "invalid_dpop_proof") => ({
  ok: false,
  status: 401,
  error,
  description,
  scheme: "DPoP",
});

describe("a token that is bound to a key", () => {
  it("is taken with a proof", async () => {
    const { key, token, send } = await protect();
    expect(await send(await key.prove(token))).toMatchObject({
      ok: true,
      auth: { principal: "https://login.example#ann" },
    });
    expect(await send(await key.prove(token, { htu: `${audience}?a=1#b` }), "dpop")).toMatchObject({ ok: true });
  });

  it("is of no use as a bearer token, nor without a proof", async () => {
    const { key, token, send } = await protect();
    expect(await send(undefined)).toEqual(refused("the proof is missing"));
    expect(await send(await key.prove(token), "Bearer")).toEqual(
      refused("the token is bound to a key; send it as DPoP, with a proof", "invalid_token"),
    );
  });

  it.each<[string, Changes, string]>([
    ["another method", { htm: "GET" }, "the proof is for another request"],
    ["another path", { htu: "https://shop.example/other" }, "the proof is for another request"],
    ["another host", { htu: "https://evil.example/mcp" }, "the proof is for another request"],
    ["no URL", { htu: "shop" }, "the proof is for another request"],
    ["another token", { ath: "AAAA" }, "the proof is for another token"],
    ["no token", { ath: undefined }, "the proof is malformed or wrongly signed"],
    ["no name", { jti: undefined }, "the proof is malformed or wrongly signed"],
    ["an empty name", { jti: "" }, "the proof has no name"],
    ["no time", { iat: undefined }, "the proof is malformed or wrongly signed"],
    ["a time long ago", { iat: noon / 1_000 - 61 }, "the proof is not of now"],
    ["a time to come", { iat: noon / 1_000 + 61 }, "the proof is not of now"],
  ])("is refused with a proof for %s", async (_, claims, description) => {
    const { key, token, send } = await protect();
    expect(await send(await key.prove(token, claims))).toEqual(refused(description));
  });

  it("is refused with a proof that is none", async () => {
    const { key, token, send } = await protect();
    const other = await createKey();
    const proof = await key.prove(token);
    for (const bad of [
      "abc",
      `${proof}, ${await key.prove(token)}`,
      await key.prove(token, {}, { typ: "JWT" }),
      await key.prove(token, {}, { jwk: undefined }),
      await key.prove(token, {}, { jwk: key.secret }),
      await key.prove(token, {}, { jwk: { kty: "EC", crv: "P-256", x: "AA", y: "AA" } }),
      `${proof.slice(0, -4)}AAAA`,
    ]) {
      expect(await send(bad)).toEqual(refused("the proof is malformed or wrongly signed"));
    }
    expect(await send(await other.prove(token))).toEqual(refused("the proof is of another key"));
  });

  it("is refused with a proof that was used, for as long as it could be used", async () => {
    let now = noon;
    const { key, token, send } = await protect({}, () => now);
    const proof = await key.prove(token, { iat: noon / 1_000 + 60 });
    expect(await send(proof)).toMatchObject({ ok: true });
    expect(await send(proof)).toEqual(refused("the proof was used before"));
    now += 119_000;
    expect(await send(proof)).toEqual(refused("the proof was used before"));
    now += 2_000;
    expect(await send(proof)).toEqual(refused("the proof is not of now"));
  });

  it("is refused with a proof that another process has seen, when they share a store", async () => {
    await using store = await openStore("memory:");
    const one = await protect({ dpop: { store } });
    const two = createJwt(
      { issuer: one.issuer.issuer, audience, jwks: one.issuer.jwks, dpop: { store: Promise.resolve(store) } },
      { fetch: () => Promise.reject(new Error()), now: () => noon },
    );
    const dpop = await one.key.prove(one.token);
    const http = httpWith({ authorization: `DPoP ${one.token}`, dpop });
    expect(await one.auth(http)).toMatchObject({ ok: true });
    expect(await two(http)).toEqual(refused("the proof was used before"));
  });

  it("needs a nonce where that is wanted, and is told which", async () => {
    let now = noon;
    const { key, token, send } = await protect({ dpop: { nonce: true } }, () => now);
    const asked = await send(await key.prove(token));
    expect(asked).toMatchObject(refused("the proof needs the nonce of this server", "use_dpop_nonce"));
    const nonce = "headers" in asked ? asked.headers?.["dpop-nonce"] : undefined;
    expect(nonce).toMatch(/^[\w-]{20,}$/);
    expect(await send(await key.prove(token, { nonce }))).toMatchObject({ ok: true });
    expect(await send(await key.prove(token, { nonce: "guessed" }))).toMatchObject({ error: "use_dpop_nonce" });
    now += 300_000;
    const late = await key.prove(token, { nonce, iat: now / 1_000 });
    expect(await send(late)).toMatchObject({ error: "use_dpop_nonce" });
  });

  it("may be one with a nonce of another process that has the same secret", async () => {
    const options = { dpop: { nonce: "a secret of all processes" } };
    const [one, two] = [await protect(options), await protect(options)];
    const asked = await one.send(await one.key.prove(one.token));
    const nonce = "headers" in asked ? asked.headers?.["dpop-nonce"] : undefined;
    expect(await two.send(await two.key.prove(two.token, { nonce }))).toMatchObject({ ok: true });
  });

  it("is refused when it is bound in another way", async () => {
    const { issuer, send } = await protect();
    const token = await issuer.token({ cnf: { "x5t#S256": "abc" } });
    expect(await send(undefined, "Bearer", token)).toMatchObject({ ok: false, error: "invalid_token" });
  });
});

describe("a token that is bound to no key", () => {
  it("is a bearer token, and nothing else", async () => {
    const { issuer, key, send } = await protect();
    const token = await issuer.token();
    expect(await send(undefined, "Bearer", token)).toMatchObject({ ok: true });
    expect(await send(await key.prove(token), "DPoP", token)).toMatchObject({ ok: false, error: "invalid_token" });
  });

  it("is refused where a key is required", async () => {
    const { issuer, send } = await protect({ dpop: { required: true } });
    expect(await send(undefined, "Bearer", await issuer.token())).toEqual(
      refused("the token must be bound to a key", "invalid_token"),
    );
  });
});

describe("proofs that were used", () => {
  it("of one principal cannot push out another's, with however many keys: the cache is full for that one only (H12)", async () => {
    let now = 0;
    const { claim } = createUsedProofs({ store: undefined, maxProofs: 8, now: () => now });
    const limit = { reason: "limit-reached", limit: "a quarter of dpop.maxProofs", max: 2, scope: "principal" };
    expect([await claim("ann", "a", 10_000), await claim("eve", "e1", 10_000)]).toEqual([true, true]);
    expect(await claim("eve", "e2", 20_000)).toBe(true);
    await expect(claim("eve", "e3", 10_000)).rejects.toMatchObject({
      code: "limit-reached",
      data: { ...limit, retryAfterMs: expect.any(Number) },
    });
    expect([await claim("eve", "e1", 10_000), await claim("ann", "a", 10_000)]).toEqual([false, false]);
    expect(await claim("ann", "b", 10_000)).toBe(true);
    now = 10_000;
    expect([await claim("eve", "e3", 10_000), await claim("eve", "e2", 10_000)]).toEqual([true, false]);
    now = 10_000_000;
    expect([await claim("eve", "e2", 10_000), await claim("eve", "e1", 10_000)]).toEqual([true, true]);
  });

  it("are kept within bounds: none is taken that could not be remembered", async () => {
    let now = 0;
    const { claim } = createUsedProofs({ store: undefined, maxProofs: 4, now: () => now });
    for (const name of ["a", "b", "c", "d"]) expect(await claim(name, name, 10_000)).toBe(true);
    await expect(claim("e", "e", 10_000)).rejects.toMatchObject({
      code: "limit-reached",
      message: "too many DPoP proofs are remembered: dpop.maxProofs is 4; retry in 10 s",
      data: { scope: "process", max: 4, retryAfterMs: 10_000 },
    });
    expect(await claim("a", "a", 10_000)).toBe(false);
    now = 10_000;
    expect([await claim("e", "e", 10_000), await claim("a", "a", 10_000)]).toEqual([true, true]);
  });

  it("are kept in memory as in a store: the same claims get the same answers", async () => {
    await using store = await openStore("memory:");
    const claims = [undefined, store].map((kept) => createUsedProofs({ store: kept, maxProofs: 100, now: () => noon }));
    const answers = claims.map(async ({ claim }) => {
      const first = await Promise.all([
        claim("ann", "a", 10_000),
        claim("ann", "a", 10_000),
        claim("eve", "a", 10_000),
      ]);
      return [...first, await claim("ann", "b", 10_000)];
    });
    expect(await Promise.all(answers)).toEqual([
      [true, false, false, true],
      [true, false, false, true],
    ]);
  });

  it("that are too many are limit-reached in an authenticator, not an error of a store", async () => {
    const { key, token, send } = await protect({ dpop: { maxProofs: 4 } });
    expect(await send(await key.prove(token))).toMatchObject({ ok: true });
    await expect(key.prove(token).then((proof) => send(proof))).rejects.toMatchObject({
      name: "McpError",
      code: "limit-reached",
      data: { scope: "principal", retryAfterMs: 10_000 },
    });
    await expect(protect({ dpop: { maxProofs: 3 } })).rejects.toThrow(/dpop.maxProofs must be a whole number/);
  });
});
