import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { createFakeFetch } from "../../../test/support/tokens.ts";
import type { SafeFetch, SafeRequest } from "../safe-fetch.ts";
import { entra, github, google, oidc } from "./presets.ts";
import type { IdentityProviderPreset } from "./provider.ts";
import { createUpstream, type SignedIn } from "./upstream.ts";

const client = { clientId: "id", clientSecret: "secret" };
const redirectUri = "https://shop.example/callback";
const sent = { state: "state", nonce: "nonce", verifier: "v".repeat(43) };
const tenant = "11111111-2222-3333-4444-555555555555";
const login = "https://login.microsoftonline.com";

const upstreamOf = (provider: IdentityProviderPreset, fetch: SafeFetch) =>
  createUpstream({ provider, redirectUri, fetch, now: Date.now });

/** A provider whose metadata is where it belongs, and whose tokens say what they are told to. */
async function providerAt(place: string, issuer: string, claims: object, more: object = {}) {
  const { privateKey, publicKey } = await generateKeyPair("RS256");
  const jwk = { ...(await exportJWK(publicKey)), kid: "1", alg: "RS256", use: "sig" };
  const seconds = Math.floor(Date.now() / 1_000);
  const payload = { aud: "id", sub: "ann", nonce: "nonce", iat: seconds, exp: seconds + 300, ...claims };
  const idToken = await new SignJWT(payload).setProtectedHeader({ alg: "RS256", kid: "1" }).sign(privateKey);
  const endpoint = `${place}/token`;
  const forms: URLSearchParams[] = [];
  const { fetch, asked } = createFakeFetch({
    [`${place}/.well-known/openid-configuration`]: {
      issuer,
      authorization_endpoint: `${place}/authorize`,
      token_endpoint: endpoint,
      jwks_uri: `${place}/keys`,
      ...more,
    },
    [`${place}/keys`]: { keys: [jwk] },
    [endpoint]: ({ body }: SafeRequest) => {
      forms.push(new URLSearchParams(String(body)));
      return { access_token: "token", token_type: "Bearer", expires_in: 60, id_token: idToken };
    },
  });
  return { fetch, asked, forms };
}

const back = new URLSearchParams({ code: "code", state: "state" });

describe("a preset", () => {
  const presets = {
    github: (options: object) => github({ ...client, ...options }),
    google: (options: object) => google({ ...client, ...options }),
    entra: (options: object) => entra({ ...client, tenant, ...options }),
    oidc: (options: object) => oidc({ ...client, issuer: "https://login.example", ...options }),
  };

  it.each(Object.entries(presets))("%s names what is undefined, and what is misspelled", (name, preset) => {
    const refusing = (options: object) => expect(() => preset(options));
    refusing({ clientId: undefined }).toThrow(`${name}: clientId is undefined`);
    refusing({ clientSecret: undefined }).toThrow(`${name}: clientSecret is undefined`);
    refusing({ clientSecret: "" }).toThrow(`${name}: clientSecret is no text`);
    refusing({ clientID: "x" }).toThrow('did you mean "clientId"?');
    expect(() => preset({ clientId: undefined })).toThrow(expect.objectContaining({ code: "invalid-definition" }));
    expect(preset({ scopes: undefined }).scopes.length).toBeGreaterThan(0);
    expect(preset({ scopes: ["one"] }).scopes).toEqual(["one"]);
  });

  it("says which tenant or issuer is missing or wrong", () => {
    expect(() => entra({ ...client, tenant: undefined })).toThrow("entra: tenant is undefined");
    expect(() => entra({ ...client, tenant: "../x" })).toThrow("entra: tenant");
    expect(() => oidc({ ...client, issuer: undefined })).toThrow("oidc: issuer is undefined");
    expect(() => oidc({ ...client, issuer: "login" })).toThrow("oidc: issuer must be a URL");
    expect(() => github({ ...client, baseUrl: "x" })).toThrow("github: baseUrl must be a URL");
  });
});

describe("users are sent", () => {
  const parametersOf = async (provider: IdentityProviderPreset, fetch: SafeFetch) => {
    const url = await upstreamOf(provider, fetch).authorizationUrl(sent);
    return { place: `${url.origin}${url.pathname}`, ...Object.fromEntries(url.searchParams) };
  };
  const common = {
    response_type: "code",
    client_id: "id",
    redirect_uri: redirectUri,
    state: "state",
    code_challenge_method: "S256",
  };

  it("to GitHub with PKCE, and without what OpenID needs", async () => {
    const parameters = await parametersOf(github(client), createFakeFetch({}).fetch);
    const place = "https://github.com/login/oauth/authorize";
    expect(parameters).toEqual({
      place,
      ...common,
      scope: "read:user",
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    });
  });

  it("to Google in the way that it gives refresh tokens", async () => {
    const place = "https://accounts.google.com";
    const { fetch } = await providerAt(place, place, {}, { scopes_supported: ["openid", "email", "profile"] });
    const wanted = {
      ...common,
      scope: "openid email profile",
      access_type: "offline",
      prompt: "consent",
      nonce: "nonce",
    };
    expect(await parametersOf(google(client), fetch)).toMatchObject(wanted);
  });

  it("to Entra for a refresh token, without asking for consent anew", async () => {
    const issuer = `${login}/${tenant}/v2.0`;
    const { fetch } = await providerAt(issuer, issuer, {}, { scopes_supported: ["openid", "offline_access"] });
    const parameters = await parametersOf(entra({ ...client, tenant }), fetch);
    expect(parameters).toMatchObject({ scope: "openid email profile offline_access" });
    expect(parameters).not.toHaveProperty("prompt");
  });

  it("to any other provider for a refresh token, where it lists the scope, with parameters of its own", async () => {
    const issuer = "https://login.example";
    const provider = oidc({ ...client, issuer, parameters: { audience: "api", state: "mine" } });
    const { fetch } = await providerAt(issuer, issuer, {}, { scopes_supported: ["offline_access"] });
    expect(await parametersOf(provider, fetch)).toMatchObject({ ...common, prompt: "consent", audience: "api" });
    const other = await providerAt(issuer, issuer, {});
    expect(await parametersOf(provider, other.fetch)).not.toHaveProperty("prompt");
  });
});

describe("users who come back", () => {
  const signIn = async (provider: IdentityProviderPreset, fetch: SafeFetch): Promise<SignedIn> =>
    upstreamOf(provider, fetch).signedIn(back, sent);

  it("are told apart by the issuer, without claims that are about the token", async () => {
    const issuer = "https://login.example";
    const { fetch, forms } = await providerAt(issuer, issuer, { iss: issuer, email: "ann@example.com", sid: "1" });
    expect(await signIn(oidc({ ...client, issuer }), fetch)).toEqual({
      principal: `${issuer}#ann`,
      claims: { iss: issuer, sub: "ann", email: "ann@example.com" },
      tokens: { accessToken: "token", expires: expect.any(Number) },
    });
    expect(Object.fromEntries(forms[0] ?? [])).toMatchObject({
      code: "code",
      redirect_uri: redirectUri,
      code_verifier: sent.verifier,
    });
  });

  it.each([
    ["of another issuer", { iss: "https://evil.example" }],
    ["for another client", { iss: "https://login.example", aud: "other" }],
    ["with another nonce", { iss: "https://login.example", nonce: "other" }],
    ["that has ended", { iss: "https://login.example", exp: 1 }],
  ])("are refused with an ID token %s", async (_, claims) => {
    const issuer = "https://login.example";
    const { fetch } = await providerAt(issuer, issuer, claims);
    await expect(signIn(oidc({ ...client, issuer }), fetch)).rejects.toMatchObject({ code: "invalid-response" });
  });

  it("are refused with an ID token that somebody else has signed", async () => {
    const issuer = "https://login.example";
    const [good, evil] = [
      await providerAt(issuer, issuer, { iss: issuer }),
      await providerAt(issuer, issuer, { iss: issuer }),
    ];
    const fetch: SafeFetch = (url, request) => (String(url).endsWith("/keys") ? evil : good).fetch(url, request);
    await expect(signIn(oidc({ ...client, issuer }), fetch)).rejects.toMatchObject({ code: "invalid-response" });
  });

  it.each(["organizations", "contoso.example"])(
    "of Entra (%s) are of the tenant that their token names",
    async (name) => {
      const place = `${login}/${name}/v2.0`;
      const stated = name === "organizations" ? `${login}/{tenantid}/v2.0` : `${login}/${tenant}/v2.0`;
      const issuer = `${login}/${tenant}/v2.0`;
      const claims = { iss: issuer, tid: tenant, email: "ann@contoso.example" };
      const { fetch } = await providerAt(place, stated, claims);
      const provider = entra({ ...client, tenant: name });
      expect((await signIn(provider, fetch)).principal).toBe(`${issuer}#ann`);
      const lying = await providerAt(place, stated, {
        ...claims,
        iss: `${login}/99999999-2222-3333-4444-555555555555/v2.0`,
      });
      await expect(signIn(provider, lying.fetch)).rejects.toMatchObject({ code: "invalid-response" });
      const other = await providerAt(place, "https://evil.example/v2.0", claims);
      await expect(signIn(provider, other.fetch)).rejects.toThrow("Microsoft has metadata of another issuer");
    },
  );

  it("of GitHub are known by a number, and nobody is known without", async () => {
    const token = "https://github.com/login/oauth/access_token";
    const answer = { access_token: "token", token_type: "bearer", scope: "read:user" };
    const user = { id: 583_231, login: "octocat", name: null, avatar_url: "https://github.com/octocat.png" };
    const { fetch } = createFakeFetch({ [token]: answer, "https://api.github.com/user": user });
    expect(await signIn(github(client), fetch)).toMatchObject({
      principal: "https://github.com#583231",
      claims: { sub: "583231", login: "octocat", picture: "https://github.com/octocat.png" },
    });
    const nobody = createFakeFetch({ [token]: answer, "https://api.github.com/user": { login: "octocat" } });
    await expect(signIn(github(client), nobody.fetch)).rejects.toThrow("GitHub does not say who signed in");
  });

  it("are not known without a code, with another state, or when they did not want to", async () => {
    const upstream = upstreamOf(github(client), createFakeFetch({}).fetch);
    const come = (parameters: Record<string, string>) => upstream.signedIn(new URLSearchParams(parameters), sent);
    await expect(come({ state: "state" })).rejects.toMatchObject({ code: "invalid-response" });
    await expect(come({ code: "code", state: "other" })).rejects.toMatchObject({ code: "invalid-response" });
    await expect(come({ error: "access_denied", state: "state" })).rejects.toMatchObject({ code: "declined" });
    await expect(come({ error: "x secret", state: "state" })).rejects.toThrow(
      "GitHub answered with what cannot be used",
    );
  });
});
