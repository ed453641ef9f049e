import { describe, expect, it, vi } from "vitest";
import {
  challenge,
  createWorld,
  metadataOf,
  refusal,
  request,
  takes,
  takesOr,
  type World,
  type WorldOptions,
} from "../../../test/support/auth-world.ts";
import { createManualClock } from "../../testing/clock.ts";
import { memoryTokens, type OAuthOptions, oauth, type TokenStore } from "./index.ts";

function signingIn(options: OAuthOptions = {}, world: World = createWorld()) {
  const { fetch, authorize, redirectUri } = world;
  return { world, auth: oauth({ fetch, authorize, redirectUri, ...options }) };
}

const inWorld = (world: WorldOptions, options: OAuthOptions = {}) => signingIn(options, createWorld(world));

const failing = (reason: string) => ({ code: "unauthorized", data: expect.objectContaining({ reason }) });

describe("signing in", () => {
  it("finds everything out, asks the user and is taken", async () => {
    const { world, auth } = signingIn();
    expect(await request(auth, world.server, takes("t1"))).toEqual({ authorization: "Bearer t1" });
    expect(world.paths()).toEqual([
      "/.well-known/oauth-protected-resource/mcp",
      "/.well-known/oauth-authorization-server",
      "/register",
      "/token",
    ]);
    const { searchParams } = world.visited[0] as URL;
    expect(Object.fromEntries(searchParams)).toEqual({
      response_type: "code",
      client_id: expect.stringMatching(/^client-/),
      redirect_uri: world.redirectUri,
      state: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: "S256",
      resource: "https://mcp.example/mcp",
    });
    expect(world.to("/token")[0]?.fields).toEqual({
      grant_type: "authorization_code",
      client_id: searchParams.get("client_id"),
      code: "c1",
      code_verifier: expect.stringMatching(/^[\w-]{43}$/),
      redirect_uri: world.redirectUri,
      resource: "https://mcp.example/mcp",
    });
    expect(world.to("/register")[0]?.fields).toMatchObject({
      application_type: "native",
      grant_types: ["authorization_code", "refresh_token"],
      redirect_uris: [world.redirectUri],
      token_endpoint_auth_method: "none",
    });
  });

  it("is done once, however many requests are refused", async () => {
    const { world, auth } = signingIn();
    await Promise.all(Array.from({ length: 20 }, () => request(auth, world.server, takes("t1"))));
    expect(world.visited).toHaveLength(1);
    expect(world.to("/token")).toHaveLength(1);
  });

  it("that fails, fails all requests that wait for it, and asks nobody twice", async () => {
    const world = createWorld();
    const authorize = vi.fn(
      async (url: URL) => `${world.redirectUri}?error=access_denied&state=${url.searchParams.get("state")}`,
    );
    const { auth } = signingIn({ authorize }, world);
    const all = await Promise.allSettled(Array.from({ length: 5 }, () => request(auth, world.server, takes("t1"))));
    expect(all.map((one) => one.status === "rejected" && one.reason)).toEqual(
      Array.from({ length: 5 }, () => expect.objectContaining(failing("denied"))),
    );
    expect(authorize).toHaveBeenCalledOnce();
    expect(world.to("/token")).toEqual([]);
  });

  it("does not happen again when the token it brought is refused", async () => {
    const { world, auth } = signingIn();
    await expect(request(auth, world.server, () => challenge('Bearer error="invalid_token"'))).rejects.toMatchObject(
      failing("invalid-token"),
    );
    expect(world.to("/token")).toHaveLength(1);
    expect(world.visited).toHaveLength(1);
  });

  it("keeps servers apart", async () => {
    const { world, auth } = signingIn();
    await request(auth, world.server, takes("t1"));
    const other = new URL("https://other.example/mcp");
    expect(await auth.headers({ method: "POST", url: other, server: other })).toEqual({});
    await expect(auth.headers({ method: "POST", url: other, server: world.server })).rejects.toMatchObject({
      code: "internal",
    });
  });

  it("sends `resource` byte for byte as the metadata has it", async () => {
    const { world, auth } = inWorld({ resource: { resource: "HTTPS://mcp.example:443/" } });
    await request(auth, world.server, takes("t1"));
    expect(world.visited[0]?.searchParams.get("resource")).toBe("HTTPS://mcp.example:443/");
    expect(world.to("/token")[0]?.fields.resource).toBe("HTTPS://mcp.example:443/");
  });

  it("is not possible where nobody can be asked", async () => {
    const { fetch, server } = createWorld();
    await expect(request(oauth({ fetch }), server, takes("t1"))).rejects.toMatchObject(failing("interaction-required"));
  });

  it("takes five minutes at most, unless told otherwise (X13)", async () => {
    const clock = createManualClock();
    const world = createWorld();
    let reached = (): void => {};
    const arrived = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const authorize = vi.fn((_url: URL, { signal }: { signal: AbortSignal }) => {
      reached();
      return new Promise<string>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    });
    const { auth } = signingIn({ authorize, clock }, world);
    const failed = expect(request(auth, world.server, takes("t1"))).rejects.toMatchObject(
      failing("interaction-timeout"),
    );
    await arrived;
    await clock.advanceAsync(299_999);
    expect(authorize.mock.calls[0]?.[1].signal.aborted).toBe(false);
    await clock.advanceAsync(1);
    await failed;
    expect(authorize.mock.calls[0]?.[1].signal.aborted).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it("can be cancelled", async () => {
    const abort = new AbortController();
    const world = createWorld();
    const authorize = () => {
      abort.abort();
      return new Promise<string>(() => {});
    };
    const { auth } = signingIn({ authorize, signal: abort.signal }, world);
    await expect(request(auth, world.server, takes("t1"))).rejects.toMatchObject({ code: "cancelled" });
  });
});

describe("what is not trusted", () => {
  it.each<[what: string, world: WorldOptions, reason: string]>([
    ["metadata about another resource", { resource: { resource: "https://evil.example/mcp" } }, "resource-mismatch"],
    ["metadata about no resource", { resource: { resource: 7 } }, "resource-mismatch"],
    ["metadata without an issuer", { resource: { authorization_servers: [] } }, "no-authorization-server"],
    ["metadata of another issuer", { metadata: { issuer: "https://as.example/" } }, "issuer-mismatch"],
    ["an issuer without S256", { metadata: { code_challenge_methods_supported: ["plain"] } }, "pkce-unsupported"],
    [
      "an issuer that does not speak of PKCE",
      { metadata: { code_challenge_methods_supported: undefined } },
      "pkce-unsupported",
    ],
    ["javascript:", { metadata: { authorization_endpoint: "javascript:alert(1)" } }, "invalid-metadata"],
    ["a file", { metadata: { authorization_endpoint: "file:///etc/passwd" } }, "invalid-metadata"],
    ["http", { metadata: { authorization_endpoint: "http://as.example/authorize" } }, "invalid-metadata"],
    ["this machine", { metadata: { authorization_endpoint: "http://127.0.0.1:8/x" } }, "invalid-metadata"],
    ["an option of a program", { metadata: { authorization_endpoint: "--help" } }, "invalid-metadata"],
    ["no token endpoint", { metadata: { token_endpoint: undefined } }, "invalid-metadata"],
    ["no way to register", { metadata: { registration_endpoint: undefined } }, "registration-unsupported"],
    ["lists that are none", { metadata: { scopes_supported: "a b" } }, "invalid-metadata"],
  ])("%s", async (_what, options, reason) => {
    const { world, auth } = inWorld(options);
    await expect(request(auth, world.server, takes("t1"))).rejects.toMatchObject(failing(reason));
    expect(world.to("/token")).toEqual([]);
    expect(world.visited).toEqual([]);
  });

  it.each([
    "http://169.254.169.254/x",
    "https://10.0.0.1/x",
    "http://localhost:9/x",
    "file:///x",
    "https://[::ffff:a00:1]/x",
  ])("metadata at %s is not fetched", async (place) => {
    const { world, auth } = signingIn();
    const refused = () => challenge(`Bearer resource_metadata="${place}"`);
    await expect(request(auth, world.server, refused)).rejects.toMatchObject({ code: "invalid-response" });
    expect(world.heard).toEqual([]);
  });

  it("an issuer on this machine, of a server that is not", async () => {
    const { world, auth } = inWorld({ resource: { authorization_servers: ["http://localhost:9"] } });
    await expect(request(auth, world.server, takes("t1"))).rejects.toMatchObject({ code: "invalid-response" });
    expect(world.paths()).toEqual(["/.well-known/oauth-protected-resource/mcp"]);
  });

  it("a token endpoint on a private network", async () => {
    const { world, auth } = inWorld({ metadata: { token_endpoint: "https://192.168.0.1/token" } });
    await expect(request(auth, world.server, takes("t1"))).rejects.toMatchObject({ code: "invalid-response" });
    expect(world.to("/token")).toEqual([]);
  });

  it("a callback from a sign-in that is over: states are used once", async () => {
    const world = createWorld();
    const callbacks: string[] = [];
    const authorize = async (url: URL) => {
      callbacks.push(await world.authorize(url));
      return callbacks[0] ?? "";
    };
    const { auth } = signingIn({ authorize }, world);
    await request(auth, world.server, takes("t1"));
    world.change({ "https://as.example/token": Response.json({ error: "invalid_grant" }, { status: 400 }) });
    await expect(request(auth, world.server, takes("t2"))).rejects.toMatchObject(failing("invalid-callback"));
    expect(callbacks).toHaveLength(2);
  });

  it("what cannot be a token", async () => {
    for (const access_token of ["a b", "", 7, "a\r\nb: c"]) {
      const { world, auth } = inWorld({ tokens: [{ access_token, token_type: "Bearer" }] });
      await expect(request(auth, world.server, takes("t1"))).rejects.toMatchObject({ code: "invalid-response" });
    }
  });

  it("what an authorization server says, where it repeats a secret", async () => {
    const { world, auth } = signingIn();
    const echo = ({ fields }: { fields: Readonly<Record<string, unknown>> }) =>
      Response.json({ error: "invalid_grant", error_description: `bad ${fields.code_verifier}` }, { status: 400 });
    world.change({ "https://as.example/token": echo as never });
    const failure = await request(auth, world.server, takes("t1")).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      message: "https://as.example refuses: invalid_grant",
      data: { error: "invalid_grant" },
    });
    expect(failure).not.toHaveProperty("cause");
  });
});

describe("where to look", () => {
  it("is what the challenge says, and nowhere else", async () => {
    const { world, auth } = inWorld({
      documents: {
        "https://mcp.example/custom.json": {
          resource: "https://mcp.example/mcp",
          authorization_servers: ["https://as.example"],
        },
      },
    });
    const judge = takesOr(challenge('Bearer resource_metadata="https://mcp.example/custom.json"'), "t1");
    await request(auth, world.server, judge);
    expect(world.paths()[0]).toBe("/custom.json");
    expect(world.to("/.well-known/oauth-protected-resource/mcp")).toEqual([]);
  });

  it("is nowhere, when the challenge names what is not there", async () => {
    const { world, auth } = signingIn();
    const judge = takesOr(challenge('Bearer resource_metadata="https://mcp.example/gone.json"'), "t1");
    await expect(request(auth, world.server, judge)).rejects.toMatchObject(failing("no-authorization-server"));
  });

  it("is the root, when there is nothing for the path", async () => {
    const { world, auth } = inWorld({
      documents: {
        "https://mcp.example/.well-known/oauth-protected-resource/mcp": undefined,
        "https://mcp.example/.well-known/oauth-protected-resource": {
          resource: "https://mcp.example",
          authorization_servers: ["https://as.example"],
        },
      },
    });
    await request(auth, world.server, takes("t1"));
    expect(world.visited[0]?.searchParams.get("resource")).toBe("https://mcp.example");
  });

  it("is the server itself, for 2025-03-26: by its metadata", async () => {
    const { world, auth } = inWorld({
      documents: {
        "https://mcp.example/.well-known/oauth-protected-resource/mcp": undefined,
        "https://mcp.example/.well-known/oauth-authorization-server": metadataOf("https://mcp.example", {
          token_endpoint: "https://mcp.example/oauth/token",
        }),
        "https://mcp.example/register": { client_id: "old" },
        "https://mcp.example/oauth/token": { access_token: "old1", token_type: "bearer" },
      },
    });
    await request(auth, world.server, takes("old1"));
    expect(world.to("/oauth/token")[0]?.fields).toMatchObject({
      client_id: "old",
      resource: "https://mcp.example/mcp",
    });
  });

  it("is the server itself, for 2025-03-26: without any", async () => {
    const { world, auth } = inWorld({
      documents: {
        "https://mcp.example/.well-known/oauth-protected-resource/mcp": undefined,
        "https://mcp.example/register": { client_id: "old" },
        "https://mcp.example/token": { access_token: "old1", token_type: "bearer" },
      },
    });
    await request(auth, world.server, takes("old1"));
    expect(world.visited[0]?.href).toMatch(/^https:\/\/mcp\.example\/authorize\?/);
  });

  it("is not the server itself, when it only fails for a moment", async () => {
    const { world, auth } = inWorld({
      documents: { "https://mcp.example/.well-known/oauth-protected-resource/mcp": new Response("", { status: 503 }) },
    });
    await expect(request(auth, world.server, takes("t1"))).rejects.toMatchObject({ code: "http-error" });
    expect(world.heard).toHaveLength(1);
  });
});

describe("the client", () => {
  it("is what it was registered as beforehand, with its secret as the issuer takes it", async () => {
    const client = { clientId: "a-b", clientSecret: "s:1 é", issuer: "https://as.example" };
    const basic = inWorld({ metadata: { token_endpoint_auth_methods_supported: undefined } }, { client });
    await request(basic.auth, basic.world.server, takes("t1"));
    expect(basic.world.to("/register")).toEqual([]);
    expect(basic.world.to("/token")[0]?.headers.authorization).toBe(`Basic ${btoa("a-b:s%3A1+%C3%A9")}`);
    const post = inWorld({ metadata: { token_endpoint_auth_methods_supported: ["client_secret_post"] } }, { client });
    await request(post.auth, post.world.server, takes("t1"));
    expect(post.world.to("/token")[0]?.fields).toMatchObject({ client_id: "a-b", client_secret: "s:1 é" });
  });

  it("is known to one issuer only: another is not shown its secret", async () => {
    const client = { clientId: "a", clientSecret: "s", issuer: "https://known.example" };
    const { world, auth } = inWorld({}, { client });
    await expect(request(auth, world.server, takes("t1"))).rejects.toMatchObject(failing("issuer-mismatch"));
    expect(world.visited).toEqual([]);
  });

  it("with a secret or a key needs an issuer: compiler and run time say so (S1)", () => {
    const key = { pem: "", algorithm: "ES256" };
    // @ts-expect-error: `issuer` is missing.
    expect(() => oauth({ client: { clientId: "a", clientSecret: "s" } })).toThrow("client.issuer of oauth is needed");
    // @ts-expect-error: `issuer` is missing.
    expect(() => oauth({ client: { clientId: "a", privateKey: key } })).toThrow("client.issuer of oauth is needed");
    expect(() => oauth({ client: { clientId: "a" } })).not.toThrow();
  });

  it("is known to the issuer that was seen first, if not said otherwise", async () => {
    const { world, auth } = inWorld({}, { client: { clientId: "a" } });
    await request(auth, world.server, takes("t1"));
    world.change({
      "https://mcp.example/.well-known/oauth-protected-resource/mcp": {
        resource: "https://mcp.example/mcp",
        authorization_servers: ["https://evil.example"],
      },
      "https://evil.example/.well-known/oauth-authorization-server": metadataOf("https://evil.example"),
    });
    await expect(request(auth, world.server, takes("t2"))).rejects.toMatchObject(failing("issuer-mismatch"));
    expect(world.heard.filter(({ url }) => url.host === "evil.example")).toEqual([]);
  });

  it("is its published description, where such are taken", async () => {
    const clientMetadataUrl = "https://app.example/client.json";
    const { world, auth } = inWorld(
      { metadata: { client_id_metadata_document_supported: true } },
      { clientMetadataUrl },
    );
    await request(auth, world.server, takes("t1"));
    expect(world.visited[0]?.searchParams.get("client_id")).toBe(clientMetadataUrl);
    expect(world.paths()).not.toContain("/register");
    const other = inWorld({}, { clientMetadataUrl });
    await request(other.auth, other.world.server, takes("t1"));
    expect(other.world.paths()).toContain("/register");
  });

  it.each([
    "http://app.example/c.json",
    "https://app.example/",
    "https://app.example",
    "x",
    "https://a:b@app.example/c",
  ])("has no description at %s", (clientMetadataUrl) => {
    expect(() => oauth({ clientMetadataUrl })).toThrow(expect.objectContaining({ code: "invalid-params" }));
  });

  it("registers as one of the web, when users come back to the web", async () => {
    const redirectUri = "https://app.example/cb";
    const { world, auth } = inWorld({}, { redirectUri });
    await request(auth, world.server, takes("t1"));
    expect(world.to("/register")[0]?.fields).toMatchObject({
      application_type: "web",
      token_endpoint_auth_method: "client_secret_basic",
    });
  });

  it("registers again when users come back to another place, or to ask for more", async () => {
    const world = createWorld();
    const { fetch, authorize } = world;
    const tokens = memoryTokens();
    const signIn = async (redirectUri: string, scope: string, token: string): Promise<void> => {
      const auth = oauth({ fetch, authorize, redirectUri, scopes: scope.split(" "), tokens: withoutTokens(tokens) });
      await request(auth, world.server, takes(token));
    };
    await signIn("http://127.0.0.1:4000/callback", "a b", "t1");
    await signIn("http://127.0.0.1:4000/callback", "a", "t2");
    expect(world.to("/register")).toHaveLength(1);
    await signIn("http://127.0.0.1:4001/callback", "a", "t3");
    await signIn("http://127.0.0.1:4001/callback", "c", "t4");
    expect(world.to("/register").map(({ fields }) => [fields.redirect_uris, fields.scope])).toEqual([
      [["http://127.0.0.1:4000/callback"], "a b"],
      [["http://127.0.0.1:4001/callback"], "a"],
      [["http://127.0.0.1:4001/callback"], "c"],
    ]);
  });

  it("registers without scopes where they are not known", async () => {
    const { world, auth } = inWorld({ resource: { scopes_supported: ["a"] } });
    const judgeScopes = ({ fields }: { fields: Readonly<Record<string, unknown>> }) =>
      fields.scope === undefined
        ? Response.json({ client_id: "plain" }, { status: 201 })
        : Response.json({ error: "invalid_client_metadata" }, { status: 400 });
    world.change({ "https://as.example/register": judgeScopes as never });
    await request(auth, world.server, takes("t1"));
    expect(world.to("/register").map(({ fields }) => fields.scope)).toEqual(["a", undefined]);
  });

  it("says why it was not registered", async () => {
    const { world, auth } = inWorld({
      documents: { "https://as.example/register": Response.json({ error: "invalid_redirect_uri" }, { status: 400 }) },
    });
    await expect(request(auth, world.server, takes("t1"))).rejects.toMatchObject({
      ...failing("registration-refused"),
      message: "https://as.example does not register the client: invalid_redirect_uri",
    });
  });

  it.each<[options: OAuthOptions]>([
    [{ authorize: async () => "" }],
    [{ authorize: async () => "", redirectUri: "http://evil.example/cb" }],
    [{ authorize: async () => "", redirectUri: "javascript:alert(1)" }],
    [{ authorize: async () => "", redirectUri: "https://app.example/cb#x" }],
    [{ authorize: async () => "", redirectUri: "nowhere" }],
  ])("is not made with %j", (options) => {
    expect(() => oauth(options)).toThrow(expect.objectContaining({ code: "invalid-params" }));
  });
});

describe("tokens", () => {
  it("are kept, and used by whoever has the same store", async () => {
    const tokens = memoryTokens();
    const first = signingIn({ tokens });
    await request(first.auth, first.world.server, takes("t1"));
    const second = signingIn({ tokens });
    expect(await request(second.auth, second.world.server, takes("t1"))).toEqual({ authorization: "Bearer t1" });
    expect(second.world.heard).toEqual([]);
  });

  it("are refreshed when the server refuses them, once for all requests", async () => {
    const { world, auth } = signingIn();
    await request(auth, world.server, takes("t1"));
    await Promise.all(Array.from({ length: 10 }, () => request(auth, world.server, takes("t2"))));
    expect(world.visited).toHaveLength(1);
    expect(
      world
        .to("/token")
        .slice(1)
        .map(({ fields }) => fields),
    ).toEqual([
      {
        grant_type: "refresh_token",
        refresh_token: "r1",
        resource: "https://mcp.example/mcp",
        client_id: expect.any(String),
      },
    ]);
  });

  it("are refreshed a minute before they expire", async () => {
    let now = 1e12;
    const { world, auth } = signingIn({ now: () => now });
    await request(auth, world.server, takes("t1"));
    now += 3_539_000;
    expect(await request(auth, world.server, takes("t1", "t2"))).toEqual({ authorization: "Bearer t1" });
    now += 1_000;
    expect(await request(auth, world.server, takes("t1", "t2"))).toEqual({ authorization: "Bearer t2" });
  });

  it("are used a while longer when nobody can be asked for others", async () => {
    let now = 1e12;
    const { world, auth } = signingIn({ now: () => now });
    await request(auth, world.server, takes("t1"));
    now += 3_590_000;
    world.change({ "https://as.example/.well-known/oauth-authorization-server": new Response("", { status: 503 }) });
    expect(await request(auth, world.server, takes("t1"))).toEqual({ authorization: "Bearer t1" });
    await expect(request(auth, world.server, takes("t2"))).rejects.toMatchObject({ code: "http-error" });
    expect(world.visited).toHaveLength(1);
  });

  it("keep the old refresh token where there is no new one", async () => {
    const { world, auth } = inWorld({
      tokens: [undefined, { access_token: "t2", token_type: "bearer" }, { access_token: "t3", token_type: "bearer" }],
    });
    for (const token of ["t1", "t2", "t3"]) await request(auth, world.server, takes(token));
    expect(world.to("/token").map(({ fields }) => fields.refresh_token)).toEqual([undefined, "r1", "r1"]);
  });

  it("are asked for anew when they cannot be refreshed, and it is told", async () => {
    const onEvent = vi.fn();
    const { world, auth } = inWorld(
      { tokens: [undefined, Response.json({ error: "invalid_grant" }, { status: 400 })] },
      { onEvent },
    );
    await request(auth, world.server, takes("t1"));
    await request(auth, world.server, takes("t3"));
    expect(world.visited).toHaveLength(2);
    expect(onEvent.mock.calls.map(([{ kind }]) => kind)).toEqual([
      "authorizing",
      "authorized",
      "refresh-refused",
      "authorizing",
      "authorized",
    ]);
    expect(JSON.stringify(onEvent.mock.calls)).not.toMatch(/t1|r1|c1/);
  });

  it("are asked for with a new registration when the client was forgotten", async () => {
    const { world, auth } = inWorld({
      tokens: [undefined, Response.json({ error: "invalid_client" }, { status: 401 })],
    });
    await request(auth, world.server, takes("t1"));
    await request(auth, world.server, takes("t3"));
    expect(world.to("/register")).toHaveLength(2);
  });

  it("stay as they are when they cannot be refreshed now", async () => {
    const { world, auth } = inWorld({ tokens: [undefined, new Response("{}", { status: 503 })] });
    await request(auth, world.server, takes("t1"));
    await expect(request(auth, world.server, takes("t2"))).rejects.toMatchObject(failing("token-refused"));
    expect(world.visited).toHaveLength(1);
    expect(await request(auth, world.server, takes("t3"))).toEqual({ authorization: "Bearer t3" });
    expect(world.visited).toHaveLength(1);
  });

  it("of one issuer are not shown to another: the client registers there", async () => {
    const { world, auth } = signingIn();
    await request(auth, world.server, takes("t1"));
    const old = world.visited[0]?.searchParams.get("client_id");
    world.change({
      "https://mcp.example/.well-known/oauth-protected-resource/mcp": {
        resource: "https://mcp.example/mcp",
        authorization_servers: ["https://new.example"],
      },
      "https://new.example/.well-known/oauth-authorization-server": metadataOf("https://new.example"),
      "https://new.example/register": { client_id: "new" },
      "https://new.example/token": { access_token: "n1", token_type: "Bearer" },
    });
    await request(auth, world.server, takes("n1"));
    const there = world.heard.filter(({ url }) => url.host === "new.example");
    expect(there.map(({ url }) => url.pathname)).toEqual([
      "/.well-known/oauth-authorization-server",
      "/register",
      "/token",
    ]);
    expect(JSON.stringify(there)).not.toContain(old);
    expect(JSON.stringify(there)).not.toContain("r1");
  });

  it("of one issuer are not shown to another, also where the client goes by the same name", async () => {
    const clientMetadataUrl = "https://app.example/client.json";
    const taken = { client_id_metadata_document_supported: true };
    const { world, auth } = inWorld({ metadata: taken }, { clientMetadataUrl });
    await request(auth, world.server, takes("t1"));
    world.change({
      "https://mcp.example/.well-known/oauth-protected-resource/mcp": {
        resource: "https://mcp.example/mcp",
        authorization_servers: ["https://new.example"],
      },
      "https://new.example/.well-known/oauth-authorization-server": metadataOf("https://new.example", taken),
      "https://new.example/token": { access_token: "n1", token_type: "Bearer" },
    });
    await request(auth, world.server, takes("n1"));
    const there = world.heard.filter(({ url }) => url.host === "new.example" && url.pathname === "/token");
    expect(there.map(({ fields }) => fields.grant_type)).toEqual(["authorization_code"]);
  });

  it("are given back, and forgotten", async () => {
    const tokens = memoryTokens();
    const { world, auth } = signingIn({ tokens });
    await request(auth, world.server, takes("t1"));
    await auth.signOut(world.server);
    expect(world.to("/revoke").map(({ fields }) => fields.token)).toEqual(["r1", "t1"]);
    expect(await auth.headers({ method: "POST", url: world.server, server: world.server })).toEqual({});
    const other = signingIn({ tokens });
    expect(await other.auth.headers({ method: "POST", url: world.server, server: world.server })).toEqual({});
  });

  it("that were refreshed but could not be saved are used, and the spent refresh token never again (B10)", async () => {
    const onEvent = vi.fn();
    const inner = memoryTokens();
    let isBroken = (_text: string): boolean => false;
    const set: TokenStore["set"] = async (name, text) => {
      if (isBroken(text)) throw new Error("no space left on device");
      await inner.set(name, text);
    };
    const tokens = { ...inner, set };
    const { world, auth } = signingIn({ tokens, onEvent });
    await request(auth, world.server, takes("t1"));
    isBroken = (text) => text.includes("t2");
    expect(await request(auth, world.server, takes("t2"))).toEqual({ authorization: "Bearer t2" });
    expect(onEvent.mock.calls.at(-1)?.[0]).toMatchObject({ kind: "save-failed" });
    // Another process finds only what is spent: it signs in rather than sending that.
    const other = signingIn({ tokens }, world);
    expect(await request(other.auth, world.server, takes("t3"))).toEqual({ authorization: "Bearer t3" });
    expect(world.visited).toHaveLength(2);
    const sent = world.to("/token").map(({ fields }) => fields.refresh_token);
    expect(sent).toEqual([undefined, "r1", undefined]);
  });

  it("that could not be saved are refreshed with their own refresh token (B10)", async () => {
    const inner = memoryTokens();
    let isFull = false;
    const set: TokenStore["set"] = async (name, text) => {
      if (isFull && text.includes("t2")) throw new Error("no space left on device");
      await inner.set(name, text);
    };
    const { world, auth } = signingIn({ tokens: { ...inner, set } });
    await request(auth, world.server, takes("t1"));
    isFull = true;
    await request(auth, world.server, takes("t2"));
    isFull = false;
    await request(auth, world.server, takes("t3"));
    expect(world.to("/token").map(({ fields }) => fields.refresh_token)).toEqual([undefined, "r1", "r2"]);
    expect(world.visited).toHaveLength(1);
  });

  it("are not refreshed when it cannot be noted that the refresh token is spent (B10)", async () => {
    const inner = memoryTokens();
    let isFull = false;
    const set: TokenStore["set"] = async (name, text) => {
      if (isFull) throw new Error("no space left on device");
      await inner.set(name, text);
    };
    const { world, auth } = signingIn({ tokens: { ...inner, set } });
    await request(auth, world.server, takes("t1"));
    isFull = true;
    await expect(request(auth, world.server, takes("t2"))).rejects.toThrow("no space left");
    expect(world.to("/token")).toHaveLength(1);
    isFull = false;
    expect(await request(auth, world.server, takes("t2"))).toEqual({ authorization: "Bearer t2" });
    expect(world.to("/token").map(({ fields }) => fields.refresh_token)).toEqual([undefined, "r1"]);
  });

  it("that were taken for an answer nobody can use are not sent again (B10)", async () => {
    const { world, auth } = inWorld({ tokens: [undefined, { nothing: "of use" }] });
    await request(auth, world.server, takes("t1"));
    await expect(request(auth, world.server, takes("t2"))).rejects.toMatchObject({ code: "invalid-response" });
    await request(auth, world.server, takes("t3"));
    expect(world.to("/token").map(({ fields }) => fields.refresh_token)).toEqual([undefined, "r1", undefined]);
  });

  it("that were kept in a way nobody can read are asked for anew", async () => {
    const { world, auth } = signingIn({ tokens: { ...memoryTokens(), get: async () => "{]" } });
    expect(await request(auth, world.server, takes("t1"))).toEqual({ authorization: "Bearer t1" });
  });
});

describe("scopes", () => {
  const wants = (scope: string, status = 403) =>
    challenge(`Bearer error="insufficient_scope", scope="${scope}"`, status);

  it("grow: what was asked for before is asked for again", async () => {
    const { world, auth } = signingIn();
    await request(auth, world.server, takesOr(challenge('Bearer scope="a"'), "t1"));
    await request(auth, world.server, takesOr(wants("b"), "t2"));
    expect(world.visited.map(({ searchParams }) => searchParams.get("scope"))).toEqual(["a", "a b"]);
  });

  it("are not forgotten when somebody has to sign in again", async () => {
    const refused = Response.json({ error: "invalid_grant" }, { status: 400 });
    const { world, auth } = inWorld({ tokens: [undefined, undefined, refused] });
    await request(auth, world.server, takesOr(challenge('Bearer scope="a"'), "t1"));
    await request(auth, world.server, takesOr(wants("b"), "t2"));
    await request(auth, world.server, takesOr(challenge('Bearer scope="a"'), "t4"));
    expect(world.visited.map(({ searchParams }) => searchParams.get("scope"))).toEqual(["a", "a b", "a b"]);
  });

  it("are asked for once, and then never again", async () => {
    const { world, auth } = signingIn();
    const always = (headers: Readonly<Record<string, string>>) =>
      headers.authorization === undefined ? challenge("Bearer") : wants("b");
    await expect(request(auth, world.server, always)).rejects.toMatchObject({
      code: "forbidden",
      data: { scopes: ["b"] },
    });
    await expect(request(auth, world.server, always)).rejects.toMatchObject({ code: "forbidden" });
    expect(world.visited).toHaveLength(2);
  });

  it("do not grow for ever: three authorizations for one request", async () => {
    const { world, auth } = signingIn();
    const greedy = (headers: Readonly<Record<string, string>>, attempt: number) =>
      headers.authorization === undefined ? challenge("Bearer") : wants(`s${attempt}`);
    await expect(request(auth, world.server, greedy)).rejects.toMatchObject({ code: "forbidden" });
    expect(world.visited).toHaveLength(3);
  });

  it("are asked for once by requests that want the same at the same time", async () => {
    const { world, auth } = signingIn();
    await request(auth, world.server, takes("t1"));
    await Promise.all(Array.from({ length: 5 }, () => request(auth, world.server, takesOr(wants("b"), "t2"))));
    expect(world.visited).toHaveLength(2);
  });

  it("are not what a server means that says nothing of them", async () => {
    const { world, auth } = signingIn();
    await request(auth, world.server, takes("t1"));
    await expect(request(auth, world.server, () => refusal(403))).rejects.toThrow("refused with 403");
    expect(world.visited).toHaveLength(1);
  });

  it("include offline access only where it is listed", async () => {
    for (const [listed, expected] of [
      [["a", "offline_access"], "a offline_access"],
      [["a"], "a"],
    ] as const) {
      const { world, auth } = inWorld({
        metadata: { scopes_supported: listed },
        resource: { scopes_supported: ["a", "offline_access"] },
      });
      await request(auth, world.server, takes("t1"));
      expect(world.visited[0]?.searchParams.get("scope")).toBe(expected);
    }
  });
});

/** Keeps registrations, and nothing else. */
function withoutTokens(tokens: TokenStore): TokenStore {
  return { ...tokens, set: async (name, text) => (text.includes("redirectUri") ? tokens.set(name, text) : undefined) };
}
