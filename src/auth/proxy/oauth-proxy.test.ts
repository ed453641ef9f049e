import { describe, expect, it } from "vitest";
import type { AuthRoute } from "../../protocol/authenticator.ts";
import { createServer, tool } from "../../server/index.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { StoreError } from "../../store/store.ts";
import { toFetchHandler } from "../../transport/http/fetch-handler.ts";
import { github, oauthProxy } from "./index.ts";

const key = "kE7pQz2VtX9aLw4RbN6yHs1DfGj3McUo8TiZxPqAe0S";
const provider = github({ clientId: "id", clientSecret: "secret" });
const resource = "https://shop.example/mcp";
const redirect_uris = ["https://app.example/callback"];
const challenge = "c".repeat(43);

const shop = createServer({ name: "shop", version: "1", tools: { hello: tool({ run: () => "hello" }) } });
const handler = toFetchHandler(shop, {
  allowedHosts: ["shop.example"],
  auth: oauthProxy({ provider, resource, keys: [key], scopes: ["read"] }),
});

const at = (path: string): string => `https://shop.example${path}`;
const get = (path: string, headers: Record<string, string> = {}) => handler(new Request(at(path), { headers }));
const post = (path: string, body: string, headers: Record<string, string> = {}) =>
  handler(new Request(at(path), { method: "POST", body, headers }));
const json = { "content-type": "application/json" };
const form = { "content-type": "application/x-www-form-urlencoded" };

async function authorizePath(): Promise<string> {
  const { client_id } = await (
    await post("/register", JSON.stringify({ redirect_uris, client_name: "App" }), json)
  ).json();
  const parameters = {
    response_type: "code",
    client_id,
    redirect_uri: String(redirect_uris),
    code_challenge: challenge,
  };
  return `/authorize?${new URLSearchParams({ ...parameters, code_challenge_method: "S256" })}`;
}

describe("options of oauthProxy", () => {
  const make = (options: object) => () => oauthProxy({ provider, resource, keys: [key], ...options });

  it.each([
    [{ resource: undefined }, "oauthProxy: resource is undefined"],
    [{ resource: "http://shop.example/mcp" }, "oauthProxy: resource must be the https URL"],
    [{ resource: "https://shop.example/mcp#x" }, "oauthProxy: resource must be"],
    [{ keys: [undefined] }, "oauthProxy: keys[0] is undefined"],
    [{ keys: [key, undefined] }, "oauthProxy: keys[1] is undefined"],
    [{ keys: [] }, "oauthProxy: keys needs a key"],
    [{ keys: ["password"] }, "oauthProxy: keys[0] must be 32 random bytes or more"],
    [{ provider: undefined }, "oauthProxy: provider is needed"],
    [{ scopes: ["a b"] }, "oauthProxy scopes"],
    [{ tokenTtlMs: -1 }, "oauthProxy: tokenTtlMs must be"],
    [{ codeTtlMs: Number.NaN }, "oauthProxy: codeTtlMs must be"],
    [{ allowedRedirectUris: ["javascript:alert(1)"] }, "oauthProxy: allowedRedirectUris"],
    [{ scope: "read" }, 'did you mean "scopes"?'],
  ])("that are wrong are named: %j", (options, message) => {
    expect(make(options)).toThrow(message);
    expect(make(options)).toThrow(expect.objectContaining({ code: "invalid-definition" }));
  });

  it("that are undefined are as good as none (T4)", () => {
    const names = [
      "store",
      "scopes",
      "consentPage",
      "tokenTtlMs",
      "codeTtlMs",
      "allowedRedirectUris",
      "onSignIn",
      "claims",
    ];
    const none = Object.fromEntries([...names, "limits", "allowPrivateNetwork"].map((name) => [name, undefined]));
    expect(make(none)().metadata).toMatchObject({ resource, authorization_servers: ["https://shop.example"] });
    const limits = { maxRegistrations: undefined, maxSignIns: undefined };
    expect(make({ limits })).not.toThrow();
  });
});

describe("a server behind a proxy", () => {
  it("says where to sign in, and how", async () => {
    const refused = await post("/mcp", "{}", json);
    expect(refused.status).toBe(401);
    const metadata = at("/.well-known/oauth-protected-resource/mcp");
    expect(refused.headers.get("www-authenticate")).toBe(`Bearer resource_metadata="${metadata}"`);
    expect(await (await get("/.well-known/oauth-protected-resource/mcp")).json()).toMatchObject({
      resource,
      authorization_servers: ["https://shop.example"],
      scopes_supported: ["read"],
    });
    for (const path of ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]) {
      const response = await get(path);
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      expect(await response.json()).toMatchObject({
        issuer: "https://shop.example",
        authorization_endpoint: at("/authorize"),
        token_endpoint: at("/token"),
        registration_endpoint: at("/register"),
        revocation_endpoint: at("/revoke"),
        code_challenge_methods_supported: ["S256"],
        client_id_metadata_document_supported: true,
        authorization_response_iss_parameter_supported: true,
        scopes_supported: ["read"],
      });
    }
  });

  it("keeps browsers apart by a cookie that no other host can set, and no script can read (Q2)", async () => {
    const page = await get(await authorizePath());
    expect(page.status).toBe(200);
    expect(page.headers.get("set-cookie")).toMatch(
      /^__Host-plugbay-browser=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=2592000; Secure$/,
    );
  });

  it("takes a form that a framework has read before", async () => {
    const parsed = JSON.stringify({ grant_type: "refresh_token", client_id: "x" });
    expect(await (await post("/token", parsed, form)).json()).toMatchObject({ error: "invalid_client" });
    expect(await (await post("/token", '{"grant_type":["a","b"]}', form)).json()).toMatchObject({
      error: "invalid_request",
    });
  });

  it.each([
    ["/token", "grant_type=refresh_token&grant_type=authorization_code", form, 400, "invalid_request"],
    ["/token", "{}", json, 400, "invalid_request"],
    ["/token", "grant_type=password", form, 400, "unsupported_grant_type"],
    ["/token", "grant_type=__proto__", form, 400, "unsupported_grant_type"],
    ["/token", "grant_type=refresh_token", form, 400, "invalid_request"],
    ["/token", "grant_type=refresh_token&client_id=nobody", form, 401, "invalid_client"],
    ["/register", "[]", json, 400, "invalid_client_metadata"],
    ["/register", "{}", json, 400, "invalid_redirect_uri"],
    ["/register", JSON.stringify({ redirect_uris, grant_types: ["password"] }), json, 400, "invalid_client_metadata"],
    ["/register", JSON.stringify({ redirect_uris, response_types: ["token"] }), json, 400, "invalid_client_metadata"],
    ["/revoke", "token=x", form, 400, "invalid_request"],
  ])("%s refuses %j", async (...[path, body, headers, status, error]) => {
    const response = await post(path, body, headers);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error });
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  it("lets pages use what has no cookie behind it, and nothing else", async () => {
    const options = (path: string) =>
      handler(new Request(at(path), { method: "OPTIONS", headers: { origin: "https://page.example" } }));
    for (const path of ["/token", "/register", "/revoke", "/.well-known/oauth-authorization-server"]) {
      const response = await options(path);
      expect([path, response.status, response.headers.get("access-control-allow-origin")]).toEqual([path, 204, "*"]);
    }
    const page = await get(await authorizePath(), { origin: "https://page.example" });
    expect(page.headers.get("access-control-allow-origin")).toBeNull();
    expect((await get("/token")).status).toBe(405);
    expect((await get("/consent")).status).toBe(405);
    expect((await post("/callback", "")).status).toBe(405);
  });

  it("serves its routes to the hosts that it has, and nobody else", async () => {
    const request = new Request("https://evil.example/.well-known/oauth-authorization-server");
    expect((await handler(request)).status).toBe(403);
  });

  it("shows the page that it was given, which says what it has to", async () => {
    const own = toFetchHandler(shop, {
      allowedHosts: ["shop.example"],
      auth: oauthProxy({
        provider,
        resource,
        keys: [key],
        consentPage: ({ client, redirectHost, scopes, provider, form }) =>
          JSON.stringify([client.name, redirectHost, scopes, provider.name, Object.keys(form.fields), form.action]),
      }),
    });
    const body = JSON.stringify({ redirect_uris: ["app.example:/callback"], client_name: "App" });
    const { client_id } = await (await own(new Request(at("/register"), { method: "POST", body }))).json();
    const parameters = {
      response_type: "code",
      client_id,
      redirect_uri: "app.example:/callback",
      code_challenge: challenge,
    };
    const query = new URLSearchParams({ ...parameters, code_challenge_method: "S256", scope: "any" });
    const page = await own(new Request(at(`/authorize?${query}`)));
    expect(await page.json()).toEqual(["App", "app.example:", [], "GitHub", ["request"], at("/consent")]);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  });
});

describe("when the store is away", () => {
  it("who asks is told to come back later, and the operator why", async () => {
    const inner = memoryStore();
    const fail = async (): Promise<never> => {
      throw new StoreError("unavailable", "redis://user:password@host is away");
    };
    const store = { ...inner, values: { ...inner.values, get: fail, put: fail, add: fail } };
    const { routes } = oauthProxy({ provider, resource, keys: [key], store });
    const http: HttpRequestInfo = { method: "POST", url: "/register", header: () => undefined };
    const register = routes?.["/register"] as AuthRoute;
    const answer = await register(http, JSON.stringify({ redirect_uris }));
    expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "5" } });
    expect(JSON.stringify(answer)).not.toContain("password");
    expect(answer.warning).toBe("oauthProxy: the store cannot be reached");
  });
});
