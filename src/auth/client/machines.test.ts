import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { jwtVerify, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import {
  challenge,
  createWorld,
  metadataOf,
  request,
  takes,
  takesOr,
  type WorldOptions,
} from "../../../test/support/auth-world.ts";
import { recordSecret } from "../../../test/support/secrets.ts";
import { clientCredentials, enterpriseManaged, jwtBearer, tokenExchange } from "./index.ts";

const resource = "https://mcp.example/mcp";
const issuer = "https://as.example";
const failing = (reason: string) => ({ code: "unauthorized", data: expect.objectContaining({ reason }) });
const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
for (const line of pem.split("\n").slice(1, -2)) recordSecret("private key", line);

const expiring = (exp: number): Promise<string> =>
  new SignJWT({ exp }).setProtectedHeader({ alg: "ES256" }).sign(privateKey);

describe("C132: client credentials", () => {
  it("get a token before the first request, and another one when it is refused", async () => {
    const { fetch, server, heard, to } = createWorld();
    const auth = clientCredentials({ fetch, issuer, clientId: "a", clientSecret: "s", scopes: ["x"] });
    const attempts: unknown[] = [];
    await request(auth, server, (headers, attempt) => {
      attempts.push(headers.authorization);
      return attempt === 1 ? challenge("Bearer") : undefined;
    });
    expect(attempts).toEqual(["Bearer t1", "Bearer t2"]);
    expect(to("/token").map(({ fields }) => fields)).toEqual([
      { grant_type: "client_credentials", resource, scope: "x" },
      { grant_type: "client_credentials", resource, scope: "x" },
    ]);
    expect(heard.every(({ url }) => url.pathname !== "/register")).toBe(true);
  });

  it("are a key: the assertion is for the issuer, and there is no secret", async () => {
    const { fetch, server, to } = createWorld();
    const auth = clientCredentials({
      fetch,
      issuer,
      clientId: "a",
      privateKey: { pem, algorithm: "ES256", keyId: "k1" },
    });
    await request(auth, server, takes("t1"));
    const [sent] = to("/token");
    expect(sent?.headers).not.toHaveProperty("authorization");
    const { payload, protectedHeader } = await jwtVerify(
      String(sent?.fields.client_assertion),
      createPublicKey(publicKey.export({ type: "spki", format: "pem" })),
      { audience: "https://as.example" },
    );
    expect(payload).toMatchObject({ iss: "a", sub: "a", aud: "https://as.example", jti: expect.any(String) });
    expect(protectedHeader).toMatchObject({ alg: "ES256", kid: "k1" });
  });

  it("are a secret or a key, and one that can be read", async () => {
    for (const options of [
      { issuer, clientId: "a" },
      { issuer, clientId: "a", clientSecret: "s", privateKey: { pem, algorithm: "ES256" } },
    ]) {
      expect(() => clientCredentials(options)).toThrow(expect.objectContaining({ code: "invalid-params" }));
    }
    const { fetch, server } = createWorld();
    const auth = clientCredentials({ fetch, issuer, clientId: "a", privateKey: { pem: "SECRET", algorithm: "ES256" } });
    const failure = await request(auth, server, takes("t1")).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "invalid-params" });
    expect(String(failure)).not.toContain("SECRET");
    expect(failure).not.toHaveProperty("cause");
  });

  it("wait for the server to say where to go, when nothing is published", async () => {
    const documents = {
      "https://mcp.example/.well-known/oauth-protected-resource/mcp": undefined,
      "https://mcp.example/meta.json": { resource, authorization_servers: ["https://as.example"] },
    };
    const { fetch, server, to } = createWorld({ documents });
    const auth = clientCredentials({ fetch, issuer, clientId: "a", clientSecret: "s" });
    await request(auth, server, takesOr(challenge('Bearer resource_metadata="https://mcp.example/meta.json"'), "t1"));
    expect(to("/token")).toHaveLength(1);
  });

  it("are not shown to a server that says nothing of itself", async () => {
    const documents = { "https://mcp.example/.well-known/oauth-protected-resource/mcp": undefined };
    const { fetch, server, to } = createWorld({ documents });
    const auth = clientCredentials({ fetch, issuer, clientId: "a", clientSecret: "s" });
    await expect(request(auth, server, takes("t1"))).rejects.toMatchObject(failing("no-authorization-server"));
    expect(to("/token")).toEqual([]);
  });

  it("fail with what the issuer says", async () => {
    const { fetch, server } = createWorld({
      tokens: [Response.json({ error: "invalid_client" }, { status: 401, headers: { "www-authenticate": "Basic" } })],
    });
    const auth = clientCredentials({ fetch, issuer, clientId: "a", clientSecret: "s" });
    await expect(request(auth, server, takes("t1"))).rejects.toMatchObject({
      ...failing("token-refused"),
      message: "https://as.example refuses: invalid_client",
    });
  });

  it("may be widened", async () => {
    const { fetch, server, to } = createWorld();
    const auth = clientCredentials({ fetch, issuer, clientId: "a", clientSecret: "s", scopes: ["x"] });
    await request(auth, server, takesOr(challenge('Bearer error="insufficient_scope", scope="y"', 403), "t2"));
    expect(to("/token").map(({ fields }) => fields.scope)).toEqual(["x", "x y"]);
  });
});

describe("a workload", () => {
  it("shows one assertion, in one request, and nothing else", async () => {
    const { fetch, server, to } = createWorld();
    const auth = jwtBearer({ fetch, issuer, assertion: (to) => `${to.issuer}|${to.resource}`, clientId: "w" });
    await request(auth, server, takes("t1"));
    expect(to("/token").map(({ fields, headers }) => [fields, headers.authorization])).toEqual([
      [
        {
          grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
          assertion: `https://as.example|${resource}`,
          client_id: "w",
          resource,
        },
        undefined,
      ],
    ]);
  });

  it("does not try again what was refused", async () => {
    const { fetch, server, heard, to } = createWorld({
      tokens: [Response.json({ error: "invalid_grant", error_description: "bad a.b.c" }, { status: 400 })],
    });
    const auth = jwtBearer({ fetch, issuer, assertion: "a.b.c" });
    const failure = await request(auth, server, takes("t1")).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      ...failing("token-refused"),
      message: "https://as.example refuses: invalid_grant",
    });
    expect(to("/token").map(({ fields }) => fields)).toEqual([
      { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion: "a.b.c", resource },
    ]);
    expect(heard).toHaveLength(3);
  });
});

describe("RFC 8693: the token of a user", () => {
  it("is exchanged", async () => {
    const { fetch, server, to } = createWorld();
    const auth = tokenExchange({
      fetch,
      issuer,
      clientId: "a",
      clientSecret: "s",
      subjectToken: async () => "u1",
      audience: "x",
    });
    await request(auth, server, takes("t1"));
    expect(to("/token")[0]?.fields).toEqual({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: "u1",
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
      requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
      resource,
      audience: "x",
    });
  });

  it("has expired: it says so itself, or the issuer does", async () => {
    const { fetch, server, to } = createWorld({ tokens: [Response.json({ error: "invalid_grant" }, { status: 400 })] });
    const common = { fetch, issuer, clientId: "a", now: () => 2_000_000 };
    const expired = tokenExchange({ ...common, subjectToken: await expiring(2_000) });
    await expect(request(expired, server, takes("t1"))).rejects.toMatchObject(failing("subject-token-expired"));
    expect(to("/token")).toEqual([]);
    const refused = tokenExchange({ ...common, subjectToken: await expiring(2_001) });
    await expect(request(refused, server, takes("t1"))).rejects.toMatchObject(failing("subject-token-expired"));
  });
});

describe("C133: a user of a company", () => {
  const idp = "https://idp.example";
  const idJag = "urn:ietf:params:oauth:token-type:id-jag";
  const company = (answer: object): WorldOptions => ({
    documents: {
      [`${idp}/.well-known/oauth-authorization-server`]: metadataOf(idp, { token_endpoint: `${idp}/exchange` }),
      [`${idp}/exchange`]: answer,
    },
  });
  const issued = { issued_token_type: idJag, access_token: "jag", token_type: "N_A" };
  const signedIn = {
    issuer,
    identityProvider: { issuer: idp, clientId: "i" },
    clientId: "a-b",
    clientSecret: "s",
    subjectToken: "id",
  };

  it("gets a token in two steps, and again when it is refused", async () => {
    const { fetch, server, to } = createWorld(company(issued));
    await request(enterpriseManaged({ ...signedIn, fetch, scopes: ["x"] }), server, takes("t2"));
    expect(to("/exchange")).toHaveLength(2);
    expect(to("/exchange")[0]?.fields).toEqual({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      requested_token_type: idJag,
      audience: "https://as.example",
      resource,
      scope: "x",
      subject_token: "id",
      subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
      client_id: "i",
    });
    expect(to("/token")[0]).toMatchObject({
      fields: { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion: "jag", resource, scope: "x" },
      headers: { authorization: `Basic ${btoa("a-b:s")}` },
    });
  });

  it("is to sign in again when the company says so", async () => {
    const { fetch, server, to } = createWorld(company(Response.json({ error: "invalid_grant" }, { status: 400 })));
    await expect(request(enterpriseManaged({ ...signedIn, fetch }), server, takes("t1"))).rejects.toMatchObject(
      failing("subject-token-expired"),
    );
    expect(to("/token")).toEqual([]);
  });

  it("is not taken with anything but the assertion", async () => {
    const { fetch, server, to } = createWorld(
      company({ ...issued, issued_token_type: "urn:ietf:params:oauth:token-type:access_token" }),
    );
    await expect(request(enterpriseManaged({ ...signedIn, fetch }), server, takes("t1"))).rejects.toMatchObject({
      code: "invalid-response",
    });
    expect(to("/token")).toEqual([]);
  });
});

describe("without an issuer", () => {
  const idp = { issuer: "https://idp.example", clientId: "i" };
  const subjectToken = "u1";

  it.each<[name: string, make: () => unknown]>([
    // @ts-expect-error: `issuer` is missing.
    ["clientCredentials", () => clientCredentials({ clientId: "a", clientSecret: "s" })],
    // @ts-expect-error: `issuer` is missing.
    ["clientCredentials", () => clientCredentials({ clientId: "a", privateKey: { pem, algorithm: "ES256" } })],
    // @ts-expect-error: `issuer` is missing.
    ["tokenExchange", () => tokenExchange({ clientId: "a", subjectToken })],
    // @ts-expect-error: `issuer` is missing.
    ["jwtBearer", () => jwtBearer({ assertion: "a.b.c" })],
    // @ts-expect-error: `issuer` is missing.
    ["enterpriseManaged", () => enterpriseManaged({ identityProvider: idp, subjectToken, clientId: "a" })],
  ])("%s is refused, and says which option is missing (S1)", (name, make) => {
    const message = expect.stringContaining(`issuer of ${name} is needed`);
    expect(make).toThrow(expect.objectContaining({ code: "invalid-params", message }));
  });

  it("which is not a URL, credentials are refused too (S1)", () => {
    const make = () => clientCredentials({ issuer: "as", clientId: "a", clientSecret: "s" });
    expect(make).toThrow("issuer of clientCredentials is not a URL");
  });
});
