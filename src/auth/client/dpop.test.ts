import { calculateJwkThumbprint, decodeProtectedHeader, EmbeddedJWK, type JWK, jwtVerify } from "jose";
import { describe, expect, it } from "vitest";
import { challenge, createWorld, refusal, request } from "../../../test/support/auth-world.ts";
import { memoryTokens, oauth } from "./index.ts";

const bound = (number: number) => ({
  access_token: `d${number}`,
  token_type: "DPoP",
  expires_in: 3600,
  refresh_token: `r${number}`,
});

/** What a proof says, after its signature was checked. */
async function proven(proof: string | undefined) {
  const { payload, protectedHeader } = await jwtVerify(String(proof), EmbeddedJWK, { typ: "dpop+jwt" });
  return { ...payload, thumbprint: await calculateJwkThumbprint(protectedHeader.jwk as JWK) };
}

function signingIn(answers: readonly (object | undefined)[], tokens = memoryTokens()) {
  const world = createWorld({ tokens: answers });
  const { fetch, authorize, redirectUri } = world;
  return { world, auth: oauth({ fetch, authorize, redirectUri, tokens, dpop: true, now: () => 1e12 }) };
}

const taking = (token: string) => (headers: Readonly<Record<string, string>>) =>
  headers.authorization === `DPoP ${token}` ? undefined : challenge("DPoP");

describe("a token that is bound to a key", () => {
  it("is shown with a new proof for every request", async () => {
    const { world, auth } = signingIn([bound(1)]);
    const first = await request(auth, world.server, taking("d1"));
    const second = await request(auth, world.server, taking("d1"));
    const [a, b] = [await proven(first.dpop), await proven(second.dpop)];
    expect(a).toMatchObject({
      htm: "POST",
      htu: "https://mcp.example/mcp",
      iat: 1e9,
      ath: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(a.jti).not.toBe(b.jti);
    expect(a.thumbprint).toBe(b.thumbprint);
    expect(decodeProtectedHeader(String(first.dpop)).jwk).not.toHaveProperty("d");
    const atIssuer = await proven(world.to("/token")[0]?.headers.dpop);
    expect(atIssuer).toMatchObject({ htu: "https://as.example/token", thumbprint: a.thumbprint });
    expect(world.visited[0]?.searchParams.get("dpop_jkt")).toBe(a.thumbprint);
  });

  it("keeps its key where it is kept, also through a refresh", async () => {
    const tokens = memoryTokens();
    const first = signingIn([bound(1)], tokens);
    const { dpop } = await request(first.auth, first.world.server, taking("d1"));
    const second = signingIn([bound(2)], tokens);
    const after = await request(second.auth, second.world.server, taking("d2"));
    expect(second.world.visited).toEqual([]);
    expect((await proven(after.dpop)).thumbprint).toBe((await proven(dpop)).thumbprint);
  });

  it("is shown with the nonce that the server wants, once it has said so", async () => {
    const { world, auth } = signingIn([bound(1)]);
    await request(auth, world.server, taking("d1"));
    const wants = refusal(401, { "www-authenticate": 'DPoP error="use_dpop_nonce"', "dpop-nonce": "n1" });
    const shown: unknown[] = [];
    const headers = await request(auth, world.server, ({ dpop }, attempt) => {
      shown.push(dpop);
      return attempt === 1 ? wants : undefined;
    });
    expect(await proven(headers.dpop)).toMatchObject({ nonce: "n1" });
    expect(await proven(String(shown[0]))).not.toHaveProperty("nonce");
    expect(world.to("/token")).toHaveLength(1);
  });

  it("is asked for with the nonce that the issuer wants, once it has said so", async () => {
    const again = Response.json({ error: "use_dpop_nonce" }, { status: 400, headers: { "dpop-nonce": "n9" } });
    const { world, auth } = signingIn([again, bound(1)]);
    await request(auth, world.server, taking("d1"));
    expect(await proven(world.to("/token")[1]?.headers.dpop)).toMatchObject({ nonce: "n9" });
    const never = signingIn([again, again]);
    await expect(request(never.auth, never.world.server, taking("d1"))).rejects.toMatchObject({ code: "unauthorized" });
  });

  it("is no token that anybody can use", async () => {
    const { world, auth } = signingIn([{ access_token: "b1", token_type: "Bearer" }]);
    await expect(request(auth, world.server, taking("b1"))).rejects.toMatchObject({
      code: "unauthorized",
      data: { reason: "dpop-unsupported" },
    });
  });
});
